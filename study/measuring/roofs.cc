// Threads start together at a spinning barrier, run a kernel for a millisecond or two, and note
// begin and end; the run's time is from the first begin to the last end. Short runs and the best of
// them: a run that another program interrupts is slower and does not count.
#include "study/measuring/roofs.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "datasets/profiles/statistics.h"
#include "study/measuring/roof_kernels.h"

namespace dfsim::inline study {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRunSeconds = 1.5e-3;
constexpr size_t kLeastRuns = 5;
constexpr size_t kRounds = 4;                     // of arithmetic and of the memory
constexpr Bytes kLeastMemory = Bytes{128} << 20;  // of a stream through the memory
constexpr size_t kAlign = 64;

struct CacheOfCore {
  std::string name;
  Bytes bytes = 0;
  int sharing = 1;  // cores
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "0-3,8" names five.
int count_of_list(const std::string& list) {
  int count = 0;
  size_t at = 0;
  while (at < list.size()) {
    char* end = nullptr;
    const int64_t low = std::strtoll(list.c_str() + at, &end, 10);
    const int64_t high = *end == '-' ? std::strtoll(end + 1, &end, 10) : low;
    count += static_cast<int>(high - low + 1);
    at = static_cast<size_t>(end - list.c_str()) + 1;
  }
  return std::max(count, 1);
}

// The caches of data of the first core, nearest first.
std::vector<CacheOfCore> caches_of_core() {
  std::map<std::string, CacheOfCore> found;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = first_line(folder + "level");
    const std::string size = first_line(folder + "size");
    if (level.empty() || size.empty() || first_line(folder + "type") == "Instruction") {
      continue;
    }
    char* unit = nullptr;
    const auto number = static_cast<Bytes>(std::strtoll(size.c_str(), &unit, 10));
    const Bytes scale = *unit == 'M' ? Bytes{1} << 20 : *unit == 'K' ? Bytes{1} << 10 : Bytes{1};
    const std::string name = "L" + level;
    found[name] = {name, number * scale, count_of_list(first_line(folder + "shared_cpu_list"))};
  }
  std::vector<CacheOfCore> caches;
  for (auto& [name, cache] : found) {
    caches.push_back(cache);
  }
  return caches;
}

std::vector<int> cores_of_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) {
        cores.push_back(core);
      }
    }
  }
  return cores;
}

// Waits for all threads without sleeping, so that they start within a microsecond.
class SpinBarrier {
 public:
  explicit SpinBarrier(int count) : count_(count) {}
  void wait() {
    const int round = round_.load();
    if (waiting_.fetch_add(1) + 1 == count_) {
      waiting_ = 0;
      round_ = round + 1;
      return;
    }
    for (int spins = 0; round_.load() == round; ++spins) {
      if (spins % 4096 == 4095) {
        std::this_thread::yield();  // another program may have the core of a thread we wait for
      }
    }
  }

 private:
  int count_;
  std::atomic<int> waiting_ = 0;
  std::atomic<int> round_ = 0;
};

using Work = std::function<void(int64_t passes)>;  // of one thread

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Passes that one thread does in about kRunSeconds.
int64_t passes_per_run(const Work& work) {
  for (int64_t passes = 1;; passes *= 2) {
    const auto begin = Clock::now();
    work(passes);
    if (seconds_between(begin, Clock::now()) > kRunSeconds / 2) {
      return passes;
    }
  }
}

struct PassSeconds {
  double best = 0;
  double typical = 0;  // median
};

PassSeconds summary_of(std::vector<double>* runs, int64_t passes) {
  const auto count = static_cast<double>(passes);
  return {*std::min_element(runs->begin(), runs->end()) / count, median(*runs) / count};
}

// Seconds of a pass on `threads` cores at once. `make_work` runs on the thread that works, so
// that its memory is near that core.
PassSeconds pass_seconds(const RoofOptions& options, const std::function<Work()>& make_work) {
  const std::vector<int> cores = cores_of_process();
  const auto count = static_cast<size_t>(options.threads);
  std::vector<Clock::time_point> begins(count);
  std::vector<Clock::time_point> ends(count);
  SpinBarrier barrier(options.threads);
  std::atomic<int64_t> passes = 0;
  std::atomic<bool> go_on = true;
  std::vector<double> all;
  const auto run = [&](size_t index) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cores[index], &own);
    ::pthread_setaffinity_np(::pthread_self(), sizeof own, &own);  // as well as is allowed
    const Work work = make_work();
    if (index == 0) {
      passes = passes_per_run(work);
    }
    const auto first = Clock::now();
    for (size_t runs = 0; go_on; ++runs) {
      barrier.wait();
      begins[index] = Clock::now();
      work(passes);
      ends[index] = Clock::now();
      barrier.wait();
      if (index == 0) {
        all.push_back(seconds_between(*std::min_element(begins.begin(), begins.end()),
                                      *std::max_element(ends.begin(), ends.end())));
        go_on = runs < kLeastRuns || seconds_between(first, Clock::now()) < options.seconds;
      }
      barrier.wait();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) {
    threads.emplace_back(run, i);
  }
  std::thread(run, 0).join();  // not on the caller's thread, whose affinity stays
  for (std::thread& thread : threads) {
    thread.join();
  }
  return summary_of(&all, passes);
}

