// Simulated annealing over placement and order (Kirkpatrick, Gelatt, Vecchi 1983,
// doi:10.1126/science.220.4598.671; over device placements as in FlexFlow, Jia et al. 2019).
//
// State: a topological sequence of the tasks and a device for each; its value is the makespan of
// appending the tasks in that sequence. Moves: another device for a task, another place in the
// sequence between its last predecessor and first successor, or both; half of the time a
// predecessor moves to the new device as well. A worse state is accepted with probability exp(-(new
// - old) / temperature); the temperature falls geometrically with the share of the budget that is
// spent. Only the part of the sequence behind the first change is timed again: finish times in
// front of it stay, and the devices' states are saved every few positions. Starts from the
// portfolio's plan, returns the best state seen.
//
// The default budget is one of work, tasks and edges that are timed, in proportion to what
// list schedulers take: a move of a large graph times many thousand tasks again, and a fixed number
// of moves took 60 times as long as all other policies together on 20,000 tasks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "base/cancellation.h"
#include "base/rng.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

constexpr uint64_t kDefaultIterations = 200'000;
constexpr uint64_t kLeastWork = 20'000'000;  // tasks and edges timed: well below a second
constexpr uint64_t kWorkPerPlacement = 100;  // times what a list scheduler looks at
constexpr double kFirstTemperature = 0.1;    // of the starting makespan
constexpr double kLastTemperature = 0.0005;
constexpr size_t kSaveEvery = 16;  // positions

class Annealer {
 public:
  Annealer(const TaskView& view, const Schedule& start, uint64_t seed);

  struct Budget {
    uint64_t iterations = 0;
    uint64_t work = 0;   // tasks and edges that are timed; 0 = any number
    double seconds = 0;  // over 0: only this counts
  };
  // Runs the budget and tells `progress`, which may be empty, the share that is spent.
  void run(const Budget& budget, const std::function<void(double)>& progress);
  Schedule best_plan() const;

 private:
  struct Move {
    size_t first = 0;  // smallest changed position
    TaskId task;
    size_t old_position = 0;
    size_t new_position = 0;
    DeviceId old_device;
    TaskId partner;  // a predecessor that moves to the same device, or none
    DeviceId old_partner_device;
  };

  bool propose(Move& move);
  void take_predecessor_along(Move& move, DeviceId device);
  void shift(size_t from, size_t to);
  void undo(const Move& move);
  // Times the sequence from a position on and returns the makespan.
  TimeNs time_from(size_t position);

  const TaskView& view_;
  Rng rng_;
  std::vector<TaskId> sequence_;
  std::vector<size_t> position_;  // of each task
  std::vector<DeviceId> device_;
  std::vector<TimeNs> finish_;
  // Before every kSaveEvery-th position: availability of all devices, then the makespan so far.
  std::vector<TimeNs> saved_;
  std::vector<TimeNs> available_;
  uint64_t work_ = 0;  // tasks and edges timed so far
  TimeNs current_ = 0;
  TimeNs best_ = 0;
  std::vector<TaskId> best_sequence_;
  std::vector<DeviceId> best_device_;
};

Annealer::Annealer(const TaskView& view, const Schedule& start, uint64_t seed)
    : view_(view),
      rng_(seed),
      sequence_(view.tasks()),
      position_(view.tasks()),
      device_(view.tasks()),
      finish_(view.tasks()),
      saved_((view.tasks() / kSaveEvery + 1) * (view.devices() + 1), 0) {
  for (size_t i = 0; i < view.tasks(); ++i) {
    sequence_[i] = TaskId(i);
    device_[i] = start.placements[i].device;
  }
  std::ranges::stable_sort(sequence_, {}, [&](TaskId task) {
    const Placement& placement = start.placements[task.index()];
    return std::pair(placement.planned_start_ns, placement.planned_finish_ns);
  });
  for (size_t k = 0; k < sequence_.size(); ++k) {
    position_[sequence_[k].index()] = k;
  }
  best_ = current_ = time_from(0);
  best_sequence_ = sequence_;
  best_device_ = device_;
}

TimeNs Annealer::time_from(size_t position) {
  const ExecGraph& graph = view_.graph();
  const std::span<const Edge> edges = graph.edges();
  const CommModel& comm = view_.problem().comm;
  const size_t stride = view_.devices() + 1;
  size_t k = position / kSaveEvery * kSaveEvery;
  const auto at = [&](size_t save) {
    return saved_.begin() + static_cast<std::ptrdiff_t>(save / kSaveEvery * stride);
  };
  available_.assign(at(k), at(k) + static_cast<std::ptrdiff_t>(stride));
  for (; k < sequence_.size(); ++k) {
    if (k % kSaveEvery == 0) {
      std::ranges::copy(available_, at(k));
    }
    const TaskId task = sequence_[k];
    const DeviceId device = device_[task.index()];
    TimeNs start = available_[device.index()];
    const std::span<const uint32_t> inputs = graph.in_edge_indices(task);
    work_ += 1 + inputs.size();
    for (const uint32_t e : inputs) {
      const Edge& edge = edges[e];
      const DeviceId source = device_[edge.from.index()];
      const TimeNs moved =
          source == device ? 0 : comm.transfer_ns(source, device, graph.edge_bytes(edge));
      start = std::max(start, finish_[edge.from.index()] + moved);
    }
    const TimeNs end = start + view_.time_ns(task, device.index());
    finish_[task.index()] = end;
    available_[device.index()] = end;
    available_.back() = std::max(available_.back(), end);
  }
  return available_.back();
}

