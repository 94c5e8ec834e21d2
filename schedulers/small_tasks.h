// Small tasks stay where their data is.
//
// A task is *small* when, on every device that can run it, it takes no longer than its largest
// input takes to reach any other device that can: moving it away cannot pay. A small task joins
// the group of its predecessors when they are all of one group that the same devices can run.
// Policies then place groups, and each group runs on one device. For DL graphs, whose activations,
// reshapes and the like outnumber the operators worth placing; graphs of scheduling research are
// left as they are.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers {

// A problem of groups. Invariants: groups ascend by their first task, which is the only one that
// depends on other groups; tasks in a group are ascending.
class SmallTaskGroups {
 public:
  // `problem` passed check_problem() and outlives this. O((tasks + edges) * devices^2).
  static StatusOr<std::unique_ptr<SmallTaskGroups>> make(const SchedulingProblem& problem);

  SchedulingProblem grouped() const {
    return {graph_, costs_, problem_.platform, problem_.comm, problem_.seed};
  }
  size_t group_count() const { return begin_.size() - 1; }
  TaskId group_of(TaskId task) const { return group_of_[task.index()]; }
  std::span<const TaskId> tasks_of(TaskId group) const {
    return {tasks_.data() + begin_[group.index()],
            begin_[group.index() + 1] - begin_[group.index()]};
  }
  // The data item of the ungrouped problem that one of the groups' is.
  DataId data_of(DataId grouped) const { return data_of_[grouped.index()]; }

  // A plan of groups as a plan of tasks. Error: kFailed when it is no plan of these groups.
  StatusOr<Schedule> expand(const Schedule& plan) const;
  // Runs `policy` on the groups: their first tasks are decided by it, the others follow.
  std::unique_ptr<OnlineScheduler> online(OnlineScheduler& policy) const;

 private:
  explicit SmallTaskGroups(const SchedulingProblem& problem) : problem_(problem) {}
  void find_groups();
  bool is_small(TaskId task) const;
  bool joins(TaskId task, TaskId group) const;
  Status build();
  void put_in_program_order(Schedule& schedule) const;

  SchedulingProblem problem_;
  ExecGraph graph_;
  CostTable costs_;
  std::vector<TaskId> group_of_;
  std::vector<size_t> begin_;  // by group, into tasks_
  std::vector<TaskId> tasks_;
  std::vector<DataId> data_of_;
};

}  // namespace dfsim::inline schedulers
