// One policy on one problem in the simulator: a plan made and run, or an online policy asked.
#pragma once

#include "base/status.h"
#include "schedulers/registry.h"
#include "schedulers/scheduler.h"
#include "sim/repeat.h"
#include "sim/requests.h"
#include "sim/simulator.h"

namespace dfsim::inline study {

struct PolicyRun {
  SimResult result;
  double planning_ms = 0;  // wall time of planning; of all decisions for online policies
};

struct PolicyRunOptions {
  PolicyOptions policy;
  SimOptions sim;
  // Place groups of small tasks as one (schedulers/small_tasks.h).
  bool group_small_tasks = false;
};

// Errors: those of the policy and of simulate().
StatusOr<PolicyRun> run_policy(const SchedulingProblem& problem, const PolicyInfo& policy,
                               const PolicyRunOptions& options, SimListener* listener = nullptr);

// Under a static policy all requests and repetitions run one plan; under an online one each has a
// policy of its own (sim/requests.h, sim/repeat.h).
StatusOr<RequestResult> run_policy_requests(const SchedulingProblem& problem,
                                            const PolicyInfo& policy,
                                            const PolicyRunOptions& options,
                                            const RequestOptions& requests,
                                            SimListener* listener = nullptr);
StatusOr<RepeatResult> run_policy_repeatedly(const SchedulingProblem& problem,
                                             const PolicyInfo& policy,
                                             const PolicyRunOptions& options,
                                             const RepeatOptions& repeat);

}  // namespace dfsim::inline study
