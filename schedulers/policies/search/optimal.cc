// Optimal: branch and bound over all semi-active schedules; the oracle of tests, up to 12 tasks.
//
// Every schedule in which no task could start earlier without changing the order on its device
// comes out of appending tasks in the order of their starts, so only such sequences are searched.
// Bounds: remaining critical path with least times, remaining work over the devices' free time. The
// search tries only the first of several equal unused devices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "base/cancellation.h"
#include "schedulers/planning/ranks.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

constexpr size_t kMaxTasks = 12;
constexpr size_t kMaxDevices = 64;
constexpr uint64_t kDefaultNodes = 2'000'000'000;

class Search {
 public:
  Search(const TaskView& view, uint64_t node_limit, double time_limit_s)
      : view_(view), node_limit_(node_limit), time_limit_s_(time_limit_s) {}

  StatusOr<Schedule> run(const Schedule& start);

 private:
  struct Placed {
    size_t device = SIZE_MAX;
    TimeNs start = 0;
    TimeNs finish = 0;
  };

  void find_alike_devices();
  void search(size_t placed, TimeNs last_start);
  void try_devices(size_t task, size_t placed, TimeNs last_start);
  TimeNs ready(size_t task, size_t device) const;
  TimeNs bound(TimeNs last_start) const;
  bool over_budget();

  const TaskView& view_;
  uint64_t node_limit_;
  double time_limit_s_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  uint64_t nodes_ = 0;
  bool stopped_ = false;
  std::vector<TimeNs> tail_;     // least time from a task's start to the end
  std::vector<size_t> alike_;    // per device: the first device with equal times and links
  std::vector<size_t> pending_;  // unplaced predecessors
  std::vector<Placed> now_;
  std::vector<Placed> best_;
  std::vector<TimeNs> available_;
  std::vector<size_t> load_;  // tasks per device
  TimeNs best_makespan_ = 0;
  TimeNs makespan_ = 0;
  TimeNs work_left_ = 0;
};

// Devices are alike when every task takes the same time on both and links to all others are equal
// for every amount of data in the graph.
void Search::find_alike_devices() {
  const size_t devices = view_.devices();
  const CommModel& comm = view_.problem().comm;
  const auto alike = [&](size_t a, size_t b) {
    for (size_t i = 0; i < view_.tasks(); ++i) {
      if (view_.time_ns(TaskId(i), a) != view_.time_ns(TaskId(i), b)) {
        return false;
      }
    }
    for (const Edge& edge : view_.graph().edges()) {
      const Bytes bytes = view_.graph().edge_bytes(edge);
      const DeviceId da(a);
      const DeviceId db(b);
      if (comm.transfer_ns(da, db, bytes) != comm.transfer_ns(db, da, bytes)) {
        return false;
      }
      for (size_t c = 0; c < devices; ++c) {
        const DeviceId dc(c);
        if (c != a && c != b &&
            (comm.transfer_ns(da, dc, bytes) != comm.transfer_ns(db, dc, bytes) ||
             comm.transfer_ns(dc, da, bytes) != comm.transfer_ns(dc, db, bytes))) {
          return false;
        }
      }
    }
    return true;
  };
  alike_.resize(devices);
  for (size_t d = 0; d < devices; ++d) {
    alike_[d] = d;
    for (size_t e = 0; e < d; ++e) {
      if (alike_[e] == e && alike(e, d)) {
        alike_[d] = e;
        break;
      }
    }
  }
}

TimeNs Search::ready(size_t task, size_t device) const {
  TimeNs latest = 0;
  for (const uint32_t e : view_.graph().in_edge_indices(TaskId(task))) {
    const Edge& edge = view_.graph().edges()[e];
    const Placed& from = now_[edge.from.index()];
    const TimeNs moved = from.device == device ? 0
                                               : view_.problem().comm.transfer_ns(
                                                     DeviceId(from.device), DeviceId(device),
                                                     view_.graph().edge_bytes(edge));
    latest = std::max(latest, from.finish + moved);
  }
  return latest;
}

TimeNs Search::bound(TimeNs last_start) const {
  TimeNs least = makespan_;
  std::array<TimeNs, kMaxTasks> earliest{};
  for (size_t i = 0; i < view_.tasks(); ++i) {
    if (now_[i].device != SIZE_MAX) {
      continue;
    }
    TimeNs start = last_start;
    for (const uint32_t e : view_.graph().in_edge_indices(TaskId(i))) {
      const size_t from = view_.graph().edges()[e].from.index();
      start = std::max(start, now_[from].device != SIZE_MAX
                                  ? now_[from].finish
                                  : earliest[from] + view_.least_ns(TaskId(from)));
    }
    earliest[i] = start;
    least = std::max(least, start + tail_[i]);
  }
  TimeNs free_from = 0;
  for (const TimeNs available : available_) {
    free_from += std::max(available, last_start);
  }
  const auto devices = static_cast<TimeNs>(available_.size());
  return std::max(least, (free_from + work_left_ + devices - 1) / devices);
}

bool Search::over_budget() {
  constexpr uint64_t kNodesPerClock = 4096;
  ++nodes_;
  cancellation_point();
  if (nodes_ > node_limit_) {
    stopped_ = true;
  } else if (time_limit_s_ > 0 && nodes_ % kNodesPerClock == 0) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    stopped_ = spent.count() > time_limit_s_;
  }
  return stopped_;
}

void Search::try_devices(size_t task, size_t placed, TimeNs last_start) {
  for (size_t d = 0; d < view_.devices() && !stopped_; ++d) {
    const TimeNs time = view_.time_ns(TaskId(task), d);
    bool duplicate = false;
    for (size_t e = 0; load_[d] == 0 && e < d; ++e) {
      duplicate = duplicate || (load_[e] == 0 && alike_[e] == alike_[d]);
    }
    if (time < 0 || duplicate) {
      continue;
    }
    const TimeNs start = std::max(available_[d], ready(task, d));
    if (start < last_start || start + tail_[task] >= best_makespan_) {
      continue;
    }
    const TimeNs old_available = available_[d];
    const TimeNs old_makespan = makespan_;
    now_[task] = {d, start, start + time};
    available_[d] = start + time;
    ++load_[d];
    makespan_ = std::max(makespan_, start + time);
    work_left_ -= view_.least_ns(TaskId(task));
    for (const Edge& edge : view_.graph().out_edges(TaskId(task))) {
      --pending_[edge.to.index()];
    }
    search(placed + 1, start);
    for (const Edge& edge : view_.graph().out_edges(TaskId(task))) {
      ++pending_[edge.to.index()];
    }
    work_left_ += view_.least_ns(TaskId(task));
    makespan_ = old_makespan;
    --load_[d];
    available_[d] = old_available;
    now_[task] = Placed();
  }
}

void Search::search(size_t placed, TimeNs last_start) {
  if (stopped_ || over_budget()) {
    return;
  }
  if (placed == view_.tasks()) {
    if (makespan_ < best_makespan_) {
      best_makespan_ = makespan_;
      best_ = now_;
    }
    return;
  }
  if (bound(last_start) >= best_makespan_) {
    return;
  }
  for (size_t task = 0; task < view_.tasks(); ++task) {
    if (now_[task].device == SIZE_MAX && pending_[task] == 0) {
      try_devices(task, placed, last_start);
    }
  }
}

StatusOr<Schedule> Search::run(const Schedule& start) {
  const size_t n = view_.tasks();
  find_alike_devices();
  tail_.assign(n, 0);
  pending_.assign(n, 0);
  for (size_t i = n; i-- > 0;) {
    for (const Edge& edge : view_.graph().out_edges(TaskId(i))) {
      tail_[i] = std::max(tail_[i], tail_[edge.to.index()]);
    }
    tail_[i] += view_.least_ns(TaskId(i));
    work_left_ += view_.least_ns(TaskId(i));
    pending_[i] = view_.graph().in_degree(TaskId(i));
  }
  now_.assign(n, Placed());
  available_.assign(view_.devices(), 0);
  load_.assign(view_.devices(), 0);
  best_makespan_ = start.planned_makespan_ns;
  search(0, 0);
  if (stopped_) {
    return failed(
        fmt::format("not proven within the budget ({} nodes searched); use a "
                    "smaller graph, fewer devices, or anneal",
                    nodes_));
  }
  if (best_.empty()) {
    return start;
  }
  // Starts ascend along the best sequence; ids break ties, which also puts a task that takes no
  // time before its successor.
  std::vector<TaskId> order(n);
  for (size_t i = 0; i < n; ++i) {
    order[i] = TaskId(i);
  }
  std::ranges::stable_sort(order, {}, [this](TaskId task) {
    return std::pair(best_[task.index()].start, best_[task.index()].finish);
  });
  PlanBuilder builder(view_, Slot::kAppend);
  for (const TaskId task : order) {
    builder.place_on(task, DeviceId(best_[task.index()].device));
  }
  return builder.finish();
}

class Optimal final : public StaticScheduler {
 public:
  explicit Optimal(const PolicyOptions& options) : options_(options) {}

  std::string_view name() const override { return "optimal"; }

  StatusOr<Schedule> plan(const SchedulingProblem& problem) override {
    DFSIM_ASSIGN_OR_RETURN(Schedule start, make_portfolio({})->plan(problem));
    if (problem.graph.task_count() == 0) {
      return start;
    }
    if (problem.graph.task_count() > kMaxTasks || problem.platform.devices.size() > kMaxDevices) {
      return invalid_input(fmt::format(
          "optimal: {} tasks on {} devices; it takes at most {} tasks "
          "and {} devices; use anneal or portfolio",
          problem.graph.task_count(), problem.platform.devices.size(), kMaxTasks, kMaxDevices));
    }
    const TaskView view(problem);
    const uint64_t nodes = options_.iterations > 0 ? options_.iterations : kDefaultNodes;
    return Search(view, nodes, options_.time_budget_s).run(start);
  }

 private:
  PolicyOptions options_;
};

}  // namespace

StaticPtr make_optimal(const PolicyOptions& options) { return std::make_unique<Optimal>(options); }

}  // namespace dfsim::inline schedulers::policies
