// Checks of a static plan, and the host's order of dispatch.
#include "sim/engine/static_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "base/text.h"

namespace dfsim::inline sim {

namespace {

Status check_order(const SimInput& input, const Schedule& schedule,
                   const std::vector<uint32_t>& placement) {
  std::vector<uint8_t> seen(placement.size(), 0);
  size_t listed = 0;
  for (uint32_t d = 0; d < schedule.order.size(); ++d) {
    for (const TaskId task : schedule.order[d]) {
      if (task.index() >= placement.size() || placement[task.index()] != d ||
          seen[task.index()] != 0) {
        return invalid_input(fmt::format(
            "the schedule's order of '{}' lists task {}, which is listed twice or not placed there",
            printable(input.platform.devices[d].name), task.value()));
      }
      seen[task.index()] = 1;
    }
    listed += schedule.order[d].size();
  }
  if (listed != placement.size()) {
    return invalid_input(fmt::format("the schedule's orders list {} tasks; expected all {}", listed,
                                     placement.size()));
  }
  return ok_status();
}

// A topological order of dependencies and device orders together, earliest planned start first.
std::vector<uint32_t> order_by_planned_start(const ExecGraph& graph, const Schedule& schedule,
                                             const std::function<bool(uint32_t device)>& in_order) {
  const auto tasks = static_cast<uint32_t>(graph.task_count());
  std::vector<uint32_t> next_on_device(tasks, UINT32_MAX);
  std::vector<uint32_t> pending(tasks, 0);
  for (uint32_t d = 0; d < schedule.order.size(); ++d) {
    const std::vector<TaskId>& order = schedule.order[d];
    for (size_t i = 1; in_order(d) && i < order.size(); ++i) {
      next_on_device[order[i - 1].index()] = order[i].value();
      ++pending[order[i].index()];
    }
  }
  using Entry = std::tuple<TimeNs, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto settle = [&](uint32_t task) {
    if (pending[task] == 0) {
      ready.emplace(schedule.placements[task].planned_start_ns, task);
    }
  };
  for (uint32_t t = 0; t < tasks; ++t) {
    pending[t] += static_cast<uint32_t>(graph.in_degree(TaskId(t)));
    settle(t);
  }
  std::vector<uint32_t> sorted;
  sorted.reserve(tasks);
  while (!ready.empty()) {
    const uint32_t task = std::get<1>(ready.top());
    ready.pop();
    sorted.push_back(task);
    for (const Edge& edge : graph.out_edges(TaskId(task))) {
      --pending[edge.to.index()];
      settle(edge.to.value());
    }
    if (next_on_device[task] != UINT32_MAX) {
      --pending[next_on_device[task]];
      settle(next_on_device[task]);
    }
  }
  return sorted;
}

}  // namespace

StatusOr<std::vector<uint32_t>> planned_placement(const SimInput& input, const Schedule& schedule) {
  const auto& [graph, costs, platform] = input;
  if (schedule.placements.size() != graph.task_count() ||
      schedule.order.size() != platform.devices.size()) {
    return invalid_input(
        fmt::format("the schedule places {} tasks on {} devices; expected {} tasks on {} devices",
                    schedule.placements.size(), schedule.order.size(), graph.task_count(),
                    platform.devices.size()));
  }
  std::vector<uint32_t> placement(graph.task_count());
  for (uint32_t t = 0; t < placement.size(); ++t) {
    const DeviceId device = schedule.placements[t].device;
    if (device.index() >= platform.devices.size()) {
      return invalid_input(fmt::format("the schedule places task '{}' on device {} of {}",
                                       printable(graph.name(TaskId(t))), device.value(),
                                       platform.devices.size()));
    }
    if (!costs.feasible(graph.cost_row(TaskId(t)), device)) {
      return invalid_input(fmt::format("the schedule places task '{}' on '{}', which cannot run it",
                                       printable(graph.name(TaskId(t))),
                                       printable(platform.device(device).name)));
    }
    placement[t] = device.value();
  }
  DFSIM_RETURN_IF_ERROR(check_order(input, schedule, placement));
  return placement;
}

std::vector<uint32_t> host_program(const ExecGraph& graph, const Schedule& schedule,
                                   const std::function<bool(uint32_t device)>& in_order) {
  bool by_id = true;
  for (uint32_t d = 0; d < schedule.order.size() && by_id; ++d) {
    by_id = !in_order(d) || std::is_sorted(schedule.order[d].begin(), schedule.order[d].end());
  }
  if (!by_id) {
    return order_by_planned_start(graph, schedule, in_order);
  }
  std::vector<uint32_t> program(graph.task_count());
  std::iota(program.begin(), program.end(), 0U);
  return program;
}

}  // namespace dfsim::inline sim
