// Static plans: whether a plan can be run at all, and the order in which the host dispatches it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "schedulers/scheduler.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

// The device of each task. Errors: kInvalidInput when the plan does not place and list each task
// exactly once, on a device that can run it. Whether the orders wait in a circle only the run
// shows.
StatusOr<std::vector<uint32_t>> planned_placement(const SimInput& input, const Schedule& schedule);

// The tasks in the order in which the host dispatches them: by id where the orders of the devices
// agree with that; else a topological order of dependencies and device orders together, earliest
// planned start first. `in_order`: whether a device keeps to its order. O(tasks log tasks + edges).
// A plan that waits in a circle leaves out the tasks behind the circle; the run then reports it.
std::vector<uint32_t> host_program(const ExecGraph& graph, const Schedule& schedule,
                                   const std::function<bool(uint32_t device)>& in_order);

}  // namespace dfsim::inline sim
