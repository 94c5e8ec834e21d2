// Finds groups of small tasks, builds the problem of the groups, and translates between both:
// plans are expanded task by task, and online policies see groups become ready when the first
// task of a group does.
#include "schedulers/small_tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace dfsim::inline schedulers {
namespace {

// A run of the ungrouped problem as the policy of groups sees it.
class GroupedView final : public OnlineView {
 public:
  GroupedView(const SmallTaskGroups& groups, const OnlineView& view,
              const std::vector<TimeNs>& followers_ns, const std::vector<size_t>& followers)
      : groups_(groups), view_(view), followers_ns_(followers_ns), followers_(followers) {}

  TimeNs now_ns() const override { return view_.now_ns(); }
  TimeNs available_ns(DeviceId device) const override {
    return view_.available_ns(device) + followers_ns_[device.index()];
  }
  size_t unfinished_tasks(DeviceId device) const override {
    return view_.unfinished_tasks(device) + followers_[device.index()];
  }
  Bytes free_bytes(DeviceId device) const override { return view_.free_bytes(device); }
  bool has_data(DataId data, DeviceId device) const override {
    return view_.has_data(groups_.data_of(data), device);
  }
  DeviceId device_of(TaskId group) const override {
    return view_.device_of(groups_.tasks_of(group).front());
  }

 private:
  const SmallTaskGroups& groups_;
  const OnlineView& view_;
  const std::vector<TimeNs>& followers_ns_;
  const std::vector<size_t>& followers_;
};

class GroupedPolicy final : public OnlineScheduler {
 public:
  GroupedPolicy(const SmallTaskGroups& groups, OnlineScheduler& policy)
      : groups_(groups), policy_(policy), grouped_(groups.grouped()) {}

  std::string_view name() const override { return policy_.name(); }

  Status begin(const SchedulingProblem& problem) override {
    problem_ = &problem;
    grouped_.seed = problem.seed;
    return policy_.begin(grouped_);
  }

  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    // Decided in this call: the simulator does not count them yet.
    followers_.assign(problem_->platform.devices.size(), 0);
    followers_ns_.assign(followers_.size(), 0);
    ready_groups_.clear();
    for (const TaskId task : newly_ready) {
      const TaskId group = groups_.group_of(task);
      const TaskId first = groups_.tasks_of(group).front();
      if (task == first) {
        ready_groups_.push_back(group);
        continue;
      }
      const DeviceId device = view.device_of(first);
      decisions.push_back({task, device});
      ++followers_[device.index()];
      followers_ns_[device.index()] +=
          problem_->costs.time_ns(problem_->graph.cost_row(task), device);
    }
    const size_t own = decisions.size();
    policy_.decide(GroupedView(groups_, view, followers_ns_, followers_), ready_groups_, decisions);
    for (size_t i = own; i < decisions.size(); ++i) {
      // The simulator refuses tasks that do not exist.
      if (decisions[i].task.index() < groups_.group_count()) {
        decisions[i].task = groups_.tasks_of(decisions[i].task).front();
      }
    }
  }

 private:
  const SmallTaskGroups& groups_;
  OnlineScheduler& policy_;
  SchedulingProblem grouped_;
  const SchedulingProblem* problem_ = nullptr;
  std::vector<TaskId> ready_groups_;
  std::vector<size_t> followers_;
  std::vector<TimeNs> followers_ns_;
};

}  // namespace

StatusOr<std::unique_ptr<SmallTaskGroups>> SmallTaskGroups::make(const SchedulingProblem& problem) {
  std::unique_ptr<SmallTaskGroups> groups(new SmallTaskGroups(problem));
  groups->find_groups();
  DFSIM_RETURN_IF_ERROR(groups->build());
  return groups;
}

