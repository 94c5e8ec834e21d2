// Comparison: several scheduling policies on one problem, each plan simulated, with the measures of
// scheduling research.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "schedulers/problem_instance.h"
#include "schedulers/registry.h"
#include "sim/repeat.h"
#include "sim/simulator.h"
#include "study/chain/run_recorder.h"
#include "study/chain/unknown_work.h"
#include "study/comparison/noise_options.h"
#include "study/progress.h"

namespace dfsim::inline study {

struct PolicyOutcome {
  std::string name;
  Status status;  // why there is no result
  TimeNs makespan_ns = 0;
  // The charge of --charge-decisions: all of it before the run for a plan, per task that became
  // ready for an online policy. Part of the makespan; 0 = not charged.
  TimeNs decisions_ns = 0;
  std::optional<RepeatResult> repeated;  // runs with drawn times
  double win_share = 0;                  // of these runs, in which no policy was faster
  // Wall time of planning; of all decisions for online policies. Negative = not asked for.
  double schedule_time_ms = 0;
  double bound_only_share = 0;  // of its tasks' time
  double ratio_to_best = 0;     // no comparison where this is a limit and the best is an estimate
  double gap_to_bound = 0;      // makespan / lower bound - 1
  double speedup = 0;           // against everything on the best single device
  double slr = 0;               // makespan / critical path with least times
  double efficiency = 0;        // speed-up / devices
  SimResult result;

  // The makespan is a lower limit, because much of it is a bare bound.
  bool is_limit() const { return bound_only_share > kMuchBoundOnly; }
};

// A way to cut a model's operators that --split tried, with its best policy.
struct TriedSplit {
  int pieces = 1;        // at most, of an operator; 1 = whole operators
  std::string rule;      // "worth it", "batch" or "fewer": see study/comparison/split_search.h
  size_t operators = 0;  // that are cut
  size_t tasks = 0;
  std::string policy;  // "" = none gave a schedule
  TimeNs makespan_ns = 0;
  bool chosen = false;  // the comparison is of this one
};

struct Comparison {
  std::vector<TriedSplit> splits;  // empty without --split
  UnknownWork unknown;  // of a model; where it is not complete, all times are lower limits
  bool allow_incomplete = false;
  std::string graph;
  std::string hardware;
  size_t tasks = 0;
  size_t edges = 0;
  bool unitless = false;
  bool delays = false;
  std::vector<std::string> devices;
  std::vector<Bytes> capacity_bytes;  // of each device; 0 = not limited
  std::string runtime;
  std::string cost_model;  // "" = times are given by the graph's file
  // How many tasks of the best run have a time of which source; only with a cost model.
  std::vector<std::pair<std::string, size_t>> cost_sources;
  // Devices with lower bounds only, where others have better times: policies are drawn to them.
  std::vector<std::string> bound_only_devices;
  TimeNs lower_bound_ns = 0;
  TimeNs critical_path_ns = 0;
  TimeNs single_device_ns = 0;
  bool single_device_is_limit = false;  // much of it is a bare bound
  std::string single_device;            // its name
  bool single_device_is_gpu = false;
  bool single_device_fits = true;  // its memory holds the whole run
  // Estimates by makespan, then name; then limits likewise; failed ones last.
  std::vector<PolicyOutcome> policies;
  NoiseOptions noise;

  // A device holds more in that run than it has memory, which --memory track lets go on.
  bool is_over_capacity(const PolicyOutcome& outcome) const;
  // The policy whose makespan and planning together take least, so that planning never costs more
  // than it gains; of equals the one that plans fastest, then by name. One that stays within the
  // memory where there is one, then an estimate. Planning does not count where it was not asked for
  // or the file's times have no unit.
  const PolicyOutcome* best() const;
  // One device alone comes within 1 % of the best makespan, and its memory suffices.
  bool one_device_is_enough() const;
  // The best may be called so: a part of a model has no best policy unless the caller accepts that.
  bool names_best() const { return best() != nullptr && (unknown.complete() || allow_incomplete); }
  // It is a limit among estimates, which its figures cannot be compared with.
  bool is_limit_among_estimates(const PolicyOutcome& outcome) const {
    return outcome.is_limit() && best() != nullptr && !best()->is_limit();
  }
};

struct CompareOptions {
  PolicyOptions policy;
  std::optional<DecideWhen> decide;  // when list policies decide; none = as each does by default
  TimeNs charge_ns = 0;              // per look of a decision (schedulers/decision_cost.h)
  NoiseOptions noise;
  MemoryPolicy memory = MemoryPolicy::kTrack;
  uint64_t seed = 0;
  // SimResult::tasks are kept of this policy and of the best one only; "all": of all.
  std::string keep_tasks_of;
  bool timing = true;   // false leaves out schedule_time_ms: then every run gives the same
  MakeRecorder record;  // of each policy's run; empty = none
};

// Runs each policy through the simulator. A policy that fails is reported in its outcome. Error:
// the problem itself is invalid (a task that fits in no device's memory, too), the recorder's or
// Progress's. Everything but schedule_time_ms is the same in every run.
StatusOr<Comparison> compare_policies(const ProblemInstance& instance,
                                      const std::vector<const PolicyInfo*>& policies,
                                      const CompareOptions& options, const Progress& progress = {});

// The machines of several comparisons of one graph, each with its best policy.
struct MachineRank {
  std::string graph;
  std::string hardware;
  std::string policy;  // "" = no policy gave a schedule
  TimeNs makespan_ns = 0;
  double bound_only_share = 0;
  UnknownWork unknown;
  double ratio_to_best = 0;  // 0 = a limit among estimates, or of a part of the model

  bool is_limit() const { return !unknown.complete() || bound_only_share > kMuchBoundOnly; }
};
// Graph by graph in the order of `comparisons`: estimates by makespan, then limits, then machines
// without a result. Only models that were compared on several machines.
std::vector<MachineRank> rank_machines(const std::vector<Comparison>& comparisons);

// Over several comparisons: how often each policy wins, and its ranks. Leaves out comparisons of
// models that are not complete, and limits among estimates.
struct PolicySummary {
  std::string name;
  double mean_rank = 0;   // of the runs where it succeeded; equal makespans share the best rank
  size_t wins = 0;        // runs where it equals the best
  double mean_ratio = 0;  // geometric mean of makespan / best
  size_t runs = 0;
  std::vector<double> ratios;  // ascending
};
// By mean rank, then name.
std::vector<PolicySummary> summarise(const std::vector<Comparison>& comparisons);
}  // namespace dfsim::inline study
