// Simulates a replay graph on a platform with a device per lane, so that each thread and queue
// keeps its order. A delay of n nanoseconds is sent as n bytes over links of one byte per
// nanosecond that never contend. Where only the span of pieces in their recorded order matters,
// ReplayTimes finds it without a simulation.
#include "study/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/rng.h"
#include "schedulers/comm_model.h"
#include "sim/drawn_cost.h"
#include "sim/percentile.h"
#include "study/chain/latency_interval.h"
#include "study/chain/policy_run.h"
#include "study/replay/replay_times.h"

namespace dfsim::inline study {
namespace {

// An interval comes from as many runs as draw this number of pieces, within these limits.
constexpr size_t kDrawnPieces = 10'000'000;
constexpr size_t kLeastDraws = 20;
constexpr size_t kMostDraws = 200;
constexpr size_t kFewDraws = 3;

// The machine that a replay runs on: a device per lane. A delay of n nanoseconds travels as n bytes
// over links of one byte per nanosecond that never contend.
Platform lane_platform(const ReplayGraph& graph) {
  Platform platform;
  platform.name = "recorded";
  platform.runtime.queue_depth = std::numeric_limits<int>::max();
  platform.switches = {"delays"};
  for (size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    DeviceSpec device;
    device.name = fmt::format("lane{}", lane);
    device.copy_engines = 0;
    platform.devices.push_back(device);
    LinkSpec link;
    link.name = fmt::format("delay{}", lane);
    link.from = device.name;
    link.to = "delays";
    link.bytes_per_s = 1e9;
    link.sharing = LinkSharing::kNone;
    platform.links.push_back(link);
  }
  return platform;
}

// Everything that simulate() needs.
struct Simulation {
  Platform platform;
  ExecGraph tasks;
  CostTable costs;
  Schedule schedule;
  std::vector<uint32_t> piece_of;  // by task
  std::vector<TaskId> task_of;     // by piece
};

void fill_costs(const ReplayGraph& graph, bool pinned, std::vector<uint32_t>* rows,
                Simulation* simulation) {
  // Pieces with equal times share a row; under a policy also the lane that they must stay on.
  using Key = std::tuple<TimeNs, TimeNs, TimeNs, uint32_t>;
  std::map<Key, uint32_t> known;
  std::vector<Key> keys;
  for (const Piece& piece : graph.pieces) {
    const uint32_t lane = pinned ? piece.lane : 0;
    const Key key(piece.time_ns, piece.low_ns, piece.high_ns, lane);
    const auto [it, is_new] = known.try_emplace(key, static_cast<uint32_t>(keys.size()));
    if (is_new) {
      keys.push_back(key);
    }
    rows->push_back(it->second);
  }
  const size_t lanes = graph.lanes.size();
  simulation->costs = CostTable(keys.size(), lanes);
  for (uint32_t row = 0; row < keys.size(); ++row) {
    const auto& [time_ns, low_ns, high_ns, home] = keys[row];
    for (size_t lane = 0; lane < lanes; ++lane) {
      OpCost& cost = simulation->costs.at(row, DeviceId(lane));
      const bool may_run =
          !pinned || lane == home || (graph.lanes[lane].device && graph.lanes[home].device);
      cost = {may_run ? time_ns : CostTable::kInfeasible, low_ns, high_ns, CostSource::kGiven,
              Bound::kNone};
    }
  }
}

Status build_tasks(const ReplayGraph& graph, bool keep_order, const std::vector<uint32_t>& rows,
                   Simulation* simulation) {
  ExecGraphBuilder builder;
  builder.reserve(graph.pieces.size(), graph.edges.size());
  for (size_t p = 0; p < graph.pieces.size(); ++p) {
    ExecGraphBuilder::Task task;
    task.cost_row = rows[p];
    builder.add_task(std::move(task));
  }
  for (const PieceEdge& edge : graph.edges) {
    builder.add_edge(builder.add_data(TaskId(edge.from), edge.delay_ns), TaskId(edge.to));
  }
  for (size_t lane = 0; keep_order && lane < graph.order.size(); ++lane) {
    for (size_t i = 1; i < graph.order[lane].size(); ++i) {
      builder.add_edge(builder.add_data(TaskId(graph.order[lane][i - 1]), 0),
                       TaskId(graph.order[lane][i]));
    }
  }
  DFSIM_ASSIGN_OR_RETURN(simulation->tasks, builder.build(&simulation->piece_of));
  simulation->task_of.resize(graph.pieces.size());
  for (size_t t = 0; t < simulation->piece_of.size(); ++t) {
    simulation->task_of[simulation->piece_of[t]] = TaskId(t);
  }
  return ok_status();
}

StatusOr<Simulation> prepare(const ReplayGraph& graph, bool for_policy) {
  Simulation simulation;
  simulation.platform = lane_platform(graph);
  std::vector<uint32_t> rows;
  fill_costs(graph, for_policy, &rows, &simulation);
  DFSIM_RETURN_IF_ERROR(build_tasks(graph, for_policy, rows, &simulation));
  Schedule& schedule = simulation.schedule;
  schedule.placements.resize(graph.pieces.size());
  schedule.order.resize(graph.lanes.size());
  for (size_t p = 0; p < graph.pieces.size(); ++p) {
    const Piece& piece = graph.pieces[p];
    schedule.placements[simulation.task_of[p].index()] = {DeviceId(piece.lane), piece.start_ns,
                                                          piece.end_ns};
  }
  for (size_t lane = 0; lane < graph.order.size(); ++lane) {
    for (const uint32_t p : graph.order[lane]) {
      schedule.order[lane].push_back(simulation.task_of[p]);
    }
  }
  return simulation;
}

SimOptions sim_options() {
  SimOptions options;
  options.memory = MemoryPolicy::kOff;
  options.queue_order = QueueOrder::kInOrder;
  return options;
}

// Walks back from the piece that ends last over what each one waited for.
void find_path(const ReplayGraph& graph, ReplayRun* run) {
  std::vector<std::vector<const PieceEdge*>> incoming(graph.pieces.size());
  for (const PieceEdge& edge : graph.edges) {
    incoming[edge.to].push_back(&edge);
  }
  std::vector<uint32_t> before(graph.pieces.size(), UINT32_MAX);
  for (const auto& lane : graph.order) {
    for (size_t i = 1; i < lane.size(); ++i) {
      before[lane[i]] = lane[i - 1];
    }
  }
  auto at = static_cast<uint32_t>(std::max_element(run->end_ns.begin(), run->end_ns.end()) -
                                  run->end_ns.begin());
  for (size_t steps = 0; at != UINT32_MAX && steps < graph.pieces.size(); ++steps) {
    const TimeNs start_ns = run->start_ns[at];
    run->path_ns[static_cast<size_t>(graph.pieces[at].kind)] += run->end_ns[at] - start_ns;
    uint32_t next = UINT32_MAX;
    if (before[at] != UINT32_MAX && run->end_ns[before[at]] == start_ns) {
      next = before[at];
    }
    for (const PieceEdge* edge : incoming[at]) {
      if (next == UINT32_MAX && run->end_ns[edge->from] + edge->delay_ns == start_ns) {
        next = edge->from;
        run->path_launch_ns += edge->delay_ns;
      }
    }
    at = next;
  }
}

ReplayRun collect(const ReplayGraph& graph, const Simulation& simulation, const SimResult& result) {
  ReplayRun run;
  run.span_ns = result.makespan_ns;
  run.start_ns.resize(graph.pieces.size());
  run.end_ns.resize(graph.pieces.size());
  for (size_t t = 0; t < result.tasks.size(); ++t) {
    run.start_ns[simulation.piece_of[t]] = result.tasks[t].start_ns;
    run.end_ns[simulation.piece_of[t]] = result.tasks[t].end_ns;
  }
  find_path(graph, &run);
  return run;
}

StatusOr<SimResult> run_as_recorded(const Simulation& simulation) {
  return simulate({simulation.tasks, simulation.costs, simulation.platform}, simulation.schedule,
                  sim_options());
}

}  // namespace

StatusOr<ReplayRun> run_replay(const ReplayGraph& graph) {
  DFSIM_ASSIGN_OR_RETURN(const Simulation simulation, prepare(graph, false));
  DFSIM_ASSIGN_OR_RETURN(const SimResult result, run_as_recorded(simulation));
  return collect(graph, simulation, result);
}

StatusOr<TimeNs> replay_span(const ReplayGraph& graph) {
  DFSIM_ASSIGN_OR_RETURN(const ReplayTimes times, ReplayTimes::make(graph));
  return times.span([&](uint32_t p) { return graph.pieces[p].time_ns; });
}

StatusOr<ReplayRun> run_replay_with(const ReplayGraph& graph, const PolicyInfo& policy) {
  DFSIM_ASSIGN_OR_RETURN(const Simulation simulation, prepare(graph, true));
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CommModel> comm,
                         make_comm_model(simulation.platform));
  const SchedulingProblem problem{simulation.tasks, simulation.costs, simulation.platform, *comm};
  PolicyRunOptions options;
  options.sim = sim_options();
  DFSIM_ASSIGN_OR_RETURN(const PolicyRun done, run_policy(problem, policy, options));
  return collect(graph, simulation, done.result);
}