bool SmallTaskGroups::is_small(TaskId task) const {
  const ExecGraph& graph = problem_.graph;
  Bytes largest = 0;
  for (const uint32_t e : graph.in_edge_indices(task)) {
    largest = std::max(largest, graph.edge_bytes(graph.edges()[e]));
  }
  const uint32_t row = graph.cost_row(task);
  const size_t devices = problem_.platform.devices.size();
  for (size_t from = 0; from < devices; ++from) {
    const TimeNs time = problem_.costs.time_ns(row, DeviceId(from));
    for (size_t to = 0; time >= 0 && to < devices; ++to) {
      if (to != from && problem_.costs.feasible(row, DeviceId(to)) &&
          problem_.comm.transfer_ns(DeviceId(from), DeviceId(to), largest) < time) {
        return false;
      }
    }
  }
  return true;
}

bool SmallTaskGroups::joins(TaskId task, TaskId group) const {
  const ExecGraph& graph = problem_.graph;
  for (const uint32_t e : graph.in_edge_indices(task)) {
    if (group_of_[graph.edges()[e].from.index()] != group) {
      return false;
    }
  }
  const uint32_t row = graph.cost_row(task);
  const uint32_t first_row = graph.cost_row(tasks_[group.index()]);
  for (size_t d = 0; d < problem_.platform.devices.size(); ++d) {
    if (problem_.costs.feasible(row, DeviceId(d)) !=
        problem_.costs.feasible(first_row, DeviceId(d))) {
      return false;
    }
  }
  return is_small(task);
}

// Leaves the groups in group_of_ and their tasks, group by group, in tasks_.
void SmallTaskGroups::find_groups() {
  const ExecGraph& graph = problem_.graph;
  const size_t tasks = graph.task_count();
  group_of_.resize(tasks);
  for (size_t t = 0; t < tasks; ++t) {
    const TaskId task(t);
    const auto inputs = graph.in_edge_indices(task);
    if (!inputs.empty()) {
      const TaskId group = group_of_[graph.edges()[inputs[0]].from.index()];
      if (joins(task, group)) {
        group_of_[t] = group;
        continue;
      }
    }
    group_of_[t] = TaskId(tasks_.size());
    tasks_.push_back(task);  // for now: the first task of each group
  }
  begin_.assign(tasks_.size() + 1, 0);
  for (const TaskId group : group_of_) {
    ++begin_[group.index() + 1];
  }
  for (size_t g = 1; g < begin_.size(); ++g) {
    begin_[g] += begin_[g - 1];
  }
  std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
  tasks_.resize(tasks);
  for (size_t t = 0; t < tasks; ++t) {
    tasks_[next[group_of_[t].index()]++] = TaskId(t);
  }
}

Status SmallTaskGroups::build() {
  const ExecGraph& graph = problem_.graph;
  const size_t devices = problem_.platform.devices.size();
  ExecGraphBuilder builder;
  costs_ = CostTable(group_count(), devices);
  for (size_t g = 0; g < group_count(); ++g) {
    ExecGraphBuilder::Task group;
    group.cost_row = static_cast<uint32_t>(g);
    const std::span<const TaskId> tasks = tasks_of(TaskId(g));
    group.name = graph.name(tasks.front());
    for (const TaskId task : tasks) {
      group.resident_bytes += graph.resident_bytes(task);
      group.workspace_bytes = std::max(group.workspace_bytes, graph.workspace_bytes(task));
    }
    builder.add_task(std::move(group));
    for (size_t d = 0; d < devices; ++d) {
      OpCost& cost = costs_.at(static_cast<uint32_t>(g), DeviceId(d));
      for (const TaskId task : tasks) {
        const TimeNs time = problem_.costs.time_ns(graph.cost_row(task), DeviceId(d));
        cost.time_ns = time < 0 ? CostTable::kInfeasible : cost.time_ns + time;
      }
      cost.low_ns = cost.high_ns = cost.time_ns;
    }
  }
  std::vector<DataId> grouped(graph.data_count());
  for (const Edge& edge : graph.edges()) {
    const TaskId from = group_of_[edge.from.index()];
    const TaskId to = group_of_[edge.to.index()];
    if (from == to) {
      continue;
    }
    DataId& data = grouped[edge.data.index()];
    if (!data.valid()) {
      data = builder.add_data(from, graph.data_bytes(edge.data), graph.data_is_output(edge.data));
      data_of_.push_back(edge.data);
    }
    builder.add_edge(data, to);
  }
  std::vector<uint32_t> order;
  DFSIM_ASSIGN_OR_RETURN(graph_, builder.build(&order));
  // Groups were added in topological order, so none was moved.
  DFSIM_CHECK(std::ranges::is_sorted(order));
  return ok_status();
}

