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

namespace dfsim {

// Time to move data between devices when nothing else uses the links.
class CommModel {
 public:
  virtual ~CommModel() = default;
  // 0 when from == to. Nanoseconds, never negative.
  virtual TimeNs transfer_ns(DeviceId from, DeviceId to, Bytes bytes) const = 0;
  // Mean over ordered pairs of distinct devices; 0 for a single device.
  virtual TimeNs mean_transfer_ns(Bytes bytes) const = 0;
};

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

}  // namespace dfsim
