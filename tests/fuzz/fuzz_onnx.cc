// libFuzzer target of the ONNX importer and of all that reads its graphs before the simulator: no
// input may crash, hang or grow memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "graphs/onnx/importer.h"
#include "graphs/ops/totals.h"
#include "graphs/passes/pipeline.h"
#include "graphs/passes/prune.h"
#include "opmodel/workload.h"

namespace {

void expect(bool promise) {
  if (!promise) {
    std::abort();
  }
}

// Promises of graph.h that a graph from outside must keep, too.
void check_graph(const dfsim::Graph& graph) {
  for (size_t i = 0; i < graph.op_count(); ++i) {
    for (const dfsim::TensorId input : graph.op(dfsim::OpId(i)).inputs) {
      const dfsim::OpId producer = input.valid() ? graph.tensor(input).producer : dfsim::OpId();
      expect(!producer.valid() || producer.index() < i);
    }
  }
  for (const dfsim::Tensor& tensor : graph.tensors()) {
    expect(!tensor.name.empty());
    expect(tensor.shape.rank() <= dfsim::kMaxRank);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto model = dfsim::import_onnx_bytes(bytes, {});
  if (!model.ok()) {
    expect(!model.status().message().empty());
    expect(model.status().message().find('\n') == std::string::npos);
    return 0;
  }
  check_graph(model->graph);
  if (!dfsim::graph_totals(model->graph).ok()) {
    return 0;
  }
  const auto pruned = dfsim::prune(model->graph);
  expect(pruned.ok());
  check_graph(pruned->graph);
  std::vector<std::string> passes;
  for (const dfsim::Pass& pass : dfsim::all_passes()) {
    passes.emplace_back(pass.name);
  }
  const auto rewritten = dfsim::run_passes(pruned->graph, {passes});
  expect(rewritten.ok());
  check_graph(rewritten->graph);
  const auto workload = dfsim::make_workload(rewritten->graph);
  expect(workload.ok() || !workload.status().message().empty());
  return 0;
}
