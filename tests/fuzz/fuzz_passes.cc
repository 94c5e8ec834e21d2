// libFuzzer target of the passes: the bytes choose the operators of a valid graph, and every
// runtime's passes, one by one and together, keep the shapes of its outputs and its MACs.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

#include "graphs/ops/totals.h"
#include "graphs/passes/cleanup/prune.h"
#include "graphs/passes/pipeline.h"
#include "tests/fuzz/model_checks.h"
#include "tests/passes/random_graph.h"

namespace {

// Stops the run at a broken promise, and names the passes that broke it.
void expect_kept(bool kept, const dfsim::PassStages& stages, const std::string& what) {
  if (!kept) {
    std::cerr << "not kept: " << what << "; passes:";
    for (const std::string& pass : stages.front()) {
      std::cerr << ' ' << pass;
    }
    std::cerr << '\n';
  }
  dfsim::expect(kept);
}

// In blocks of channels a batch normalisation runs as a convolution per channel: one MAC for each
// of its elements, where it counted none before. Nothing else may change the number of MACs.
int64_t normalised_elements(const dfsim::Graph& graph) {
  int64_t elements = 0;
  for (const dfsim::Op& op : graph.ops()) {
    if (op.op_type == "BatchNormalization") {
      elements += graph.tensor(op.outputs[0]).shape.elements().value();
    }
  }
  return elements;
}

void check_passes_keep(const dfsim::Graph& graph, const dfsim::PassStages& stages) {
  const auto rewritten = dfsim::run_passes(graph, stages);
  expect_kept(rewritten.ok(), stages, rewritten.ok() ? "" : rewritten.status().message());
  dfsim::check_graph(rewritten->graph);
  const auto before = dfsim::graph_totals(graph);
  const auto after = dfsim::graph_totals(rewritten->graph);
  expect_kept(before.ok() && after.ok(), stages, "totals");
  const int64_t added = after->macs - before->macs;
  expect_kept(added >= 0 && added <= normalised_elements(graph), stages,
              "MACs, " + std::to_string(before->macs) + " to " + std::to_string(after->macs));
  expect_kept(graph.outputs().size() == rewritten->graph.outputs().size(), stages, "outputs");
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const dfsim::Shape& old_shape = graph.tensor(graph.outputs()[i]).shape;
    const dfsim::Shape& new_shape = rewritten->graph.tensor(rewritten->graph.outputs()[i]).shape;
    expect_kept(dfsim::format_shape(old_shape) == dfsim::format_shape(new_shape), stages,
                "shape of output " + std::to_string(i) + ", " + dfsim::format_shape(old_shape) +
                    " to " + dfsim::format_shape(new_shape));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t next = 0;
  constexpr int kMostSteps = 24;
  const auto graph = dfsim::RandomGraph([&](uint32_t n) {
                       return next < size ? data[next++] % n : 0;
                     }).make(kMostSteps);
  dfsim::expect(graph.ok());
  const auto pruned = dfsim::prune(*graph);
  dfsim::expect(pruned.ok());
  dfsim::PassStages together(1);
  for (const dfsim::Pass& pass : dfsim::all_passes()) {
    check_passes_keep(pruned->graph, {{std::string(pass.name)}});
    together[0].emplace_back(pass.name);
  }
  check_passes_keep(pruned->graph, together);
  return 0;
}