struct FreeAligned {
  void operator()(float* data) const { std::free(data); }  // NOLINT: of aligned_alloc
};

// Three vectors of one thread, each a little after a page's begin of its own: else the three would
// compete for the same lines of the first cache.
struct Vectors {
  std::unique_ptr<float, FreeAligned> memory;
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
};

Vectors make_vectors(size_t n) {
  constexpr size_t kShift = kStreamStep;
  const size_t all = 3 * n + 3 * kShift;
  Vectors vectors;
  vectors.memory.reset(static_cast<float*>(std::aligned_alloc(kAlign, all * sizeof(float))));
  if (vectors.memory != nullptr) {
    std::fill_n(vectors.memory.get(), all, 0.5F);
    vectors.a = vectors.memory.get();
    vectors.b = vectors.a + n + kShift;
    vectors.c = vectors.b + n + kShift;
  }
  return vectors;
}

struct StreamRate {
  double best = 0;  // bytes/s; 0 = no memory for the vectors
  double typical = 0;
};

// Measures a stream, each thread on its own vectors of `bytes` together.
StreamRate stream_rate(const RoofOptions& options, const StreamKernel& kernel, Bytes bytes) {
  const size_t n =
      std::max(kStreamStep, static_cast<size_t>(bytes) / 12 / kStreamStep * kStreamStep);
  std::atomic<bool> failed = false;
  const auto make_work = [&]() -> Work {
    auto vectors = std::make_shared<Vectors>(make_vectors(n));
    failed = failed || vectors->a == nullptr;
    return [vectors, &kernel, n](int64_t passes) {
      if (vectors->a != nullptr) {
        kernel.run(vectors->a, vectors->b, vectors->c, n, passes);
      }
    };
  };
  const PassSeconds seconds = pass_seconds(options, make_work);
  const double bytes_of_pass = options.threads * kernel.bytes_per_element * static_cast<double>(n);
  return failed ? StreamRate{}
                : StreamRate{bytes_of_pass / seconds.best, bytes_of_pass / seconds.typical};
}

Status check_options(const RoofOptions& options) {
  if (compute_kernels().empty()) {
    return failed(
        "roofs: no kernels for this processor and build; expected x86-64 with AVX2 or 64-bit Arm, "
        "and a program compiled with optimisation (the preset release)");
  }
  const auto cores = static_cast<int>(cores_of_process().size());
  if (options.threads > cores) {
    return invalid_input(
        fmt::format("--threads: found {}, expected at most the {} cores that "
                    "this process may use",
                    options.threads, cores));
  }
  return ok_status();
}

// Rates of one kernel, from all rounds.
struct KernelRates {
  double best = 0;
  std::vector<double> typical;  // of each round

  void add(double round_best, double round_typical) {
    best = std::max(best, round_best);
    typical.push_back(round_typical);
  }
};

// A neighbour comes and goes within seconds, so typical rates are those of several rounds.
// `without_kernel` gets the dtypes of matrix units.
StatusOr<std::vector<MeasuredPeak>> best_of_dtypes(const RoofOptions& options,
                                                   const Progress& progress,
                                                   const std::vector<ComputeKernel>& kernels,
                                                   std::vector<DType>* without_kernel) {
  std::vector<KernelRates> rates(kernels.size());
  for (size_t i = 0; i < kRounds * kernels.size(); ++i) {
    const ComputeKernel& kernel = kernels[i % kernels.size()];
    DFSIM_RETURN_IF_ERROR(
        progress.stage(fmt::format("measuring {} of {} on {} threads", kernel.name,
                                   dtype_name(kernel.dtype), options.threads)));
    if (has_unmeasured_matrix_unit(kernel.dtype)) {
      if (std::find(without_kernel->begin(), without_kernel->end(), kernel.dtype) ==
          without_kernel->end()) {
        without_kernel->push_back(kernel.dtype);
      }
      continue;
    }
    const PassSeconds seconds = pass_seconds(options, [&kernel]() -> Work { return kernel.run; });
    const double ops_of_pass = options.threads * kernel.ops_per_pass;
    rates[i % kernels.size()].add(ops_of_pass / seconds.best, ops_of_pass / seconds.typical);
  }
  std::map<DType, MeasuredPeak> best;
  for (size_t i = 0; i < kernels.size(); ++i) {
    MeasuredPeak& peak = best[kernels[i].dtype];
    if (rates[i].best > peak.flops_per_s) {
      peak = {kernels[i].dtype, rates[i].best, median(rates[i].typical), kernels[i].name};
    }
  }
  std::vector<MeasuredPeak> peaks;
  for (const auto& [dtype, peak] : best) {
    if (peak.flops_per_s > 0) {
      peaks.push_back(peak);
    }
  }
  return peaks;
}

