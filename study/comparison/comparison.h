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
#include "study/chain/run_recorder.h"
#include "study/progress.h"

namespace dfsim::inline study {

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
  MakeRecorder record;        // of each policy's run; empty = none
};

// Runs each policy through the simulator. A policy that fails is reported in its outcome. Error:
// the problem itself is invalid (a task that fits in no device's memory, too), the recorder's or
// Progress's. Everything but schedule_time_ms is the same in every run.
StatusOr<Comparison> compare_policies(const ProblemInstance& instance,
                                      const std::vector<const PolicyInfo*>& policies,
                                      const CompareOptions& options, const Progress& progress = {});

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
}  // namespace dfsim::inline study