namespace {

// The part of the widest error, all operators as far off as their intervals at once, that an 80 %
// interval has: equal pieces share an error, others have kCommonShare of their variance in common.
template <typename Distance>
double joint_error(const ReplayGraph& graph, const Distance& distance) {
  std::map<std::tuple<TimeNs, TimeNs, TimeNs>, double> errors;
  for (const Piece& piece : graph.pieces) {
    if (piece.modelled) {
      errors[{piece.time_ns, piece.low_ns, piece.high_ns}] +=
          std::max(0.0, static_cast<double>(distance(piece)));
    }
  }
  double sum = 0;
  double squares = 0;
  for (const auto& [piece, error] : errors) {
    sum += error;
    squares += error * error;
  }
  return sum > 0 ? std::sqrt((1 - kCommonShare) * squares / (sum * sum) + kCommonShare) : 0;
}

// The span with the cost model's pieces at one end of their intervals.
StatusOr<TimeNs> span_at(ReplayGraph graph, TimeNs Piece::*end) {
  for (Piece& piece : graph.pieces) {
    piece.time_ns = piece.modelled ? piece.*end : piece.time_ns;
  }
  return replay_span(graph);
}

ReplayGraph with_certain_model(ReplayGraph graph) {
  for (Piece& piece : graph.pieces) {
    if (piece.modelled) {
      piece.low_ns = piece.high_ns = piece.time_ns;
    }
  }
  return graph;
}

// The span, and its interval when pieces are drawn from their own.
struct Drawn {
  TimeNs span_ns = 0;
  ReplayInterval interval;
};

// The span of one run in which each piece takes a time from its own interval.
TimeNs drawn_span(const ReplayGraph& graph, const ReplayTimes& times, Rng random) {
  std::vector<TimeNs> drawn(graph.pieces.size());
  for (size_t p = 0; p < drawn.size(); ++p) {
    const Piece& piece = graph.pieces[p];
    drawn[p] =
        piece.low_ns == piece.high_ns
            ? piece.time_ns
            : drawn_ns({.time_ns = piece.time_ns, .low_ns = piece.low_ns, .high_ns = piece.high_ns},
                       random.normal());
  }
  return times.span([&](uint32_t p) { return drawn[p]; });
}

StatusOr<Drawn> draw(const ReplayGraph& graph, uint64_t seed, const Progress& progress,
                     TimeNs same_ns) {
  DFSIM_ASSIGN_OR_RETURN(const ReplayTimes times, ReplayTimes::make(graph));
  const TimeNs span_ns = times.span([&](uint32_t p) { return graph.pieces[p].time_ns; });
  const size_t runs =
      std::clamp(kDrawnPieces / std::max<size_t>(1, graph.pieces.size()), kLeastDraws, kMostDraws);
  std::vector<TimeNs> spans;
  while (spans.size() < runs) {
    spans.push_back(drawn_span(graph, times, Rng(seed).split(spans.size())));
    progress.advance(static_cast<double>(spans.size()), static_cast<double>(runs), "runs");
    if (same_ns > 0 && spans.size() == kFewDraws) {
      // An interval as wide as `same_ns` has a standard deviation of 0.39 of it; three draws lie
      // within a sixteenth of it then in less than one case of a hundred.
      const auto [least, most] = std::ranges::minmax(spans);
      if (most - least < same_ns / 16) {
        return Drawn{span_ns, {least, most}};
      }
    }
  }
  std::ranges::sort(spans);
  return Drawn{span_ns, {percentile(spans, 10), percentile(spans, 90)}};
}

}  // namespace

