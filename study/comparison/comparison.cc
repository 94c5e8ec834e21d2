// Runs each policy on the problem, measures it against the bound and the best single device, and
// ranks. Results come before failures and estimates before limits. Start times of tasks are kept
// only for the runs that are drawn, since millions of tasks times dozens of policies do not fit
// into memory.
#include "study/comparison/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <span>
#include <tuple>

#include "base/text.h"
#include "schedulers/planning/task_view.h"
#include "study/chain/policy_run.h"
#include "study/comparison/drawn_runs.h"

namespace dfsim::inline study {
namespace {

PolicyRunOptions run_options(const ProblemInstance& instance, const CompareOptions& options) {
  PolicyRunOptions run;
  run.policy = options.policy;
  run.sim.seed = options.seed;
  run.sim.dispatch_ns = instance.dispatch_ns;
  run.sim.memory = options.memory;
  run.group_small_tasks = instance.group_small_tasks;
  return run;
}

// Share of the tasks' time that comes from bare bounds. Given times are those of task graphs, and
// of inputs and outputs in the host's memory.
double bound_only_time_share(const ProblemInstance& instance, const SimResult& result) {
  double total = 0;
  double bound_only = 0;
  for (size_t t = 0; t < instance.graph.task_count(); ++t) {
    const TaskRecord& record = result.tasks[t];
    const CostSource source =
        instance.costs.at(instance.graph.cost_row(TaskId(t)), record.device).source;
    const double time =
        source == CostSource::kGiven ? 0 : static_cast<double>(record.end_ns - record.start_ns);
    total += time;
    bound_only += source == CostSource::kBoundOnly ? time : 0;
  }
  return total > 0 ? bound_only / total : 0;
}

StatusOr<PolicyOutcome> outcome_of(const ProblemInstance& instance, const PolicyInfo& policy,
                                   const CompareOptions& options) {
  PolicyOutcome outcome;
  outcome.name = policy.name;
  std::unique_ptr<RunRecorder> recorder;
  if (options.record) {
    DFSIM_ASSIGN_OR_RETURN(recorder, options.record({instance.graph, instance.platform, nullptr,
                                                     nullptr, &instance.costs, instance.graph_name,
                                                     instance.hardware_name, policy.name}));
  }
  PolicyRunOptions policy_options = run_options(instance, options);
  const DecisionCharge charge =
      charge_decisions(instance.problem(options.seed), policy, options.charge_ns, policy_options);
  outcome.decisions_ns = charge.all_ns;
  auto run = run_policy(instance.problem(options.seed), policy, policy_options,
                        recorder == nullptr ? nullptr : recorder->listener());
  if (!run.ok()) {
    outcome.status = run.status();
    return outcome;
  }
  outcome.result = std::move(run->result);
  outcome.makespan_ns = outcome.result.makespan_ns + charge.planning_ns;
  if (options.noise.runs > 0) {
    DFSIM_ASSIGN_OR_RETURN(outcome.repeated,
                           run_with_noise(instance.problem(options.seed), policy, options.noise,
                                          policy_options, charge.planning_ns));
  }
  if (!instance.cost_model.empty()) {
    outcome.bound_only_share = bound_only_time_share(instance, outcome.result);
  }
  outcome.schedule_time_ms = options.timing ? run->planning_ms : -1;
  if (recorder != nullptr) {
    DFSIM_RETURN_IF_ERROR(recorder->close());
  }
  return outcome;
}

double ratio(TimeNs a, TimeNs b) {
  return b == 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(b);
}

// No run can be shorter than its overhead and what the host takes to dispatch everything. Workers
// of a pool dispatch for themselves.
TimeNs lower_bound(const ProblemInstance& instance, const SchedulingProblem& problem) {
  const RuntimeSpec& runtime = instance.platform.runtime;
  TimeNs bound = makespan_lower_bound(problem);
  if (runtime.inter_op_workers <= 1) {
    TimeNs dispatch = runtime.dispatch_ns * static_cast<TimeNs>(instance.graph.task_count());
    if (!instance.dispatch_ns.empty()) {
      dispatch =
          std::accumulate(instance.dispatch_ns.begin(), instance.dispatch_ns.end(), TimeNs{0});
    }
    bound = std::max(bound, dispatch / std::max(1, runtime.dispatch_threads));
  }
  return bound + (instance.graph.task_count() == 0 ? 0 : runtime.run_overhead_ns);
}

// Memory that a task needs at once: its weights, operands and scratch space.
Bytes bytes_needed(const ProblemInstance& instance, TaskId task) {
  const ExecGraph& graph = instance.graph;
  return graph.resident_bytes(task) +
         (instance.delays ? graph.workspace_bytes(task) : graph.working_set_bytes(task));
}

// No policy and no way to treat memory can run a task that alone is too large for every device.
Status check_memory(const ProblemInstance& instance) {
  for (size_t t = 0; t < instance.graph.task_count(); ++t) {
    const TaskId task(t);
    const Bytes needed = bytes_needed(instance, task);
    Bytes largest = 0;
    bool fits = false;
    for (size_t d = 0; d < instance.platform.devices.size() && !fits; ++d) {
      if (!instance.costs.feasible(instance.graph.cost_row(task), DeviceId(d))) {
        continue;
      }
      const Bytes capacity = instance.platform.devices[d].memory_bytes;
      fits = capacity == 0 || needed <= capacity;
      largest = std::max(largest, capacity);
    }
    if (!fits) {
      return invalid_input(fmt::format(
          "task '{}' needs {} at once, but no device that can run it has more than {}; use devices "
          "with more memory, or --memory off",
          printable(instance.graph.name(task)), format_bytes(needed), format_bytes(largest)));
    }
  }
  return ok_status();
}

std::vector<std::string> bound_only_devices(const ProblemInstance& instance) {
  std::vector<std::string> names;
  for (size_t d = 0; d < instance.platform.devices.size() && !instance.cost_model.empty(); ++d) {
    bool bound_only = true;
    for (uint32_t row = 0; row < instance.costs.rows() && bound_only; ++row) {
      const OpCost& cost = instance.costs.at(row, DeviceId(d));
      bound_only = cost.time_ns < 0 || cost.source == CostSource::kBoundOnly ||
                   cost.source == CostSource::kGiven;
    }
    if (bound_only) {
      names.push_back(instance.platform.devices[d].name);
    }
  }
  return names.size() < instance.platform.devices.size() ? names : std::vector<std::string>();
}

// Where the times of the best run come from.
std::vector<std::pair<std::string, size_t>> cost_sources(const ProblemInstance& instance,
                                                         const Comparison& comparison) {
  std::vector<std::pair<std::string, size_t>> sources;
  const PolicyOutcome* best = comparison.best();
  if (best == nullptr || instance.cost_model.empty()) {
    return sources;
  }
  std::array<size_t, kCostSourceCount> count{};
  for (size_t t = 0; t < instance.graph.task_count(); ++t) {
    const CostSource source =
        instance.costs.at(instance.graph.cost_row(TaskId(t)), best->result.tasks[t].device).source;
    ++count[static_cast<size_t>(source)];
  }
  for (size_t i = 0; i < count.size(); ++i) {
    // Given times are those of inputs and outputs in the host's memory.
    if (count[i] > 0 && static_cast<CostSource>(i) != CostSource::kGiven) {
      sources.emplace_back(cost_source_name(static_cast<CostSource>(i)), count[i]);
    }
  }
  return sources;
}

// Results before failures, estimates before limits, then by makespan and name.
auto rank_key(const PolicyOutcome& outcome) {
  return std::tuple(!outcome.status.ok(), outcome.is_limit(), outcome.makespan_ns,
                    std::string_view(outcome.name));
}

// Least is best, see Comparison::best().
auto best_key(const Comparison& comparison, const PolicyOutcome& outcome) {
  const bool counts = !comparison.unitless && outcome.schedule_time_ms > 0;
  const auto planning = static_cast<TimeNs>(std::max(0.0, outcome.schedule_time_ms) * kNsPerMs);
  return std::tuple(!outcome.status.ok(), comparison.is_over_capacity(outcome), outcome.is_limit(),
                    outcome.makespan_ns + (counts ? planning : 0), planning,
                    std::string_view(outcome.name));
}

// Millions of tasks times thirty policies are too much to keep.
void drop_tasks(Comparison& comparison, std::string_view kept) {
  const PolicyOutcome* const best = &*std::ranges::min_element(
      comparison.policies, {},
      [&](const PolicyOutcome& outcome) { return best_key(comparison, outcome); });
  for (PolicyOutcome& outcome : comparison.policies) {
    if (outcome.name != kept && &outcome != best && kept != "all") {
      outcome.result.tasks = std::vector<TaskRecord>();  // {} would keep its memory
    }
  }
}

// In how many of the repeated runs no policy was faster.
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

void derive(Comparison& comparison) {
  std::ranges::stable_sort(comparison.policies, {}, rank_key);
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

// Which device ran everything, and whether its memory is large enough for that.
void note_single_device(const ProblemInstance& instance, const SimResult& alone,
                        Comparison& comparison) {
  const auto busiest = std::ranges::max_element(alone.devices, {}, &DeviceUse::busy_ns);
  const auto index = static_cast<size_t>(busiest - alone.devices.begin());
  const DeviceSpec& device = instance.platform.devices[index];
  comparison.single_device = device.name;
  comparison.single_device_is_gpu = device.type == DeviceType::kGpu;
  comparison.single_device_fits = device.memory_bytes == 0 || instance.delays ||
                                  busiest->peak_memory_bytes <= device.memory_bytes;
}

// Runs everything on one device, the yardstick of speed-ups. Where the best device has only bounds,
// the first one is taken if it has estimates.
Status run_single_device(const ProblemInstance& instance, const CompareOptions& options,
                         Comparison& comparison) {
  const PolicyRegistry builtin;
  // One device may be too small for everything; what it would take is still the yardstick.
  PolicyRunOptions alone_options = run_options(instance, options);
  if (options.memory != MemoryPolicy::kOff) {
    alone_options.sim.memory = MemoryPolicy::kTrack;
  }
  bool is_limit = true;
  for (const char* const name : {"best-single-device", "first-device"}) {
    DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* single, builtin.find(name));
    DFSIM_ASSIGN_OR_RETURN(const PolicyRun alone,
                           run_policy(instance.problem(options.seed), *single, alone_options));
    const double share =
        instance.cost_model.empty() ? 0 : bound_only_time_share(instance, alone.result);
    const bool is_first = comparison.single_device_ns == 0;
    if (is_first || share <= kMuchBoundOnly) {
      comparison.single_device_ns = alone.result.makespan_ns;
      is_limit = share > kMuchBoundOnly;
      note_single_device(instance, alone.result, comparison);
    }
    if (!is_limit) {
      break;
    }
  }
  comparison.single_device_is_limit = is_limit;
  return ok_status();
}

}  // namespace

bool Comparison::is_over_capacity(const PolicyOutcome& outcome) const {
  const size_t known = std::min(capacity_bytes.size(), outcome.result.devices.size());
  for (size_t d = 0; d < known && !delays; ++d) {
    if (capacity_bytes[d] > 0 && outcome.result.devices[d].peak_memory_bytes > capacity_bytes[d]) {
      return true;
    }
  }
  return false;
}

const PolicyOutcome* Comparison::best() const {
  if (policies.empty()) {
    return nullptr;
  }
  const auto found = std::ranges::min_element(
      policies, {}, [this](const PolicyOutcome& outcome) { return best_key(*this, outcome); });
  return found->status.ok() ? &*found : nullptr;
}

bool Comparison::one_device_is_enough() const {
  constexpr double kAsGood = 1.01;
  const PolicyOutcome* const winner = best();
  return winner != nullptr && devices.size() > 1 && single_device_fits && single_device_ns > 0 &&
         single_device_is_limit == winner->is_limit() &&
         static_cast<double>(single_device_ns) <=
             kAsGood * static_cast<double>(winner->makespan_ns);
}

StatusOr<Comparison> compare_policies(const ProblemInstance& instance,
                                      const std::vector<const PolicyInfo*>& policies,
                                      const CompareOptions& options, const Progress& progress) {
  const SchedulingProblem problem = instance.problem(options.seed);
  DFSIM_RETURN_IF_ERROR(check_problem(problem));
  if (options.memory != MemoryPolicy::kOff) {
    DFSIM_RETURN_IF_ERROR(check_memory(instance));
  }
  Comparison comparison;
  comparison.noise = options.noise;
  comparison.graph = instance.graph_name;
  comparison.hardware = instance.hardware_name;
  comparison.tasks = instance.graph.task_count();
  comparison.edges = instance.graph.edge_count();
  comparison.unitless = instance.unitless;
  comparison.delays = instance.delays;
  for (const DeviceSpec& device : instance.platform.devices) {
    comparison.devices.push_back(device.name);
    comparison.capacity_bytes.push_back(device.memory_bytes);
  }
  comparison.runtime = instance.platform.runtime.name;
  comparison.cost_model = instance.cost_model;
  comparison.lower_bound_ns = lower_bound(instance, problem);
  comparison.critical_path_ns = comparison.tasks == 0 ? 0 : least_critical_path(problem);
  DFSIM_RETURN_IF_ERROR(run_single_device(instance, options, comparison));
  for (size_t i = 0; i < policies.size(); ++i) {
    const PolicyInfo* const policy = policies[i];
    DFSIM_RETURN_IF_ERROR(progress.stage("simulating " + policy->name));
    progress.advance(static_cast<double>(i), static_cast<double>(policies.size()), "policies");
    CompareOptions one = options;
    one.policy.progress = [&](double share) {
      progress.advance(static_cast<double>(i) + share, static_cast<double>(policies.size()),
                       "policies");
    };
    DFSIM_ASSIGN_OR_RETURN(PolicyOutcome outcome, outcome_of(instance, *policy, one));
    comparison.policies.push_back(std::move(outcome));
    drop_tasks(comparison, options.keep_tasks_of);
  }
  derive(comparison);
  count_wins(comparison);
  comparison.cost_sources = cost_sources(instance, comparison);
  comparison.bound_only_devices = bound_only_devices(instance);
  return comparison;
}

std::vector<MachineRank> rank_machines(const std::vector<Comparison>& comparisons) {
  std::vector<MachineRank> ranks;
  std::vector<std::string> seen;
  for (const Comparison& first : comparisons) {
    if (first.cost_model.empty() || std::ranges::find(seen, first.graph) != seen.end()) {
      continue;
    }
    seen.push_back(first.graph);
    const size_t begin = ranks.size();
    for (const Comparison& comparison : comparisons) {
      if (comparison.graph != first.graph) {
        continue;
      }
      MachineRank rank;
      rank.graph = comparison.graph;
      rank.hardware = comparison.hardware;
      rank.unknown = comparison.unknown;
      if (const PolicyOutcome* best = comparison.best(); best != nullptr) {
        rank.policy = best->name;
        rank.makespan_ns = best->makespan_ns;
        rank.bound_only_share = best->bound_only_share;
      }
      ranks.push_back(std::move(rank));
    }
    if (ranks.size() - begin < 2) {
      ranks.resize(begin);
      continue;
    }
    const std::span<MachineRank> of_graph = std::span(ranks).subspan(begin);
    std::ranges::stable_sort(of_graph, {}, [](const MachineRank& rank) {
      return std::tuple(rank.policy.empty(), rank.is_limit(), rank.makespan_ns);
    });
    const MachineRank& best = of_graph.front();
    for (MachineRank& rank : of_graph) {
      if (!rank.policy.empty() && rank.unknown.complete() && rank.is_limit() == best.is_limit()) {
        rank.ratio_to_best = ratio(rank.makespan_ns, best.makespan_ns);
      }
    }
  }
  return ranks;
}

std::vector<PolicySummary> summarise(const std::vector<Comparison>& comparisons) {
  std::map<std::string, PolicySummary> by_name;
  for (const Comparison& comparison : comparisons) {
    size_t rank = 0;
    for (size_t i = 0; i < comparison.policies.size() && comparison.unknown.complete(); ++i) {
      const PolicyOutcome& outcome = comparison.policies[i];
      if (!outcome.status.ok() || comparison.is_limit_among_estimates(outcome)) {
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

}  // namespace dfsim::inline study
