// Flattens a SchedulingProblem into arrays by task and device, checked once, since list
// schedulers read them in their innermost loops.
#include "schedulers/planning/task_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace dfsim::inline schedulers {

Status check_problem(const SchedulingProblem& problem) {
  const CostTable& costs = problem.costs;
  if (problem.graph.task_count() == 0) {
    return ok_status();
  }
  if (problem.platform.devices.empty()) {
    return invalid_input(fmt::format("platform '{}' has no devices; expected at least one",
                                     printable(problem.platform.name)));
  }
  if (costs.devices() != problem.platform.devices.size()) {
    return invalid_input(fmt::format("the cost table has {} devices, the platform {}",
                                     costs.devices(), problem.platform.devices.size()));
  }
  std::vector<bool> runs(costs.rows(), false);
  for (uint32_t row = 0; row < costs.rows(); ++row) {
    for (size_t d = 0; d < costs.devices() && !runs[row]; ++d) {
      runs[row] = costs.feasible(row, DeviceId(d));
    }
  }
  for (size_t i = 0; i < problem.graph.task_count(); ++i) {
    const uint32_t row = problem.graph.cost_row(TaskId(i));
    if (row >= costs.rows()) {
      return invalid_input(fmt::format("task '{}' has cost row {}, but the table has {}",
                                       printable(problem.graph.name(TaskId(i))), row,
                                       costs.rows()));
    }
    if (!runs[row]) {
      return invalid_input(fmt::format(
          "task '{}' can run on none of the {} devices of '{}'; add a device that can, or change "
          "the task",
          printable(problem.graph.name(TaskId(i))), costs.devices(),
          printable(problem.platform.name)));
    }
  }
  return ok_status();
}

TaskView::TaskView(const SchedulingProblem& problem)
    : problem_(problem), devices_(problem.platform.devices.size()) {
  const size_t rows = devices_ == 0 ? 0 : problem.costs.rows();
  times_.resize(rows * devices_);
  mean_.resize(rows);
  least_.resize(rows);
  shortest_on_.assign(devices_, std::numeric_limits<TimeNs>::max());
  for (uint32_t row = 0; row < rows; ++row) {
    double sum = 0;
    size_t count = 0;
    TimeNs least = std::numeric_limits<TimeNs>::max();
    for (size_t d = 0; d < devices_; ++d) {
      const TimeNs time = problem.costs.time_ns(row, DeviceId(d));
      times_[row * devices_ + d] = time;
      if (time >= 0) {
        sum += static_cast<double>(time);
        ++count;
        least = std::min(least, time);
        shortest_on_[d] = std::min(shortest_on_[d], time);
      }
    }
    mean_[row] = count == 0 ? 0 : sum / static_cast<double>(count);
    least_[row] = least;
  }
}

double TaskView::median_ns(TaskId task) const {
  std::vector<TimeNs> feasible;
  for (size_t d = 0; d < devices_; ++d) {
    if (time_ns(task, d) >= 0) {
      feasible.push_back(time_ns(task, d));
    }
  }
  std::sort(feasible.begin(), feasible.end());
  const size_t middle = feasible.size() / 2;
  const auto upper = static_cast<double>(feasible[middle]);
  return feasible.size() % 2 == 1 ? upper
                                  : (upper + static_cast<double>(feasible[middle - 1])) / 2.0;
}

TimeNs least_critical_path(const SchedulingProblem& problem) {
  const TaskView view(problem);
  std::vector<TimeNs> to_exit(view.tasks(), 0);
  TimeNs longest = 0;
  for (size_t i = view.tasks(); i-- > 0;) {
    for (const Edge& edge : view.graph().out_edges(TaskId(i))) {
      to_exit[i] = std::max(to_exit[i], to_exit[edge.to.index()]);
    }
    to_exit[i] += view.least_ns(TaskId(i));
    longest = std::max(longest, to_exit[i]);
  }
  return longest;
}

TimeNs makespan_lower_bound(const SchedulingProblem& problem) {
  const TaskView view(problem);
  if (view.tasks() == 0) {
    return 0;
  }
  TimeNs work = 0;
  for (size_t i = 0; i < view.tasks(); ++i) {
    work += view.least_ns(TaskId(i));
  }
  TimeNs queues = 0;
  for (const DeviceSpec& device : problem.platform.devices) {
    queues += queues_in_use(device, problem.platform.runtime);
  }
  return std::max(least_critical_path(problem), (work + queues - 1) / queues);
}

}  // namespace dfsim::inline schedulers
