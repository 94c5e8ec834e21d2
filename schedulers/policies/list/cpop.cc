// CPoP (Topcuoglu, Hariri, Wu 2002, doi:10.1109/71.993206): priority = upward + downward rank; the
// tasks of the critical path all go to the one device that runs them fastest, the others to their
// earliest finish; into idle gaps.
#include <algorithm>
#include <limits>

#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/list/critical_path.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

// The ranks are sums in different orders, so equal priorities may differ in the last digits.
constexpr double kTolerance = 1e-9;

}  // namespace

std::vector<TaskId> critical_path(const TaskView& view, const std::vector<double>& priority) {
  TaskId task;
  for (size_t i = 0; i < view.tasks(); ++i) {
    const bool entry = view.graph().in_degree(TaskId(i)) == 0;
    if (entry && (!task.valid() || priority[i] > priority[task.index()])) {
      task = TaskId(i);
    }
  }
  const double least = priority[task.index()] * (1.0 - kTolerance);
  std::vector<TaskId> path;
  while (task.valid()) {
    path.push_back(task);
    TaskId next;
    for (const Edge& edge : view.graph().out_edges(task)) {
      if (priority[edge.to.index()] >= least) {
        next = edge.to;
        break;
      }
    }
    task = next;
  }
  return path;
}

size_t path_device(const TaskView& view, const std::vector<TaskId>& path) {
  size_t best = 0;
  double best_sum = std::numeric_limits<double>::infinity();
  for (size_t d = 0; d < view.devices(); ++d) {
    double sum = 0;
    bool runs_any = false;
    for (const TaskId task : path) {
      runs_any = runs_any || view.feasible(task, d);
      sum +=
          view.feasible(task, d) ? static_cast<double>(view.time_ns(task, d)) : view.mean_ns(task);
    }
    if (runs_any && sum < best_sum) {
      best = d;
      best_sum = sum;
    }
  }
  return best;
}

namespace {

StatusOr<Schedule> plan_cpop(const TaskView& view) {
  std::vector<double> priority = upward_rank(view);
  const std::vector<double> down = downward_rank(view);
  std::ranges::transform(priority, down, priority.begin(), std::plus<>());
  const std::vector<TaskId> path = critical_path(view, priority);
  const size_t device = path_device(view, path);
  std::vector<bool> on_path(view.tasks(), false);
  for (const TaskId task : path) {
    on_path[task.index()] = true;
  }
  PlanBuilder builder(view, Slot::kInsert);
  for_each_ready(view.graph(), priority, [&](TaskId task) {
    if (on_path[task.index()] && view.feasible(task, device)) {
      builder.place_on(task, DeviceId(device));
    } else {
      builder.place(task, builder.earliest_finish(task));
    }
  });
  return builder.finish();
}

}  // namespace

StaticPtr make_cpop(const PolicyOptions&) { return static_policy("cpop", plan_cpop); }

}  // namespace dfsim::inline schedulers::policies
