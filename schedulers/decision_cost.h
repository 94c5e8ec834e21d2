// How much a scheduler looks at to decide, as a model of the time that it takes: the same on every
// machine, so that a makespan may count it.
#pragma once

#include "schedulers/policy_options.h"
#include "schedulers/registry.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers {

// Looks of the policy at a task on a device, or at an input, for all n tasks, e edges and D
// devices: n for policies that take devices in turn, n D for those that compare times, n D + e for
// those that estimate finishes, twice that and e D for those with a table of the future, n D + e (1
// + D^2) for those that look at the readers, and n D + e + n w where w is the mean number of ready
// tasks (n / tasks of the longest path) for those that compare all ready tasks. Searches look at
// whole plans: n D + e for each of their steps (PolicyOptions::iterations, else 1000) or members.
double decision_looks(const PolicyInfo& policy, const SchedulingProblem& problem,
                      const PolicyOptions& options);

}  // namespace dfsim::inline schedulers
