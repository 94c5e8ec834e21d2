// The forward pass as the beginning of a training step's graph.
#pragma once

#include <vector>

#include "base/status.h"
#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {

// The operator as a training step runs it: batch normalisation takes its statistics from the batch.
Op as_in_training(Op op);

// The same tensors and operators with the same ids; results for the caller are none any more.
// Error: the shape of a tensor that depends on a weight (`depends`, by tensor) is not known.
Status copy_forward(const Graph& forward, const std::vector<bool>& depends, GraphBuilder* builder);

}  // namespace dfsim::inline graphs
