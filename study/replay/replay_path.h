// The critical path of a recorded run through everything that the replay knows it waited for.
//
// From the piece that ends last, the path goes back to what held each piece up: the piece before it
// on its thread or queue, the launch, the work that a call waited for, the thread or queue that
// handed over. The path has no holes: the times of its classes add up to the run's span exactly.
// Unlike HolisticTraceAnalysis's path (find_trace_path()), it counts the time that a thread spends
// between its operators.
#pragma once

#include "study/analysis/critical_path.h"
#include "study/replay/replay_graph.h"

namespace dfsim::inline study {

// `graph` must be make_replay_graph()'s, unchanged. Empty when its dependencies contradict each
// other. O(pieces + edges).
TracePath find_replay_path(const ReplayGraph& graph);

}  // namespace dfsim::inline study