// Each task after those of smaller ids on its device.
void SmallTaskGroups::put_in_program_order(Schedule& schedule) const {
  const ExecGraph& graph = problem_.graph;
  std::vector<TimeNs> available(schedule.order.size(), 0);
  schedule.planned_makespan_ns = 0;
  for (size_t t = 0; t < graph.task_count(); ++t) {
    Placement& placement = schedule.placements[t];
    TimeNs start = available[placement.device.index()];
    for (const uint32_t e : graph.in_edge_indices(TaskId(t))) {
      const Edge& edge = graph.edges()[e];
      const Placement& from = schedule.placements[edge.from.index()];
      const Bytes bytes = graph.edge_bytes(edge);
      start = std::max(
          start,
          from.planned_finish_ns +
              (bytes == 0 ? 0 : problem_.comm.transfer_ns(from.device, placement.device, bytes)));
    }
    placement.planned_start_ns = start;
    placement.planned_finish_ns =
        start + problem_.costs.time_ns(graph.cost_row(TaskId(t)), placement.device);
    available[placement.device.index()] = placement.planned_finish_ns;
    schedule.planned_makespan_ns =
        std::max(schedule.planned_makespan_ns, placement.planned_finish_ns);
  }
  for (std::vector<TaskId>& order : schedule.order) {
    std::ranges::sort(order);
  }
}

StatusOr<Schedule> SmallTaskGroups::expand(const Schedule& plan) const {
  if (plan.placements.size() != group_count() ||
      plan.order.size() != problem_.platform.devices.size()) {
    return failed(fmt::format("the plan has {} tasks on {} devices, expected {} on {}",
                              plan.placements.size(), plan.order.size(), group_count(),
                              problem_.platform.devices.size()));
  }
  // A plan in program order stays in program order, which admits every execution. In other plans
  // the tasks of a group follow each other: a device that took a group's later tasks after another
  // group could wait in a circle.
  const bool program_order = std::ranges::all_of(
      plan.order, [](const std::vector<TaskId>& order) { return std::ranges::is_sorted(order); });
  Schedule schedule;
  schedule.planned_makespan_ns = plan.planned_makespan_ns;
  schedule.placements.resize(group_of_.size());
  size_t placed = 0;
  schedule.order.resize(plan.order.size());
  for (size_t d = 0; d < plan.order.size(); ++d) {
    for (const TaskId group : plan.order[d]) {
      if (group.index() >= group_count()) {
        return failed(
            fmt::format("the plan has task {}, but there are {}", group.value(), group_count()));
      }
      ++placed;
      TimeNs start = plan.placements[group.index()].planned_start_ns;
      for (const TaskId task : tasks_of(group)) {
        const TimeNs end =
            start + problem_.costs.time_ns(problem_.graph.cost_row(task), DeviceId(d));
        schedule.placements[task.index()] = {DeviceId(d), start, end};
        schedule.order[d].push_back(task);
        start = end;
      }
    }
  }
  if (placed != group_count()) {
    return failed(fmt::format("the plan orders {} tasks, but there are {}", placed, group_count()));
  }
  if (program_order) {
    put_in_program_order(schedule);
  }
  return schedule;
}

std::unique_ptr<OnlineScheduler> SmallTaskGroups::online(OnlineScheduler& policy) const {
  return std::make_unique<GroupedPolicy>(*this, policy);
}

}  // namespace dfsim::inline schedulers
