// Fits a serial share and a fork cost to networks that were measured on one and on several
// threads, as a straight line through pairs, and applies them under the bandwidth of the whole
// machine. The error left in each pair, fitted without it, becomes the interval.
#include "study/roofline/scaling/thread_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

#include "base/io/data_dir.h"
#include "base/text.h"
#include "hardware/platform_loader.h"

namespace dfsim::inline study {
namespace {

// "AMD EPYC Milan, 2 threads" -> 2; 0 when the name does not say.
int64_t threads_in_name(const std::string& device) {
  const size_t comma = device.rfind(", ");
  if (comma == std::string::npos || device.find(" thread", comma) == std::string::npos) {
    return 0;
  }
  return std::strtoll(device.c_str() + comma + 2, nullptr, 10);
}

double middle(std::vector<double> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

// A network on one and on `threads` threads, brought to the line y = serial + fork x:
// (T(t) / T(1) - 1 / t) / (1 - 1 / t) = serial + fork log2(t) operators / T(1) / (1 - 1 / t).
struct ScalingPair {
  double x = 0;
  double y = 0;
  double ratio = 0;  // T(t) / T(1)
  double part = 0;   // 1 / t
};

struct ScalingLine {
  double serial = 0;
  double fork_s = 0;
};

// `without` is the place of a pair to leave out.
ScalingLine line_through(const std::vector<ScalingPair>& pairs, size_t without) {
  std::vector<double> slopes;
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (i != without && k != without && std::abs(pairs[i].x - pairs[k].x) > 1e-9) {
        slopes.push_back((pairs[i].y - pairs[k].y) / (pairs[i].x - pairs[k].x));
      }
    }
  }
  ScalingLine line;
  line.fork_s = slopes.empty() ? 0 : std::max(middle(std::move(slopes)), 0.0);
  std::vector<double> serials;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i != without) {
      serials.push_back(pairs[i].y - line.fork_s * pairs[i].x);
    }
  }
  line.serial = std::clamp(middle(std::move(serials)), 0.0, 1.0);
  return line;
}

