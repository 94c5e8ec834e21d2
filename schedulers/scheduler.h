// Scheduler: decides which device runs which task, and in what order.
//
// Two kinds behind one interface. A *static* policy plans everything before the run. An *online*
// policy is asked by the simulator each time tasks are ready. Both see read-only views and are
// deterministic: ties end in the smaller id.
//
// To add a policy: one file with the class in its .cc, one line in registry.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"
#include "graphs/ir/exec_graph.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "schedulers/comm_model.h"

namespace dfsim::inline schedulers {

// Everything a policy may look at. References outlive the scheduler.
struct SchedulingProblem {
  const ExecGraph& graph;
  const CostTable& costs;
  const Platform& platform;
  const CommModel& comm;
  uint64_t seed = 0;
};

struct Placement {
  DeviceId device;
  TimeNs planned_start_ns = 0;
  TimeNs planned_finish_ns = 0;
};

// A whole plan. Invariants: placements.size() == tasks; each device's order holds exactly the tasks
// placed there, and the orders together admit an execution (no circular wait).
struct Schedule {
  std::vector<Placement> placements;
  std::vector<std::vector<TaskId>> order;  // per device
  TimeNs planned_makespan_ns = 0;
};

class StaticScheduler {
 public:
  virtual ~StaticScheduler() = default;
  virtual std::string_view name() const = 0;
  // Errors: kInvalidInput (a task that no device can run, memory that can never fit).
  virtual StatusOr<Schedule> plan(const SchedulingProblem& problem) = 0;
};

// An online policy's view of a running simulation. Valid only during the call it is passed to.
class OnlineView {
 public:
  virtual ~OnlineView() = default;
  virtual TimeNs now_ns() const = 0;
  // When a task appended to the device now could start at the earliest, if no task there had to
  // wait for data: now or later. O(queues of the device).
  virtual TimeNs available_ns(DeviceId device) const = 0;
  // Tasks decided for the device that have not finished, those of other requests in flight too.
  virtual size_t unfinished_tasks(DeviceId device) const = 0;
  // Bytes not allocated now; INT64_MAX when the device's memory is not limited or not simulated.
  // Tasks decided but not started have not allocated their outputs yet.
  virtual Bytes free_bytes(DeviceId device) const = 0;
  // The device holds the whole data item now (a copy in flight does not count).
  virtual bool has_data(DataId data, DeviceId device) const = 0;
  // The device the task was decided for; none while undecided.
  virtual DeviceId device_of(TaskId task) const = 0;
};

struct Decision {
  TaskId task;
  DeviceId device;
  // The task goes ahead of so many that were decided for the device before, counted from the last;
  // never ahead of one that has started. Devices whose tasks the host dispatches into a queue, and
  // those that take the first ready task, ignore it.
  uint32_t passes = 0;
};

// Decides during the run. A task is ready when its last predecessor has finished; its inputs then
// start to move as soon as it is decided. A device runs its tasks in the order of the decisions,
// apart from those that pass others.
class OnlineScheduler {
 public:
  virtual ~OnlineScheduler() = default;
  virtual std::string_view name() const = 0;
  // Before each run or request; forgets the last. `problem` outlives all. Errors: kInvalidInput.
  virtual Status begin(const SchedulingProblem& problem) = 0;
  // Called after all events of an instant at which tasks became ready or a task finished.
  // `newly_ready`: the tasks that became ready since the last call, ascending; each is passed once.
  // Appends decisions for any of the ready tasks; those it holds back it keeps itself and may
  // decide in a later call. The simulator checks each decision (ready, undecided, feasible); when
  // nothing is running any more and ready tasks are still held back, the run fails.
  virtual void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
                      std::vector<Decision>& decisions) = 0;
};

}  // namespace dfsim::inline schedulers
