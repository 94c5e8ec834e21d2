// Partitionings of a model over the devices of a platform, each simulated, with what decides
// between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "hardware/platform.h"
#include "partition/plans/plan_spec.h"
#include "sim/simulator.h"
#include "study/chain/run_recorder.h"
#include "study/chain/unknown_work.h"

namespace dfsim::inline study {

// Where the time of the devices that a plan uses goes: shares of devices * makespan, which add up
// to 1.
struct TimeShares {
  double compute = 0;
  double communication = 0;  // collectives, and waiting for data on links
  double host = 0;           // waiting to be dispatched
  double bubble = 0;         // waiting for other devices, or with nothing to do
};

struct PlanOutcome {
  std::string name;
  Status status;  // why there is no result
  size_t devices = 0;
  uint32_t stages = 1;
  uint32_t micro_batches = 1;
  TimeNs makespan_ns = 0;       // of the whole batch
  double bound_only_share = 0;  // of the time of its operators, communication left out
  double samples_per_s = 0;
  double speedup = 0;        // against one device
  double efficiency = 0;     // speed-up / devices
  Bytes memory_bytes = 0;    // peak of the fullest device
  ResidentMemory resident;   // of it, what stays there throughout
  Bytes capacity_bytes = 0;  // of that device, 0 = not limited
  TimeShares shares;
  std::string limit;                      // what most of the time goes to
  Bytes bytes_moved = 0;                  // between devices
  size_t communications = 0;              // operators of the sharded graph
  std::vector<std::string> unsplittable;  // operators that every device runs, with the reason
  std::vector<std::string> kept_whole;    // extents that do not divide by the devices
  size_t replicated_ops = 0;              // others that more than one device runs
  double replicated_flops = 0;            // arithmetic of all devices / that of the model - 1
  int64_t stands_for = 1;                 // devices, each of those that were simulated
  std::optional<TrainingPlan> training;
  size_t gradient_exchanges = 0;      // all-reduces of gradients
  size_t gradients_without_rule = 0;  // operators whose gradient every device computes whole
  PlanFile plan;

  // Memory that comes and goes: tensors between operators.
  Bytes activation_bytes() const {
    return memory_bytes - resident.weights - resident.gradients - resident.optimizer;
  }
  bool fits() const { return capacity_bytes == 0 || memory_bytes <= capacity_bytes; }
  // The time is a lower limit, because much of it is a bare bound.
  bool is_limit() const { return bound_only_share > kMuchBoundOnly; }
};

struct Partitioning {
  UnknownWork unknown;  // where it is not complete, times and memory are lower limits
  bool allow_incomplete = false;
  std::string model;
  std::string hardware;
  std::string runtime;
  std::string cost_model;
  std::string collectives;
  int64_t batch = 0;
  std::optional<TrainingPlan> training;
  bool unfused_step = false;  // of a runtime that compiles steps: every operator is a kernel
  PlanOutcome single;         // one device
  // Fitting ones by time, limits after estimates; then those that do not fit, then failed ones.
  std::vector<PlanOutcome> plans;

  // A part of a model has no best plan unless the caller accepts that.
  const PlanOutcome* best() const {
    const bool may_be = unknown.complete() || allow_incomplete;
    return may_be && !plans.empty() && plans.front().status.ok() && plans.front().fits()
               ? &plans.front()
               : nullptr;
  }
};

// One plan run in the simulator, for traces and drawings.
struct PlanRun {
  CompiledPlan compiled;
  SimResult result;
};

// Every device has a host thread of its own that dispatches its program. Errors: those of
// compile_plan() and simulate(), and the recorder's.
StatusOr<PlanRun> run_plan(const PlanSpec& spec, const Graph& graph, const Platform& platform,
                           const CostModel& model, CollectiveMode mode,
                           const MakeRecorder& record = {});

// The outcome of a run of `batch` samples; `single` is the run on one device or null.
PlanOutcome measure_plan(const PlanSpec& spec, const PlanRun& run, const Graph& graph,
                         const Platform& platform, const std::string& model, int64_t batch,
                         const PlanOutcome* single);

// By time, as Partitioning::plans.
void rank_plans(std::vector<PlanOutcome>* plans);

}  // namespace dfsim::inline study
