#include "study/comparison/drawn_runs.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "schedulers/decision_cost.h"

namespace dfsim::inline study {

DecisionCharge charge_decisions(const SchedulingProblem& problem, const PolicyInfo& policy,
                                TimeNs look_ns, PolicyRunOptions& run) {
  const size_t tasks = problem.graph.task_count();
  if (look_ns == 0 || tasks == 0) {
    return {};
  }
  constexpr double kMostNs = 1e17;
  const double looks = decision_looks(policy, problem, run.policy);
  const auto all_ns =
      static_cast<TimeNs>(std::min(looks * static_cast<double>(look_ns), kMostNs) + 0.5);
  if (!policy.online()) {
    return {all_ns, all_ns};
  }
  run.sim.decision_ns = all_ns / static_cast<TimeNs>(tasks);
  return {all_ns, 0};
}

Status add_noise(ProblemInstance& instance, const NoiseOptions& noise) {
  constexpr double kNinetiethPercentile = 1.2815515655446004;
  bool any = false;
  for (uint32_t row = 0; row < instance.costs.rows(); ++row) {
    for (size_t d = 0; d < instance.costs.devices(); ++d) {
      OpCost& cost = instance.costs.at(row, DeviceId(d));
      if (noise.cv > 0 && cost.time_ns > 0) {
        const auto side = static_cast<TimeNs>(static_cast<double>(cost.time_ns) * noise.cv *
                                              kNinetiethPercentile);
        cost.low_ns = cost.time_ns - side;
        cost.high_ns = cost.time_ns + side;
      }
      any = any || (cost.time_ns > 0 && cost.high_ns > cost.low_ns);
    }
  }
  return any ? ok_status()
             : invalid_input(
                   "the times have no intervals to draw from; give their standard deviation as a "
                   "share of the time, such as --noise 0.1");
}

StatusOr<RepeatResult> run_with_noise(const SchedulingProblem& problem, const PolicyInfo& policy,
                                      const NoiseOptions& noise, const PolicyRunOptions& run,
                                      TimeNs planning_ns) {
  RepeatOptions repeat;
  repeat.runs = noise.runs;
  repeat.scope = noise.cv > 0 ? NoiseScope::kPerTask : NoiseScope::kPerOp;
  repeat.seed = problem.seed;
  repeat.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  DFSIM_ASSIGN_OR_RETURN(RepeatResult repeated,
                         run_policy_repeatedly(problem, policy, run, repeat));
  for (TimeNs& makespan : repeated.makespans_ns) {
    makespan += planning_ns;
  }
  repeated.mean_ns += static_cast<double>(planning_ns);
  for (TimeNs* const figure :
       {&repeated.min_ns, &repeated.p10_ns, &repeated.p50_ns, &repeated.p90_ns, &repeated.max_ns}) {
    *figure += planning_ns;
  }
  return repeated;
}

}  // namespace dfsim::inline study
