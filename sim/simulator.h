// The simulator: executes a task graph on a platform, on a clock of integer nanoseconds.
//
// docs/reference/simulator.md describes the model. A run owns all of its state: many runs may go on
// in one process and in parallel threads as long as each has its own policy and listener. The same
// input gives the same result, bit by bit.
//
// Cost: O((tasks + edges) log(queues + routes)) with FIFO links; at most 200 bytes per task.
#pragma once

#include "base/status.h"
#include "schedulers/scheduler.h"
#include "sim/listener.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

// Runs the plan. The planned times are not used, only devices and orders.
// Errors: kInvalidInput (the plan does not fit the graph or the platform, or waits in a circle; a
// task that its device cannot run; no links between devices that exchange data; memory that can
// never fit), kFailed (memory overflow under kFail, or a deadlock of tasks waiting for memory).
StatusOr<SimResult> simulate(const SimInput& input, const Schedule& schedule,
                             const SimOptions& options = {}, SimListener* listener = nullptr);

// Asks the policy as the run goes on. Errors: as above, the policy's own, and kFailed when it makes
// an invalid decision or leaves ready tasks undecided.
StatusOr<SimResult> simulate(const SimInput& input, OnlineScheduler& policy,
                             const SimOptions& options = {}, SimListener* listener = nullptr);

// The plan that runs every task on one device in the order of ids.
Schedule single_device_schedule(const ExecGraph& graph, size_t devices, DeviceId device);

}  // namespace dfsim::inline sim
