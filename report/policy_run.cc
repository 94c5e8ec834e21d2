#include "report/policy_run.h"

#include <chrono>
#include <memory>
#include <utility>

#include "schedulers/small_tasks.h"
#include "schedulers/task_view.h"

namespace dfsim {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Adds up the time an online policy spends deciding.
class TimedPolicy final : public OnlineScheduler {
 public:
  explicit TimedPolicy(OnlineScheduler& policy) : policy_(policy) {}

  double spent_ms() const { return spent_ms_; }
  std::string_view name() const override { return policy_.name(); }
  Status begin(const SchedulingProblem& problem) override {
    const auto begin = Clock::now();
    Status status = policy_.begin(problem);
    spent_ms_ += ms_since(begin);
    return status;
  }
  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    const auto begin = Clock::now();
    policy_.decide(view, newly_ready, decisions);
    spent_ms_ += ms_since(begin);
  }

 private:
  OnlineScheduler& policy_;
  double spent_ms_ = 0;
};

}  // namespace

StatusOr<PolicyRun> run_policy(const SchedulingProblem& problem, const PolicyInfo& policy,
                               const PolicyRunOptions& options, SimListener* listener) {
  DFSIM_RETURN_IF_ERROR(check_problem(problem));
  const SimInput input{problem.graph, problem.costs, problem.platform};
  const auto begin = Clock::now();
  std::unique_ptr<SmallTaskGroups> groups;
  if (options.group_small_tasks && problem.platform.devices.size() > 1) {
    DFSIM_ASSIGN_OR_RETURN(groups, SmallTaskGroups::make(problem));
  }
  PolicyRun run;
  if (policy.online()) {
    const std::unique_ptr<OnlineScheduler> own = policy.make_online(options.policy);
    const std::unique_ptr<OnlineScheduler> grouped =
        groups == nullptr ? nullptr : groups->online(*own);
    run.planning_ms = ms_since(begin);
    TimedPolicy timed(grouped == nullptr ? *own : *grouped);
    DFSIM_ASSIGN_OR_RETURN(run.result, simulate(input, timed, options.sim, listener));
    run.planning_ms += timed.spent_ms();
    return run;
  }
  DFSIM_ASSIGN_OR_RETURN(
      Schedule schedule,
      policy.make_static(options.policy)->plan(groups == nullptr ? problem : groups->grouped()));
  if (groups != nullptr) {
    DFSIM_ASSIGN_OR_RETURN(schedule, groups->expand(schedule));
  }
  run.planning_ms = ms_since(begin);
  DFSIM_ASSIGN_OR_RETURN(run.result, simulate(input, schedule, options.sim, listener));
  return run;
}

}  // namespace dfsim