std::vector<ScalingPair> scaling_pairs(const std::vector<NetworkRun>& runs) {
  using Key = std::tuple<std::string, int64_t, std::vector<std::string>, DType>;
  std::map<Key, const NetworkRun*> alone;
  const auto key_of = [](const NetworkRun& run) {
    return Key(run.network, run.batch, run.dims, run.dtype);
  };
  for (const NetworkRun& run : runs) {
    if (threads_in_name(run.device) == 1) {
      alone[key_of(run)] = &run;
    }
  }
  std::vector<ScalingPair> pairs;
  for (const NetworkRun& run : runs) {
    const int64_t threads = threads_in_name(run.device);
    const auto one = alone.find(key_of(run));
    if (threads < 2 || one == alone.end() || run.ops < 0) {
      continue;
    }
    const double one_s = static_cast<double>(one->second->time_ns) / kNsPerSecond;
    const double part = 1 / static_cast<double>(threads);
    ScalingPair pair;
    pair.part = part;
    pair.ratio = static_cast<double>(run.time_ns) / kNsPerSecond / one_s;
    pair.y = (pair.ratio - part) / (1 - part);
    pair.x =
        std::log2(static_cast<double>(threads)) * static_cast<double>(run.ops) / one_s / (1 - part);
    pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace

StatusOr<ThreadScaling> fit_thread_scaling(const std::vector<NetworkRun>& runs) {
  const std::vector<ScalingPair> pairs = scaling_pairs(runs);
  if (pairs.size() < kLeastPairs) {
    return invalid_input(
        fmt::format("found {} networks measured on one and on more threads, expected at least {}",
                    pairs.size(), kLeastPairs));
  }
  const ScalingLine line = line_through(pairs, pairs.size());
  std::vector<double> errors;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const ScalingLine others = line_through(pairs, i);
    const double y = others.serial + others.fork_s * pairs[i].x;
    const double ratio = pairs[i].part + (1 - pairs[i].part) * y;
    errors.push_back(std::abs(ratio / pairs[i].ratio - 1));
  }
  ThreadScaling scaling;
  scaling.serial = line.serial;
  scaling.fork_s = line.fork_s;
  scaling.pairs = pairs.size();
  scaling.median_error = middle(std::move(errors));
  return scaling;
}

StatusOr<ThreadScaling> scaling_for(const DeviceSpec& device) {
  if (device.cost_model.empty()) {
    return not_found(
        fmt::format("{}: names no cost model, whose measured networks say how threads "
                    "scale",
                    printable(device.model)));
  }
  std::vector<NetworkRun> runs;
  for (const char* name : {"known_runs.csv", "unseen_runs.csv"}) {
    DFSIM_ASSIGN_OR_RETURN(
        const std::string path,
        find_data_file(fmt::format("datasets/measured/{}/{}", device.cost_model, name)));
    DFSIM_ASSIGN_OR_RETURN(const std::vector<NetworkRun> some, read_runs(path));
    runs.insert(runs.end(), some.begin(), some.end());
  }
  DFSIM_ASSIGN_OR_RETURN(const Platform core, load_platform(device.cost_model + "-1t"));
  auto scaling = fit_thread_scaling(runs);
  if (!scaling.ok()) {
    return scaling.status().with_place(device.cost_model);
  }
  scaling->core_bytes_per_s = core.devices.front().memory_bytes_per_s;
  scaling->measured = device.cost_model;
  return scaling;
}

DeviceSpec shared_device(const DeviceSpec& device, const CoreShare& share,
                         const ThreadScaling& scaling) {
  DeviceSpec part = device;
  const auto threads = static_cast<double>(share.threads);
  const double cores = threads / std::max(device.compute_units, 1);
  for (std::vector<PeakRate>* peaks : {&part.peaks, &part.sustained}) {
    for (PeakRate& peak : *peaks) {
      peak.flops_per_s *= cores;
      peak.matrix_flops_per_s *= cores;
    }
  }
  part.memory_bytes_per_s =
      std::min(threads * scaling.core_bytes_per_s,
               copy_bytes_per_s(device, share, scaling.core_bytes_per_s) / share.at_once);
  part.sustained_memory_bytes_per_s =
      std::min(part.memory_bytes_per_s, device.sustained_memory_bytes_per_s);
  part.compute_units = static_cast<int>(share.threads);
  return part;
}

DeviceRoofs core_roofs(const DeviceRoofs& whole, const ThreadScaling& scaling) {
  DeviceRoofs core = whole;
  core.device = shared_device(whole.device, {}, scaling);
  for (MemoryLevel& level : core.caches) {
    level.bytes_per_s /= std::max(whole.device.compute_units, 1);
  }
  return core;
}

void scale_point(const DeviceRoofs& whole, const CoreShare& share, const ThreadScaling& scaling,
                 RoofPoint* point) {
  const auto threads = static_cast<double>(share.threads);
  const double core = shared_device(whole.device, {}, scaling).memory_bytes_per_s;
  const double drawn = shared_device(whole.device, share, scaling).memory_bytes_per_s;
  RoofPoint& op = *point;
  const double least_one = std::max(op.compute_s, op.memory_s);
  op.compute_s /= threads;
  op.memory_s *= core / drawn;
  op.bound_s = std::max(op.compute_s, op.memory_s);
  const double ideal = least_one > 0 ? op.bound_s / least_one : 1;
  const double before = op.time_s;
  op.time_s = before * (scaling.serial + (1 - scaling.serial) * ideal) +
              scaling.fork_s * std::log2(threads) * static_cast<double>(op.ops);
  if (op.bound != Bound::kLaunch && op.bound != Bound::kNone) {
    op.bound = op.compute_s > op.memory_s ? Bound::kCompute : Bound::kMemory;
  }
  if (before > 0) {
    op.low_s *= op.time_s / before;
    op.high_s *= op.time_s / before;
  }
  op.roof_flops_per_s = op.bound_s > 0 ? op.flops / op.bound_s : 0;
  if (op.source == CostSource::kPredicted || op.source == CostSource::kMeasured) {
    op.source = CostSource::kExtrapolated;
  }
}

namespace {

// The roofs of all cores that the copies use.
DeviceRoofs used_roofs(const DeviceRoofs& whole, const CoreShare& share,
                       const ThreadScaling& scaling) {
  DeviceRoofs roofs = whole;
  roofs.device = shared_device(whole.device, {.threads = share.cores()}, scaling);
  roofs.device.memory_bytes_per_s = static_cast<double>(share.processes) *
                                    copy_bytes_per_s(whole.device, share, scaling.core_bytes_per_s);
  roofs.device.sustained_memory_bytes_per_s =
      std::min(roofs.device.memory_bytes_per_s, whole.device.sustained_memory_bytes_per_s);
  const double cores = static_cast<double>(share.cores()) / std::max(whole.device.compute_units, 1);
  for (MemoryLevel& level : roofs.caches) {
    level.bytes_per_s *= cores;
  }
  return roofs;
}

std::string scaling_text(const ThreadScaling& scaling) {
  return fmt::format(
      "extrapolated from one core: {:.1f} % serial, {:.2g} us per operator and doubling of the "
      "threads, {:.3g} GB/s per core; fitted to {} networks on {}, {:.1f} % off in the median",
      100 * scaling.serial, scaling.fork_s * 1e6, scaling.core_bytes_per_s / 1e9, scaling.pairs,
      scaling.measured, 100 * scaling.median_error);
}

}  // namespace

RooflineReport scaled_roofline(const RooflineReport& one, const DeviceRoofs& whole,
                               const CoreShare& share, const ThreadScaling& scaling) {
  const auto copies = static_cast<double>(share.processes);
  RooflineReport report;
  report.unknown = one.unknown;
  report.model = one.model;
  report.hardware = one.hardware;
  report.cost_model = one.cost_model;
  report.batch = one.batch;
  report.ops = one.ops;
  for (RoofPoint& op : report.ops) {
    scale_point(whole, share, scaling, &op);
    op.roof_flops_per_s *= copies;
    op.flops *= copies;
    op.bytes *= copies;
  }
  finish_roofline(used_roofs(whole, share, scaling), &report);
  report.scaling = scaling_text(scaling);
  return report;
}

}  // namespace dfsim::inline study