StatusOr<ReplayInterval> replay_interval(const ReplayGraph& graph, uint64_t seed,
                                         const Progress& progress, TimeNs same_ns) {
  const bool modelled = std::ranges::any_of(graph.pieces, &Piece::modelled);
  // Only the measured pieces are drawn: the model's error is added below.
  DFSIM_ASSIGN_OR_RETURN(const Drawn drawn,
                         modelled ? draw(with_certain_model(graph), seed, progress, same_ns)
                                  : draw(graph, seed, progress, same_ns));
  const TimeNs span_ns = drawn.span_ns;
  TimeNs low_ns = span_ns;
  TimeNs high_ns = span_ns;
  if (modelled) {
    DFSIM_ASSIGN_OR_RETURN(low_ns, span_at(graph, &Piece::low_ns));
    DFSIM_ASSIGN_OR_RETURN(high_ns, span_at(graph, &Piece::high_ns));
  }
  const auto width = [](TimeNs scattered_ns, TimeNs modelled_ns, double share) {
    const auto error_ns = static_cast<double>(std::max<TimeNs>(0, modelled_ns));
    const auto scatter_ns = static_cast<double>(std::max<TimeNs>(0, scattered_ns));
    return static_cast<TimeNs>(std::llround(std::hypot(scatter_ns, error_ns * share)));
  };
  const double below = joint_error(graph, [](const Piece& p) { return p.time_ns - p.low_ns; });
  const double above = joint_error(graph, [](const Piece& p) { return p.high_ns - p.time_ns; });
  const ReplayInterval& own = drawn.interval;
  return ReplayInterval{
      std::max<TimeNs>(0, span_ns - width(span_ns - own.low_ns, span_ns - low_ns, below)),
      span_ns + width(own.high_ns - span_ns, high_ns - span_ns, above)};
}

}  // namespace dfsim::inline study