StatusOr<MeasuredBandwidth> best_stream(const RoofOptions& options, const Progress& progress,
                                        const std::string& level, Bytes each, size_t rounds) {
  const std::vector<StreamKernel> kernels = stream_kernels();
  std::vector<KernelRates> rates(kernels.size());
  for (size_t i = 0; i < rounds * kernels.size(); ++i) {
    const StreamKernel& kernel = kernels[i % kernels.size()];
    DFSIM_RETURN_IF_ERROR(progress.stage(
        fmt::format("measuring {} in {} on {} threads", kernel.name, level, options.threads)));
    const StreamRate rate = stream_rate(options, kernel, each);
    rates[i % kernels.size()].add(rate.best, rate.typical);
  }
  MeasuredBandwidth best;
  best.level = level;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (rates[i].best > best.bytes_per_s) {
      best.bytes_per_s = rates[i].best;
      best.typical_bytes_per_s = median(rates[i].typical);
      best.kernel = kernels[i].name;
    }
  }
  return best.bytes_per_s > 0
             ? StatusOr<MeasuredBandwidth>(best)
             : failed(fmt::format("roofs: no memory for vectors of {} bytes on {} threads; free "
                                  "some or lower --threads",
                                  each, options.threads));
}

}  // namespace

StatusOr<HostRoofs> measure_roofs(const RoofOptions& options, const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(check_options(options));
  HostRoofs roofs;
  roofs.threads = options.threads;
  DFSIM_ASSIGN_OR_RETURN(
      roofs.peaks, best_of_dtypes(options, progress, compute_kernels(), &roofs.without_kernel));
  DFSIM_ASSIGN_OR_RETURN(
      const std::vector<MeasuredPeak> products,
      best_of_dtypes(options, progress, product_kernels(), &roofs.without_kernel));
  if (!products.empty()) {
    roofs.product = products.front();
  }
  Bytes last = 0;
  for (const CacheOfCore& cache : caches_of_core()) {
    const int together = std::min(options.threads, cache.sharing);
    DFSIM_ASSIGN_OR_RETURN(MeasuredBandwidth level,
                           best_stream(options, progress, cache.name,
                                       cache.bytes / 2 / static_cast<Bytes>(together), 1));
    level.bytes =
        cache.bytes * static_cast<Bytes>((options.threads + cache.sharing - 1) / cache.sharing);
    last = level.bytes;
    roofs.bandwidths.push_back(std::move(level));
  }
  DFSIM_ASSIGN_OR_RETURN(
      MeasuredBandwidth memory,
      best_stream(options, progress, "memory",
                  std::max(4 * last, kLeastMemory) / static_cast<Bytes>(options.threads), kRounds));
  roofs.bandwidths.push_back(std::move(memory));
  return roofs;
}

std::string roofs_json(const std::vector<HostRoofs>& roofs) {
  using Json = nlohmann::ordered_json;
  Json threads = Json::object();
  for (const HostRoofs& one : roofs) {
    const auto peak_json = [](const MeasuredPeak& peak) {
      return Json{{"dtype", dtype_name(peak.dtype)},
                  {"flops_per_s", peak.flops_per_s},
                  {"typical_flops_per_s", peak.typical_flops_per_s},
                  {"kernel", peak.kernel}};
    };
    Json peaks = Json::array();
    for (const MeasuredPeak& peak : one.peaks) {
      peaks.push_back(peak_json(peak));
    }
    Json bandwidths = Json::array();
    for (const MeasuredBandwidth& level : one.bandwidths) {
      bandwidths.push_back({{"level", level.level},
                            {"bytes_per_s", level.bytes_per_s},
                            {"typical_bytes_per_s", level.typical_bytes_per_s},
                            {"bytes", level.bytes},
                            {"kernel", level.kernel}});
    }
    Json without = Json::array();
    for (const DType dtype : one.without_kernel) {
      without.push_back(dtype_name(dtype));
    }
    threads[std::to_string(one.threads)] = {
        {"peaks", std::move(peaks)},
        {"product", one.product.flops_per_s > 0 ? peak_json(one.product) : Json(nullptr)},
        {"bandwidths", std::move(bandwidths)},
        {"matrix_units_not_measured", std::move(without)}};
  }
  return Json{{"schema", "dfsim.roofs/1"}, {"threads", std::move(threads)}}.dump(2) + "\n";
}

}  // namespace dfsim::inline study
