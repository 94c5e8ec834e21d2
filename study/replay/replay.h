// Replays a recorded run in the simulator, as it was or changed, and says what it would have taken.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "schedulers/registry.h"
#include "sim/simulator.h"
#include "study/analysis/trace_analysis.h"
#include "study/progress.h"
#include "study/replay/replay_graph.h"

namespace dfsim::inline study {

// When each piece runs.
struct ReplayRun {
  TimeNs span_ns = 0;
  std::vector<TimeNs> start_ns;  // by piece
  std::vector<TimeNs> end_ns;
  // Parts of the chain of pieces that decides the span: the time of each kind of piece on it, and
  // the delays of launches.
  std::array<TimeNs, kPieceKindCount> path_ns{};
  TimeNs path_launch_ns = 0;
};

// Each lane runs its pieces in order. Error (kInvalidInput): dependencies in a circle, which zero
// durations can make. O((pieces + edges) log lanes).
StatusOr<ReplayRun> run_replay(const ReplayGraph& graph);
// Computes only the span, with less memory.
StatusOr<TimeNs> replay_span(const ReplayGraph& graph);

// `policy` reschedules device work on the queues of its device; what was recorded as an order in a
// queue stays a dependency. Errors: as above, and the policy's own.
StatusOr<ReplayRun> run_replay_with(const ReplayGraph& graph, const PolicyInfo& policy);

// 80 % interval of the span, which is in it: times that were measured are drawn around their own,
// as wide as those of similar pieces differ, and those of a cost model are off by its errors, which
// operators share as latency_interval() takes it.
struct ReplayInterval {
  TimeNs low_ns = 0;
  TimeNs high_ns = 0;
};
// The interval comes from 20 to 200 runs, of large graphs from fewer. `same_ns`: a caller that
// treats every width up to this one alike gives it here. If the first three runs differ by less
// than a sixteenth of it, as those of long traces do, they suffice.
StatusOr<ReplayInterval> replay_interval(const ReplayGraph& graph, uint64_t seed,
                                         const Progress& progress = {}, TimeNs same_ns = 0);

// One --scale rule: what it applies to, and the factor on times.
struct ScaleRule {
  std::string
      what;  // "host", "device", a piece kind, "compute", or a pattern of names with * and ?
  double factor = 1;
};
// "kernel=0.5", "aten::*=0.5". Errors (kInvalidInput): no factor, or one that is not
// a number from 0 to 1e6.
StatusOr<ScaleRule> parse_scale_rule(std::string_view text);
// Multiplies the times of matching pieces; a pattern fits the piece's own name or the name of one
// of the operators around it. Returns how many pieces match; marks them in `scaled` when given.
int64_t apply_scale(const Trace& trace, const ScaleRule& rule, ReplayGraph* graph,
                    std::vector<bool>* scaled = nullptr);
// The trace as it would have been recorded of the replayed run: the same spans at their new times.
Trace replayed_trace(const Trace& trace, const ReplayGraph& graph, const ReplayRun& run);
}  // namespace dfsim::inline study
