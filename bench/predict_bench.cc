// predict_*: what happens inside `dfsim predict`: import, cost and simulation of a zoo model on an
// A100, from the file's name to the result, without the process's start and without printing.
#include <benchmark/benchmark.h>

#include <string>

#include "base/io/data_dir.h"
#include "graphs/onnx/importer.h"
#include "graphs/ops/totals.h"
#include "graphs/passes/cleanup/prune.h"
#include "hardware/platform_loader.h"
#include "opmodel/sol.h"
#include "opmodel/workload.h"
#include "sim/simulator.h"

namespace dfsim {
namespace {

// The makespan, or what went wrong.
StatusOr<TimeNs> predict(const std::string& path, const Platform& platform) {
  DFSIM_ASSIGN_OR_RETURN(const ImportedModel model, import_onnx(path, {}));
  DFSIM_ASSIGN_OR_RETURN(const GraphTotals totals, graph_totals(model.graph));
  DFSIM_ASSIGN_OR_RETURN(const PruneResult pruned, prune(model.graph));
  DFSIM_ASSIGN_OR_RETURN(const Workload workload, make_workload(pruned.graph));
  DFSIM_ASSIGN_OR_RETURN(const CostTable costs,
                         make_cost_table(workload.rows, platform, *make_sol_model()));
  const Schedule schedule =
      single_device_schedule(workload.graph, platform.devices.size(), DeviceId(size_t{0}));
  DFSIM_ASSIGN_OR_RETURN(const SimResult result,
                         simulate({workload.graph, costs, platform}, schedule));
  return result.makespan_ns;
}

void predict_zoo(benchmark::State& state, const std::string& model) {
  const auto path = find_data_file("graphs/zoo/" + model + ".onnx");
  const auto platform = load_platform("a100");
  if (!path.ok() || !platform.ok()) {
    state.SkipWithError("the zoo or the hardware file was not found");
    return;
  }
  for (auto _ : state) {
    const auto makespan = predict(*path, *platform);
    if (!makespan.ok()) {
      state.SkipWithError(makespan.status().message().c_str());
      return;
    }
    benchmark::DoNotOptimize(*makespan);
  }
}

BENCHMARK_CAPTURE(predict_zoo, resnet50, "resnet50")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_zoo, swin_t, "swin_t")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_zoo, gpt2_large, "gpt2_large")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsim
