// libFuzzer target of the passes: the bytes choose the operators of a valid graph, and every
// runtime's passes, one by one and together, keep the shapes of its outputs and its MACs.
#include <cstddef>
#include <cstdint>

#include "graphs/ops/totals.h"
#include "graphs/passes/cleanup/prune.h"
#include "graphs/passes/pipeline.h"
#include "tests/fuzz/model_checks.h"
#include "tests/passes/random_graph.h"

namespace {

void check_passes_keep(const dfsim::Graph& graph, const dfsim::PassStages& stages) {
  const auto rewritten = dfsim::run_passes(graph, stages);
  dfsim::expect(rewritten.ok());
  dfsim::check_graph(rewritten->graph);
  const auto before = dfsim::graph_totals(graph);
  const auto after = dfsim::graph_totals(rewritten->graph);
  dfsim::expect(before.ok() && after.ok() && before->macs == after->macs);
  dfsim::expect(graph.outputs().size() == rewritten->graph.outputs().size());
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const dfsim::Shape& old_shape = graph.tensor(graph.outputs()[i]).shape;
    const dfsim::Shape& new_shape = rewritten->graph.tensor(rewritten->graph.outputs()[i]).shape;
    dfsim::expect(dfsim::format_shape(old_shape) == dfsim::format_shape(new_shape));
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
