#include "tests/schedulers/check_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dfsim::testing {
namespace {

std::string check_task(const SchedulingProblem& problem, const Schedule& schedule, size_t i) {
  const Placement& place = schedule.placements[i];
  const TaskId task(i);
  if (!place.device.valid() || place.device.index() >= problem.platform.devices.size()) {
    return fmt::format("task {} has no device", i);
  }
  const TimeNs time = problem.costs.time_ns(problem.graph.cost_row(task), place.device);
  if (time < 0 || place.planned_finish_ns - place.planned_start_ns != time ||
      place.planned_start_ns < 0) {
    return fmt::format("task {} runs from {} to {} on device {}, where it takes {}", i,
                       place.planned_start_ns, place.planned_finish_ns, place.device.value(), time);
  }
  for (const Edge& edge : problem.graph.edges()) {
    if (edge.to != task) {
      continue;
    }
    const Placement& from = schedule.placements[edge.from.index()];
    const Bytes bytes = problem.graph.edge_bytes(edge);
    const TimeNs moved = from.device == place.device
                             ? 0
                             : problem.comm.transfer_ns(from.device, place.device, bytes);
    if (place.planned_start_ns < from.planned_finish_ns + moved) {
      return fmt::format("task {} starts at {}, its data from {} comes at {}", i,
                         place.planned_start_ns, edge.from.value(), from.planned_finish_ns + moved);
    }
  }
  return "";
}

std::string check_device(const Schedule& schedule, size_t device, std::vector<int>& seen) {
  TimeNs free_from = 0;
  for (const TaskId task : schedule.order[device]) {
    const Placement& place = schedule.placements[task.index()];
    ++seen[task.index()];
    if (place.device.index() != device) {
      return fmt::format("task {} is in the order of device {}, but placed on {}", task.value(),
                         device, place.device.value());
    }
    if (place.planned_start_ns < free_from) {
      return fmt::format("task {} starts at {} on device {}, which is busy until {}", task.value(),
                         place.planned_start_ns, device, free_from);
    }
    free_from = place.planned_finish_ns;
  }
  return "";
}

// Executes the orders: each device runs its next task once all predecessors have run.
bool orders_can_run(const SchedulingProblem& problem, const Schedule& schedule) {
  std::vector<size_t> head(schedule.order.size(), 0);
  std::vector<bool> done(problem.graph.task_count(), false);
  size_t count = 0;
  bool progress = true;
  while (progress) {
    progress = false;
    for (size_t d = 0; d < head.size(); ++d) {
      while (head[d] < schedule.order[d].size()) {
        const TaskId task = schedule.order[d][head[d]];
        bool ready = true;
        for (const uint32_t e : problem.graph.in_edge_indices(task)) {
          ready = ready && done[problem.graph.edges()[e].from.index()];
        }
        if (!ready) {
          break;
        }
        done[task.index()] = true;
        ++head[d];
        ++count;
        progress = true;
      }
    }
  }
  return count == problem.graph.task_count();
}

TimeNs lower_bound(const SchedulingProblem& problem) {
  const size_t n = problem.graph.task_count();
  std::vector<TimeNs> finish(n, 0);
  TimeNs longest = 0;
  TimeNs work = 0;
  for (size_t i = 0; i < n; ++i) {
    TimeNs least = -1;
    for (size_t d = 0; d < problem.platform.devices.size(); ++d) {
      const TimeNs time = problem.costs.time_ns(problem.graph.cost_row(TaskId(i)), DeviceId(d));
      least = time >= 0 && (least < 0 || time < least) ? time : least;
    }
    for (const uint32_t e : problem.graph.in_edge_indices(TaskId(i))) {
      finish[i] = std::max(finish[i], finish[problem.graph.edges()[e].from.index()]);
    }
    finish[i] += least;
    work += least;
    longest = std::max(longest, finish[i]);
  }
  const auto devices = static_cast<TimeNs>(problem.platform.devices.size());
  return n == 0 ? 0 : std::max(longest, (work + devices - 1) / devices);
}

}  // namespace

std::string check_schedule(const SchedulingProblem& problem, const Schedule& schedule) {
  const size_t n = problem.graph.task_count();
  if (schedule.placements.size() != n || schedule.order.size() != problem.platform.devices.size()) {
    return fmt::format("{} placements for {} tasks, {} orders for {} devices",
                       schedule.placements.size(), n, schedule.order.size(),
                       problem.platform.devices.size());
  }
  TimeNs last = 0;
  std::string wrong;
  for (size_t i = 0; i < n && wrong.empty(); ++i) {
    wrong = check_task(problem, schedule, i);
    last = std::max(last, schedule.placements[i].planned_finish_ns);
  }
  std::vector<int> seen(n, 0);
  for (size_t d = 0; d < schedule.order.size() && wrong.empty(); ++d) {
    wrong = check_device(schedule, d, seen);
  }
  for (size_t i = 0; i < n && wrong.empty(); ++i) {
    wrong = seen[i] == 1 ? "" : fmt::format("task {} is in the orders {} times", i, seen[i]);
  }
  if (!wrong.empty()) {
    return wrong;
  }
  if (!orders_can_run(problem, schedule)) {
    return "the orders wait for each other in a circle";
  }
  if (schedule.planned_makespan_ns != last || last < lower_bound(problem)) {
    return fmt::format("makespan {}, last finish {}, lower bound {}", schedule.planned_makespan_ns,
                       last, lower_bound(problem));
  }
  return "";
}

}  // namespace dfsim::testing
