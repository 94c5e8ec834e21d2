// sweep_*: `dfsim sweep` of zoo models on ten machines at four batches, inside one process, with
// the trained cost models: planning, imports, costs and simulations of all points, without the
// table. The argument is the number of models; points_per_s is the rate.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/io/data_dir.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_parts.h"

namespace dfsim {
namespace {

// The first models of the zoo by name, those of single networks alone.
std::vector<std::string> zoo_files(size_t count) {
  std::vector<std::string> files;
  const auto anchor = find_data_file("graphs/zoo/resnet50.onnx");
  if (anchor.ok()) {
    const auto folder = std::filesystem::path(*anchor).parent_path();
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx") {
        files.push_back(entry.path().string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  files.resize(std::min(files.size(), count));
  return files;
}

void sweep_zoo(benchmark::State& state) {
  SweepOptions options;
  options.axes.models = zoo_files(static_cast<size_t>(state.range(0)));
  options.axes.hardware = {"a100", "h100-sxm",  "h200",      "t4",         "l4",
                           "a40",  "v100-pcie", "p100-pcie", "epyc-milan", "epyc-genoa"};
  options.axes.batches = {"1:64:x4"};
  size_t points = 0;
  for (auto _ : state) {
    const auto result = sweep(options);
    if (!result.ok()) {
      state.SkipWithError(result.status().message().c_str());
      return;
    }
    points += result->rows.size() - result->failed();
    benchmark::DoNotOptimize(result->rows.front());
  }
  state.counters["points_per_s"] =
      benchmark::Counter(static_cast<double>(points), benchmark::Counter::kIsRate);
}

BENCHMARK(sweep_zoo)->Arg(5)->Arg(20)->Unit(benchmark::kMillisecond)->UseRealTime();

// Which points a process of a cluster has: 100,000 points in 1,000 parts.
void sweep_parts(benchmark::State& state) {
  std::vector<SweepPoint> points(100'000);
  for (size_t p = 0; p < points.size(); ++p) {
    points[p].model = "model" + std::to_string(p % 20);
    points[p].batch = static_cast<int64_t>(p % 64 + 1);
  }
  const SweepPlan plan({}, false, points);
  for (auto _ : state) {
    benchmark::DoNotOptimize(SweepParts(plan, 1000).points(500));
  }
}

BENCHMARK(sweep_parts)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsim
