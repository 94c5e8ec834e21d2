// DONFL, the link-aware DONF (Lin, Li, Jia, Liu, An 2019, doi:10.1007/s11390-019-1962-4): weighted
// out-degree first, tasks decided when they become ready; transfers of a task are added up edge by
// edge, wait for their link, and both tasks and transfers go into gaps that are long enough.
#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "schedulers/planning/ready_queue.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

class DonflPlanner {
 public:
  explicit DonflPlanner(const TaskView& view)
      : view_(view),
        builder_(view, Slot::kInsert),
        links_(view.devices() * view.devices()),
        cursor_(view.devices()) {}

  Schedule plan();

 private:
  GapList& link(size_t from, size_t to) { return links_[from * view_.devices() + to]; }
  // When the inputs are on `device` if they start to move at `now`; takes the links if `commit`.
  TimeNs arrival(TaskId task, size_t device, TimeNs now, bool commit);
  TimeNs place(TaskId task, TimeNs now);

  const TaskView& view_;
  PlanBuilder builder_;
  std::vector<GapList> links_;
  std::vector<TimeNs> cursor_;  // per source: end of this task's transfers so far
};

TimeNs DonflPlanner::arrival(TaskId task, size_t device, TimeNs now, bool commit) {
  const ExecGraph& graph = view_.graph();
  std::ranges::fill(cursor_, now);
  TimeNs last = now;
  for (const uint32_t e : graph.in_edge_indices(task)) {
    const Edge& edge = graph.edges()[e];
    const DeviceId source = builder_.device(edge.from);
    const Bytes bytes = graph.edge_bytes(edge);
    if (source.index() == device || bytes == 0) {
      continue;
    }
    const TimeNs time = view_.problem().comm.transfer_ns(source, DeviceId(device), bytes);
    GapList& lane = link(source.index(), device);
    const TimeNs start = lane.first_fit(cursor_[source.index()], time);
    if (commit) {
      lane.occupy(start, time);
    }
    cursor_[source.index()] = start + time;
    last = std::max(last, start + time);
  }
  return last;
}

TimeNs DonflPlanner::place(TaskId task, TimeNs now) {
  PlanBuilder::Choice best;
  best.finish_ns = std::numeric_limits<TimeNs>::max();
  for (size_t d = 0; d < view_.devices(); ++d) {
    if (!view_.feasible(task, d)) {
      continue;
    }
    const TimeNs start = builder_.start_ns(task, d, arrival(task, d, now, false));
    if (start + view_.time_ns(task, d) < best.finish_ns) {
      best = {DeviceId(d), start, start + view_.time_ns(task, d)};
    }
  }
  arrival(task, best.device.index(), now, true);
  builder_.place(task, best);
  return best.finish_ns;
}

Schedule DonflPlanner::plan() {
  const ExecGraph& graph = view_.graph();
  std::vector<double> wod(view_.tasks(), 0.0);
  for (const Edge& edge : graph.edges()) {
    wod[edge.from.index()] += 1.0 / static_cast<double>(graph.in_degree(edge.to));
  }
  DependencyCounter counter(graph);
  TaskHeap ready;
  const auto push = [&](TaskId task) { ready.push(wod[task.index()], task); };
  using Finish = std::tuple<TimeNs, TaskId>;
  std::priority_queue<Finish, std::vector<Finish>, std::greater<>> running;
  counter.start(push);
  TimeNs now = 0;
  while (true) {
    while (!ready.empty()) {
      const TaskId task = ready.pop().task;
      running.emplace(place(task, now), task);
    }
    if (running.empty()) {
      return builder_.finish();
    }
    now = std::get<TimeNs>(running.top());
    while (!running.empty() && std::get<TimeNs>(running.top()) == now) {
      counter.done(std::get<TaskId>(running.top()), push);
      running.pop();
    }
  }
}

StatusOr<Schedule> plan_donfl(const TaskView& view) { return DonflPlanner(view).plan(); }

}  // namespace

StaticPtr make_donfl(const PolicyOptions&) { return static_policy("donfl", plan_donfl); }

}  // namespace dfsim::inline schedulers::policies
