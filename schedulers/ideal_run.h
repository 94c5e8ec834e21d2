// Runs an online policy on an ideal machine: transfers take their idle time and never disturb each
// other, one task at a time per device, no host cost. Gives the plan that the policy ends up with.
//
// For comparing policies by their papers' model, for portfolios, and for tests; the simulator in
// sim/ runs the same policies on a machine with real contention.
#pragma once

#include "base/status.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers {

// Errors: the policy's own; kFailed when it makes an invalid decision or leaves ready tasks
// undecided with nothing running. O((tasks + edges) * devices) and the policy's cost.
StatusOr<Schedule> ideal_run(const SchedulingProblem& problem, OnlineScheduler& policy);

}  // namespace dfsim::inline schedulers
