// What a comparison adds to single runs with given times: the cost of decisions, and runs with
// drawn times.
#pragma once

#include "base/status.h"
#include "schedulers/problem_instance.h"
#include "schedulers/registry.h"
#include "study/chain/policy_run.h"
#include "study/comparison/comparison.h"

namespace dfsim::inline study {

// Charges the policy for its decisions (CompareOptions::charge_ns): returns what a plan costs
// before the run, and sets in `run` what an online policy takes per task.
TimeNs charge_decisions(const ProblemInstance& instance, const PolicyInfo& policy,
                        const CompareOptions& options, PolicyRunOptions& run,
                        PolicyOutcome& outcome);

// Gives the costs the intervals that times are drawn from. Error (kInvalidInput): there are none.
Status add_noise(ProblemInstance& instance, const NoiseOptions& noise);
// The runs of one policy, `planning_ns` later each; `instance` has passed add_noise().
Status repeat_runs(const ProblemInstance& instance, const PolicyInfo& policy,
                   const CompareOptions& options, const PolicyRunOptions& run, TimeNs planning_ns,
                   PolicyOutcome& outcome);
// Counts for each policy in how many of the runs no other was faster.
void count_wins(Comparison& comparison);

}  // namespace dfsim::inline study
