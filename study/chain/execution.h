// A pruned model as a runtime executes it: the steps of the precision between the runtime's passes.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/ir/import.h"
#include "graphs/passes/precision/precision.h"
#include "hardware/platform.h"

namespace dfsim::inline study {

// A graph as a runtime executes it.
struct ExecutedGraph {
  Graph graph;
  size_t source_ops = 0;  // before anything is pruned, with the trips of loops side by side
  size_t pruned_ops = 0;
  std::vector<std::string> passes;
  std::vector<bool> unsized;  // OpenDims::unsized(), by tensor of `graph`
  size_t padded_vocabularies = 0;
};

struct ExecutionOptions {
  PrecisionPlan precision = {};
  bool cpu = false;            // on what kind of device
  bool trains = false;         // a training step will be made of the graph (PruneOptions)
  bool training_mode = false;  // dropout drops (graphs/passes/cleanup/dropouts.h)
  int64_t pad_vocabulary = 0;  // over 0: vocabularies are padded to multiples of it, at the end
  // Of the file, empty when the user freezes them. Only ONNX Runtime optimises at load time, when
  // it knows no more than the file; other runtimes see every extent.
  std::vector<OpenAxis> open_axes = {};
  std::vector<DeclaredAxes> declared_axes = {};
};

// Whether the runtime optimises the graph before it knows the extents that the file leaves open.
bool sees_open_axes(const RuntimeSpec& runtime);

// Prunes, rewrites the precision as planned (see graphs/passes/precision/precision.h for the order)
// and runs the runtime's passes. Error: as run_passes(), with the
// runtime's file.
StatusOr<ExecutedGraph> execute_as(const Graph& graph, const RuntimeSpec& runtime,
                                   const ExecutionOptions& options = {});

}  // namespace dfsim::inline study
