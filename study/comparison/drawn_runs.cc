#include "study/comparison/drawn_runs.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "schedulers/decision_cost.h"

namespace dfsim::inline study {

TimeNs charge_decisions(const ProblemInstance& instance, const PolicyInfo& policy,
                        const CompareOptions& options, PolicyRunOptions& run,
                        PolicyOutcome& outcome) {
  const size_t tasks = instance.graph.task_count();
  if (options.charge_ns == 0 || tasks == 0) {
    return 0;
  }
  constexpr double kMostNs = 1e17;
  const double looks = decision_looks(policy, instance.problem(options.seed), options.policy);
  outcome.decisions_ns =
      static_cast<TimeNs>(std::min(looks * static_cast<double>(options.charge_ns), kMostNs) + 0.5);
  if (!policy.online()) {
    return outcome.decisions_ns;
  }
  run.sim.decision_ns = outcome.decisions_ns / static_cast<TimeNs>(tasks);
  return 0;
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

Status repeat_runs(const ProblemInstance& instance, const PolicyInfo& policy,
                   const CompareOptions& options, const PolicyRunOptions& run, TimeNs planning_ns,
                   PolicyOutcome& outcome) {
  RepeatOptions repeat;
  repeat.runs = options.noise.runs;
  repeat.scope = options.noise.cv > 0 ? NoiseScope::kPerTask : NoiseScope::kPerOp;
  repeat.seed = options.seed;
  repeat.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  DFSIM_ASSIGN_OR_RETURN(
      RepeatResult repeated,
      run_policy_repeatedly(instance.problem(options.seed), policy, run, repeat));
  for (TimeNs& makespan : repeated.makespans_ns) {
    makespan += planning_ns;
  }
  repeated.mean_ns += static_cast<double>(planning_ns);
  for (TimeNs* const figure :
       {&repeated.min_ns, &repeated.p10_ns, &repeated.p50_ns, &repeated.p90_ns, &repeated.max_ns}) {
    *figure += planning_ns;
  }
  outcome.repeated = std::move(repeated);
  return ok_status();
}

void count_wins(Comparison& comparison) {
  for (size_t run = 0; run < comparison.noise.runs; ++run) {
    TimeNs least = std::numeric_limits<TimeNs>::max();
    for (const PolicyOutcome& outcome : comparison.policies) {
      if (outcome.repeated.has_value()) {
        least = std::min(least, outcome.repeated->makespans_ns[run]);
      }
    }
    for (PolicyOutcome& outcome : comparison.policies) {
      if (outcome.repeated.has_value() && outcome.repeated->makespans_ns[run] == least) {
        outcome.win_share += 1.0 / static_cast<double>(comparison.noise.runs);
      }
    }
  }
}

}  // namespace dfsim::inline study
