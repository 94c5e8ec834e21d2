// Comparison: several scheduling policies on one problem, each plan simulated, with the measures of
// scheduling research.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "schedulers/problem_instance.h"
#include "schedulers/registry.h"
#include "sim/simulator.h"

namespace dfsim::inline report {

struct PolicyOutcome {
  std::string name;
  Status status;  // why there is no result
  TimeNs makespan_ns = 0;
  // Wall time of planning; of all decisions for online policies. Negative = not asked for.
  double schedule_time_ms = 0;
  double ratio_to_best = 0;
  double gap_to_bound = 0;  // makespan / lower bound - 1
  double speedup = 0;       // against everything on the best single device
  double slr = 0;           // makespan / critical path with least times
  double efficiency = 0;    // speed-up / devices
  SimResult result;
};

struct Comparison {
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
  std::vector<PolicyOutcome> policies;  // by makespan, then name; failed ones last

  const PolicyOutcome* best() const {
    return !policies.empty() && policies.front().status.ok() ? &policies.front() : nullptr;
  }
};

struct CompareOptions {
  PolicyOptions policy;
  MemoryPolicy memory = MemoryPolicy::kTrack;
  uint64_t seed = 0;
  std::string keep_tasks_of;  // SimResult::tasks are kept of this policy and of the best one only
  bool timing = true;         // false leaves out schedule_time_ms: then every run gives the same
  std::string trace_folder;   // one trace per policy; "" = none
  bool perfetto_traces = false;  // as Perfetto's own format, else as JSON
  std::string trace_prefix;      // of its files' names; "" = the graph's name
};

// Runs each policy through the simulator. A policy that fails is reported in its outcome. Error:
// the problem itself is invalid (a task that fits in no device's memory, too), or a trace cannot be
// written. Everything but schedule_time_ms is
// the same in every run.
StatusOr<Comparison> compare_policies(const ProblemInstance& instance,
                                      const std::vector<const PolicyInfo*>& policies,
                                      const CompareOptions& options);

// How times are shown: as numbers of this many nanoseconds, or with units chosen by size.
struct TimeFormat {
  double ns_per_unit = 0;  // 0 = by size
  std::string unit;        // shown in headers; "" = as written in the file

  std::string text(TimeNs time_ns) const;
};
// "auto", "ms", "us" or "none"; auto is none for files without units. Error: unknown name.
StatusOr<TimeFormat> time_format(std::string_view name, bool unitless);

std::string comparison_text(const Comparison& comparison, const TimeFormat& format);
std::string comparison_json(const std::vector<Comparison>& comparisons);
std::string comparison_csv(const std::vector<Comparison>& comparisons);

// Over several comparisons: how often each policy wins, and its ranks.
struct PolicySummary {
  std::string name;
  double mean_rank = 0;   // of the runs where it succeeded; equal makespans share the best rank
  size_t wins = 0;        // as good as the best
  double mean_ratio = 0;  // geometric mean of makespan / best
  size_t runs = 0;
  std::vector<double> ratios;  // ascending
};
// By mean rank, then name.
std::vector<PolicySummary> summarise(const std::vector<Comparison>& comparisons);
std::string summary_table(const std::vector<PolicySummary>& summary, size_t instances);

}  // namespace dfsim::inline report
