// Importing models of the zoo: mapping, parsing and shape inference.
#include <benchmark/benchmark.h>

#include <string>

#include "base/data_dir.h"
#include "graphs/onnx/importer.h"

namespace dfsim {
namespace {

void import_zoo(benchmark::State& state, const std::string& name) {
  const StatusOr<std::string> path = find_data_file("graphs/zoo/" + name + ".onnx");
  if (!path.ok()) {
    state.SkipWithError(path.status().message().c_str());
    return;
  }
  size_t ops = 0;
  for (auto _ : state) {
    StatusOr<ImportedModel> model = import_onnx(*path, ImportOptions{});
    if (!model.ok()) {
      state.SkipWithError(model.status().message().c_str());
      return;
    }
    ops = model->graph.op_count();
  }
  state.counters["ops"] = static_cast<double>(ops);
}
BENCHMARK_CAPTURE(import_zoo, resnet50, "resnet50")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(import_zoo, swin_t, "swin_t")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsim
