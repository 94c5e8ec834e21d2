// The factor map of an operator of a graph, by its definition's rule. What a map says:
// factor_map.h.
#pragma once

#include "graphs/ops/factors/factor_map.h"

namespace dfsim::inline graphs {

// The factor map of an op: its definition's rule, else the broadcast rule of elementwise operators,
// else none, with the reason. Invariants: sizes agree with the op's operands; each factor is above
// 1 and carried by some operand at most once; extents are factor times block; a factor that some
// output lacks has a reduction. Never fails: ops with unknown or data-dependent shapes are
// unsplittable. O(ranks of the operands).
FactorMap op_factors(const Graph& graph, OpId op);

}  // namespace dfsim::inline graphs
