// Which forward tensors stay in memory for the backward pass; the others are computed again.
#pragma once

#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/training/training_names.h"

namespace dfsim::inline graphs {

// By tensor. `depends` says by tensor whether it depends on a weight: what does not (masks,
// positions) always stays. O(operators + edges).
std::vector<bool> tensors_to_keep(const Graph& forward, const std::vector<bool>& depends,
                                  Recompute recompute);

}  // namespace dfsim::inline graphs