// Moves the task at `from` to `to`, the ones between one place back.
void Annealer::shift(size_t from, size_t to) {
  const auto at = [this](size_t k) { return sequence_.begin() + static_cast<std::ptrdiff_t>(k); };
  if (from < to) {
    std::rotate(at(from), at(from + 1), at(to + 1));
  } else {
    std::rotate(at(to), at(from), at(from + 1));
  }
  for (size_t k = std::min(from, to); k <= std::max(from, to); ++k) {
    position_[sequence_[k].index()] = k;
  }
}

bool Annealer::propose(Move& move) {
  const size_t n = sequence_.size();
  move.old_position = rng_.below(n);
  move.task = sequence_[move.old_position];
  move.old_device = device_[move.task.index()];
  move.new_position = move.old_position;
  const uint64_t kind = rng_.below(3);
  if (kind != 0) {
    size_t low = 0;
    size_t high = n;
    for (const uint32_t e : view_.graph().in_edge_indices(move.task)) {
      low = std::max(low, position_[view_.graph().edges()[e].from.index()] + 1);
    }
    for (const Edge& edge : view_.graph().out_edges(move.task)) {
      high = std::min(high, position_[edge.to.index()]);
    }
    move.new_position = low + rng_.below(high - low);
  }
  DeviceId device = move.old_device;
  if (kind != 1 && view_.devices() > 1) {
    device = DeviceId(rng_.below(view_.devices()));
  }
  if (!view_.feasible(move.task, device.index()) ||
      (device == move.old_device && move.new_position == move.old_position)) {
    return false;
  }
  device_[move.task.index()] = device;
  shift(move.old_position, move.new_position);
  move.first = std::min(move.old_position, move.new_position);
  if (device != move.old_device && rng_.below(2) == 0) {
    take_predecessor_along(move, device);
  }
  return true;
}

// Where communication dominates, moving one end of an edge alone never pays.
void Annealer::take_predecessor_along(Move& move, DeviceId device) {
  const std::span<const uint32_t> inputs = view_.graph().in_edge_indices(move.task);
  if (inputs.empty()) {
    return;
  }
  const TaskId partner = view_.graph().edges()[inputs[rng_.below(inputs.size())]].from;
  if (!view_.feasible(partner, device.index())) {
    return;
  }
  move.partner = partner;
  move.old_partner_device = device_[partner.index()];
  device_[partner.index()] = device;
  move.first = std::min(move.first, position_[partner.index()]);
}

void Annealer::undo(const Move& move) {
  if (move.partner.valid()) {
    device_[move.partner.index()] = move.old_partner_device;
  }
  device_[move.task.index()] = move.old_device;
  shift(move.new_position, move.old_position);
  time_from(move.first);
}

void Annealer::run(const Budget& budget, const std::function<void(double)>& progress) {
  constexpr uint64_t kStepsPerClock = 64;
  const auto begin = std::chrono::steady_clock::now();
  const auto spent = [&](uint64_t step) {
    if (budget.seconds > 0) {
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      return time.count() / budget.seconds;
    }
    const double moves = static_cast<double>(step) / static_cast<double>(budget.iterations);
    return budget.work == 0
               ? moves
               : std::max(moves, static_cast<double>(work_) / static_cast<double>(budget.work));
  };
  const double first = kFirstTemperature * static_cast<double>(current_);
  double temperature = first;
  for (uint64_t step = 0;; ++step) {
    cancellation_point();
    if (step % kStepsPerClock == 0) {
      const double share = spent(step);
      if (progress) {
        progress(std::min(share, 1.0));
      }
      if (share >= 1) {
        return;
      }
      temperature = first * std::pow(kLastTemperature / kFirstTemperature, share);
    }
    Move move;
    if (!propose(move)) {
      continue;
    }
    const TimeNs value = time_from(move.first);
    const auto worse = static_cast<double>(value - current_);
    if (worse > 0 && rng_.uniform() >= std::exp(-worse / temperature)) {
      undo(move);
      continue;
    }
    current_ = value;
    if (value < best_) {
      best_ = value;
      best_sequence_ = sequence_;
      best_device_ = device_;
    }
  }
}

Schedule Annealer::best_plan() const {
  PlanBuilder builder(view_, Slot::kAppend);
  for (const TaskId task : best_sequence_) {
    builder.place_on(task, best_device_[task.index()]);
  }
  return builder.finish();
}

class Anneal final : public StaticScheduler {
 public:
  explicit Anneal(const PolicyOptions& options) : options_(options) {}

  std::string_view name() const override { return "anneal"; }

  StatusOr<Schedule> plan(const SchedulingProblem& problem) override {
    DFSIM_ASSIGN_OR_RETURN(Schedule start, make_portfolio(options_)->plan(problem));
    if (start.planned_makespan_ns <= makespan_lower_bound(problem)) {
      return start;
    }
    const TaskView view(problem);
    Annealer annealer(view, start, problem.seed);
    const uint64_t placements = (view.tasks() + problem.graph.edge_count()) * view.devices();
    annealer.run(
        {options_.iterations > 0 ? options_.iterations : kDefaultIterations,
         options_.iterations > 0 ? 0 : std::max(kLeastWork, kWorkPerPlacement * placements),
         options_.time_budget_s},
        options_.progress);
    return annealer.best_plan();
  }

 private:
  PolicyOptions options_;
};

}  // namespace

StaticPtr make_anneal(const PolicyOptions& options) { return std::make_unique<Anneal>(options); }

}  // namespace dfsim::inline schedulers::policies
