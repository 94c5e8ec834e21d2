// Gradient accumulation: several forward and backward passes before one update.
#pragma once

#include "base/status.h"
#include "graphs/training/training_parts.h"

namespace dfsim::inline graphs {

// The step's graph with `passes` copies of all but its updates. From the second pass on an Add per
// weight joins its gradients, as PyTorch adds to .grad; the updates read the sums. Weights and
// their states are shared, the inputs are those of one micro-batch. O(size * passes).
StatusOr<Graph> accumulate_gradients(const Graph& step,
                                     const std::vector<TrainingParameter>& parameters, int passes);

}  // namespace dfsim::inline graphs
