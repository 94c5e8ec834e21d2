// expand_control_flow: branches and loops written out, so that what runs inside them is costed,
// fused and simulated as everything else.
//
// If gives way to the branch that is taken (an unknown condition: the larger one). Loop, Scan and
// SequenceMap give way to their body, once per trip, with the shapes of that trip; operators of
// trip 3 are named "name#3". Counters are known in every trip, so that arithmetic on them folds. An
// element of a list is the tensor that was put there, and stacking a list reads its elements.
//
// What runs besides the bodies is not counted: testing the condition, except where the body itself
// reads it. Stays one operator, whose cost is the bound on its bodies' work: what would make the
// graph larger than `most_ops`, and Scan of opset 8.
#pragma once

#include "base/status.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

inline constexpr size_t kMostExpandedOps = 100'000;

bool has_control_flow(const Graph& graph);

// `graph` as inference left it (trip counts and branches known). Bodies add at most `most_ops`
// operators. O(operators of the result). Errors: as GraphBuilder::build().
StatusOr<Graph> expand_control_flow(const Graph& graph, size_t most_ops = kMostExpandedOps);

}  // namespace dfsim::inline graphs
