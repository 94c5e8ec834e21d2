// Joins small tasks into groups, lets the policy plan or decide, and simulates. The time that a
// policy takes is measured around its own calls alone.
#include "study/chain/policy_run.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "schedulers/planning/task_view.h"
#include "schedulers/small_tasks.h"

namespace dfsim::inline study {
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

// A policy that places groups, with the policy that it asks.
class OwnGroupedPolicy final : public OnlineScheduler {
 public:
  OwnGroupedPolicy(const SmallTaskGroups& groups, std::unique_ptr<OnlineScheduler> own)
      : own_(std::move(own)), grouped_(groups.online(*own_)) {}

  std::string_view name() const override { return own_->name(); }
  Status begin(const SchedulingProblem& problem) override { return grouped_->begin(problem); }
  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    grouped_->decide(view, newly_ready, decisions);
  }

 private:
  std::unique_ptr<OnlineScheduler> own_;
  std::unique_ptr<OnlineScheduler> grouped_;
};

// The simulated work: a plan of the whole problem, or a maker of online policies.
struct Prepared {
  std::unique_ptr<SmallTaskGroups> groups;
  std::optional<Schedule> plan;
  MakePolicy make_policy;
};

StatusOr<Prepared> prepare(const SchedulingProblem& problem, const PolicyInfo& policy,
                           const PolicyRunOptions& options) {
  DFSIM_RETURN_IF_ERROR(check_problem(problem));
  Prepared prepared;
  if (options.group_small_tasks && problem.platform.devices.size() > 1) {
    DFSIM_ASSIGN_OR_RETURN(prepared.groups, SmallTaskGroups::make(problem));
  }
  const SmallTaskGroups* groups = prepared.groups.get();
  if (policy.online()) {
    prepared.make_policy = [groups, &policy, &options]() -> std::unique_ptr<OnlineScheduler> {
      std::unique_ptr<OnlineScheduler> own = policy.make_online(options.policy);
      if (groups == nullptr) {
        return own;
      }
      return std::make_unique<OwnGroupedPolicy>(*groups, std::move(own));
    };
    return prepared;
  }
  DFSIM_ASSIGN_OR_RETURN(
      prepared.plan,
      policy.make_static(options.policy)->plan(groups == nullptr ? problem : groups->grouped()));
  if (groups != nullptr) {
    DFSIM_ASSIGN_OR_RETURN(prepared.plan, groups->expand(*prepared.plan));
  }
  return prepared;
}

}  // namespace

StatusOr<PolicyRun> run_policy(const SchedulingProblem& problem, const PolicyInfo& policy,
                               const PolicyRunOptions& options, SimListener* listener) {
  const SimInput input{problem.graph, problem.costs, problem.platform};
  const auto begin = Clock::now();
  DFSIM_ASSIGN_OR_RETURN(const Prepared prepared, prepare(problem, policy, options));
  PolicyRun run;
  run.planning_ms = ms_since(begin);
  if (prepared.plan.has_value()) {
    DFSIM_ASSIGN_OR_RETURN(run.result, simulate(input, *prepared.plan, options.sim, listener));
    return run;
  }
  const std::unique_ptr<OnlineScheduler> own = prepared.make_policy();
  TimedPolicy timed(*own);
  DFSIM_ASSIGN_OR_RETURN(run.result, simulate(input, timed, options.sim, listener));
  run.planning_ms += timed.spent_ms();
  return run;
}

StatusOr<RequestResult> run_policy_requests(const SchedulingProblem& problem,
                                            const PolicyInfo& policy,
                                            const PolicyRunOptions& options,
                                            const RequestOptions& requests) {
  const SimInput input{problem.graph, problem.costs, problem.platform};
  DFSIM_ASSIGN_OR_RETURN(const Prepared prepared, prepare(problem, policy, options));
  return prepared.plan.has_value()
             ? simulate_requests(input, *prepared.plan, requests, options.sim)
             : simulate_requests(input, prepared.make_policy, requests, options.sim);
}

StatusOr<RepeatResult> run_policy_repeatedly(const SchedulingProblem& problem,
                                             const PolicyInfo& policy,
                                             const PolicyRunOptions& options,
                                             const RepeatOptions& repeat) {
  const SimInput input{problem.graph, problem.costs, problem.platform};
  DFSIM_ASSIGN_OR_RETURN(const Prepared prepared, prepare(problem, policy, options));
  return prepared.plan.has_value()
             ? simulate_repeatedly(input, *prepared.plan, repeat, options.sim)
             : simulate_repeatedly(input, prepared.make_policy, repeat, options.sim);
}

}  // namespace dfsim::inline study
