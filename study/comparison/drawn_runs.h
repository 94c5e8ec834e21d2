// Parts of a comparison beyond single runs with given times: the cost of decisions, and runs with
// drawn times.
#pragma once

#include "base/status.h"
#include "base/units.h"
#include "schedulers/problem_instance.h"
#include "schedulers/registry.h"
#include "sim/repeat.h"
#include "study/chain/policy_run.h"
#include "study/comparison/noise_options.h"

namespace dfsim::inline study {

// A policy's charge for its decisions.
struct DecisionCharge {
  TimeNs all_ns = 0;       // for all tasks
  TimeNs planning_ns = 0;  // of it, before the run: all for a plan, nothing for an online policy
};

// The charge at `look_ns` per look (schedulers/decision_cost.h); sets in `run` how long an online
// policy thinks per task. O(tasks + edges).
DecisionCharge charge_decisions(const SchedulingProblem& problem, const PolicyInfo& policy,
                                TimeNs look_ns, PolicyRunOptions& run);

// Gives the costs the intervals that times are drawn from. Error (kInvalidInput): there are none.
Status add_noise(ProblemInstance& instance, const NoiseOptions& noise);
// The runs of one policy, `planning_ns` later each; the problem's costs have passed add_noise().
StatusOr<RepeatResult> run_with_noise(const SchedulingProblem& problem, const PolicyInfo& policy,
                                      const NoiseOptions& noise, const PolicyRunOptions& run,
                                      TimeNs planning_ns);

}  // namespace dfsim::inline study
