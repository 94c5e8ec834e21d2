// TaskView: flat copies of what list schedulers ask for in their inner loops.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers {

// Errors (kInvalidInput): no devices; a cost table that does not fit; a task that no device can run
// (named).
Status check_problem(const SchedulingProblem& problem);

// Invariant: `problem` passed check_problem(). O(tasks + cost rows * devices).
class TaskView {
 public:
  explicit TaskView(const SchedulingProblem& problem);

  const SchedulingProblem& problem() const { return problem_; }
  const ExecGraph& graph() const { return problem_.graph; }
  size_t tasks() const { return problem_.graph.task_count(); }
  size_t devices() const { return devices_; }

  // Times of a task on all devices; CostTable::kInfeasible where it cannot run.
  const TimeNs* times(TaskId task) const {
    return times_.data() + problem_.graph.cost_row(task) * devices_;
  }
  TimeNs time_ns(TaskId task, size_t device) const { return times(task)[device]; }
  bool feasible(TaskId task, size_t device) const { return time_ns(task, device) >= 0; }
  // Over the devices that can run it.
  double mean_ns(TaskId task) const { return mean_[problem_.graph.cost_row(task)]; }
  TimeNs least_ns(TaskId task) const { return least_[problem_.graph.cost_row(task)]; }
  double median_ns(TaskId task) const;
  // The shortest time of any task on the device.
  TimeNs shortest_on(size_t device) const { return shortest_on_[device]; }

  double mean_comm_ns(const Edge& edge) const {
    return static_cast<double>(problem_.comm.mean_transfer_ns(problem_.graph.edge_bytes(edge)));
  }

 private:
  const SchedulingProblem& problem_;
  size_t devices_;
  std::vector<TimeNs> times_;
  std::vector<double> mean_;
  std::vector<TimeNs> least_;
  std::vector<TimeNs> shortest_on_;
};

// Largest critical path with each task on its fastest device and free communication, and total work
// over capacity (sum of least times / queues of all devices): no schedule can be shorter.
TimeNs makespan_lower_bound(const SchedulingProblem& problem);
// Just the first: the SLR's denominator (Topcuoglu, Hariri, Wu 2002).
TimeNs least_critical_path(const SchedulingProblem& problem);

}  // namespace dfsim::inline schedulers
