// predict_*: what happens inside `dfsim predict` for a zoo model on an A100, from the file's name
// to the result, without the process's start and without printing: the chain of
// study/chain/model_run.h, with the speed-of-light bound for operator times.
#include <benchmark/benchmark.h>

#include <string>

#include "base/io/data_dir.h"
#include "opmodel/sol.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"

namespace dfsim {
namespace {

// The latency, or what went wrong.
StatusOr<TimeNs> chain_latency(const std::string& path, const Platform& platform) {
  ModelOptions options;
  options.path = path;
  DFSIM_ASSIGN_OR_RETURN(const LoadedModel model, load_model(options, {}, platform));
  DFSIM_ASSIGN_OR_RETURN(const ModelRun run, ModelRun::prepare(model, platform, *make_sol_model()));
  DFSIM_ASSIGN_OR_RETURN(const SimulatedModel simulated, run.simulate());
  return simulated.result.makespan_ns;
}

void predict_zoo(benchmark::State& state, const std::string& model) {
  const auto path = find_data_file("graphs/zoo/" + model + ".onnx");
  const auto platform = load_machine("a100", "");
  if (!path.ok() || !platform.ok()) {
    state.SkipWithError("the zoo or the hardware file was not found");
    return;
  }
  for (auto _ : state) {
    const auto latency = chain_latency(*path, *platform);
    if (!latency.ok()) {
      state.SkipWithError(latency.status().message().c_str());
      return;
    }
    benchmark::DoNotOptimize(*latency);
  }
}

BENCHMARK_CAPTURE(predict_zoo, resnet50, "resnet50")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_zoo, swin_t, "swin_t")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_zoo, gpt2_large, "gpt2_large")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsim
