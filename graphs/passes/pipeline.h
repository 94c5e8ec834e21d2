// Pipeline: the rewriting passes of a runtime, by name and in order.
//
// Purpose: dfsim predicts the operators that a framework executes, not those of the file. A runtime
//   file lists passes under `fusions`; each is one rule of graphs/passes, described in
//   docs/reference/runtimes.md.
// Passes come in stages. A stage runs in order, and again until it changes nothing (ten times at
// most): what one pass leaves may be what an earlier one looks for.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

struct Pass {
  std::string_view name;
  std::string_view description;  // one line
  void (*run)(EditableGraph& graph) = nullptr;
};

// All passes, sorted by name.
std::span<const Pass> all_passes();

// The changes that one pass of a stage made, over all rounds.
struct PassEffect {
  std::string name;
  bool changed = false;
  int64_t ops_added = 0;  // negative: that many fewer
};

struct PipelineResult {
  Graph graph;
  std::vector<PassEffect> effects;  // by pass, stage after stage
};

using PassStages = std::vector<std::vector<std::string>>;

// RuntimeSpec::fusions, a list in which "" separates stages, as stages.
PassStages pass_stages(const std::vector<std::string>& fusions);

// Error (kInvalidInput): a name that is not a pass, with the nearest one.
Status check_passes(const PassStages& stages);

// Errors as check_passes(). O(rounds * passes * ops) for what is found at once.
// `open` says which extents the runtime doesn't know (by the tensors' names).
StatusOr<PipelineResult> run_passes(const Graph& graph, const PassStages& stages,
                                    const OpenDims& open = {});

}  // namespace dfsim::inline graphs
