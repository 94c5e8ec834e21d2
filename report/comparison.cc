#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "report/chrome_trace.h"
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
  explicit TimedPolicy(std::unique_ptr<OnlineScheduler> policy) : policy_(std::move(policy)) {}

  double spent_ms() const { return spent_ms_; }
  std::string_view name() const override { return policy_->name(); }
  Status begin(const SchedulingProblem& problem) override {
    const auto begin = Clock::now();
    Status status = policy_->begin(problem);
    spent_ms_ += ms_since(begin);
    return status;
  }
  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    const auto begin = Clock::now();
    policy_->decide(view, newly_ready, decisions);
    spent_ms_ += ms_since(begin);
  }

 private:
  std::unique_ptr<OnlineScheduler> policy_;
  double spent_ms_ = 0;
};

StatusOr<SimResult> run_policy(const ProblemInstance& instance, const PolicyInfo& policy,
                               const CompareOptions& options, SimListener* listener,
                               double& schedule_time_ms) {
  const SimInput input{instance.graph, instance.costs, instance.platform};
  SimOptions sim_options;
  sim_options.seed = options.seed;
  if (policy.online()) {
    TimedPolicy timed(policy.make_online(options.policy));
    auto result = simulate(input, timed, sim_options, listener);
    schedule_time_ms = timed.spent_ms();
    return result;
  }
  const auto begin = Clock::now();
  auto schedule = policy.make_static(options.policy)->plan(instance.problem(options.seed));
  schedule_time_ms = ms_since(begin);
  if (!schedule.ok()) {
    return schedule.status();
  }
  return simulate(input, *schedule, sim_options, listener);
}

StatusOr<PolicyOutcome> outcome_of(const ProblemInstance& instance, const PolicyInfo& policy,
                                   const CompareOptions& options) {
  PolicyOutcome outcome;
  outcome.name = policy.name;
  std::unique_ptr<ChromeTrace> trace;
  if (!options.trace_folder.empty()) {
    trace =
        ChromeTrace::create({instance.graph, instance.platform, nullptr, nullptr, &instance.costs});
  }
  auto result = run_policy(instance, policy, options, trace.get(), outcome.schedule_time_ms);
  if (!result.ok()) {
    outcome.status = result.status();
    return outcome;
  }
  outcome.result = std::move(*result);
  outcome.makespan_ns = outcome.result.makespan_ns;
  if (trace != nullptr) {
    const auto path = std::filesystem::path(options.trace_folder) /
                      fmt::format("{}.{}.json", printable(instance.graph_name, 120), policy.name);
    DFSIM_RETURN_IF_ERROR(write_file(path.string(), trace->finish()));
  }
  return outcome;
}

double ratio(TimeNs a, TimeNs b) {
  return b == 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(b);
}

void derive(Comparison& comparison) {
  std::ranges::stable_sort(comparison.policies, [](const auto& a, const auto& b) {
    return std::tuple(!a.status.ok(), a.makespan_ns, std::string_view(a.name)) <
           std::tuple(!b.status.ok(), b.makespan_ns, std::string_view(b.name));
  });
  for (PolicyOutcome& outcome : comparison.policies) {
    if (!outcome.status.ok()) {
      continue;
    }
    outcome.ratio_to_best = ratio(outcome.makespan_ns, comparison.policies.front().makespan_ns);
    outcome.gap_to_bound = ratio(outcome.makespan_ns, comparison.lower_bound_ns) - 1;
    outcome.slr = ratio(outcome.makespan_ns, comparison.critical_path_ns);
    outcome.speedup = ratio(comparison.single_device_ns, outcome.makespan_ns);
    outcome.efficiency =
        outcome.speedup / static_cast<double>(std::max<size_t>(1, comparison.devices.size()));
  }
}

}  // namespace

StatusOr<Comparison> compare_policies(const ProblemInstance& instance,
                                      const std::vector<const PolicyInfo*>& policies,
                                      const CompareOptions& options) {
  const SchedulingProblem problem = instance.problem(options.seed);
  DFSIM_RETURN_IF_ERROR(check_problem(problem));
  if (!options.trace_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.trace_folder, error);
    if (error) {
      return failed(
          fmt::format("{}: cannot be made a folder: {}", options.trace_folder, error.message()));
    }
  }
  Comparison comparison;
  comparison.graph = instance.graph_name;
  comparison.hardware = instance.hardware_name;
  comparison.tasks = instance.graph.task_count();
  comparison.edges = instance.graph.edge_count();
  comparison.unitless = instance.unitless;
  comparison.delays = instance.delays;
  for (const DeviceSpec& device : instance.platform.devices) {
    comparison.devices.push_back(device.name);
  }
  comparison.lower_bound_ns = makespan_lower_bound(problem);
  comparison.critical_path_ns = comparison.tasks == 0 ? 0 : least_critical_path(problem);
  const PolicyRegistry builtin;
  DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* single, builtin.find("best-single-device"));
  double unused_ms = 0;
  CompareOptions untraced = options;
  untraced.trace_folder.clear();
  DFSIM_ASSIGN_OR_RETURN(const SimResult alone,
                         run_policy(instance, *single, untraced, nullptr, unused_ms));
  comparison.single_device_ns = alone.makespan_ns;
  for (const PolicyInfo* policy : policies) {
    DFSIM_ASSIGN_OR_RETURN(PolicyOutcome outcome, outcome_of(instance, *policy, options));
    comparison.policies.push_back(std::move(outcome));
  }
  derive(comparison);
  return comparison;
}

std::vector<PolicySummary> summarise(const std::vector<Comparison>& comparisons) {
  std::map<std::string, PolicySummary> by_name;
  for (const Comparison& comparison : comparisons) {
    size_t rank = 0;
    for (size_t i = 0; i < comparison.policies.size(); ++i) {
      const PolicyOutcome& outcome = comparison.policies[i];
      if (!outcome.status.ok()) {
        continue;
      }
      const bool tied = i > 0 && outcome.makespan_ns == comparison.policies[i - 1].makespan_ns;
      rank = tied ? rank : i + 1;
      PolicySummary& summary = by_name[outcome.name];
      summary.name = outcome.name;
      summary.mean_rank += static_cast<double>(rank);
      summary.wins += rank == 1 ? 1 : 0;
      summary.mean_ratio += std::log(std::max(outcome.ratio_to_best, 1e-300));
      summary.ratios.push_back(outcome.ratio_to_best);
      ++summary.runs;
    }
  }
  std::vector<PolicySummary> result;
  for (auto& [name, summary] : by_name) {
    const auto runs = static_cast<double>(summary.runs);
    summary.mean_rank /= runs;
    summary.mean_ratio = std::exp(summary.mean_ratio / runs);
    std::ranges::sort(summary.ratios);
    result.push_back(std::move(summary));
  }
  std::ranges::stable_sort(result, {}, &PolicySummary::mean_rank);
  return result;
}

}  // namespace dfsim
