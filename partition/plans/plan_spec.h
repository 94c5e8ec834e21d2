// PlanSpec: what a strategy, a search or a plan file decides about a graph; CompiledPlan: the
// program that it makes of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/training/training_graph.h"
#include "opmodel/cost_model.h"
#include "partition/plans/plan_file.h"
#include "partition/plans/uneven_split.h"
#include "partition/sharding/propagate.h"
#include "partition/sharding/shard_graph.h"
#include "partition/sharding/spmd_program.h"

namespace dfsim::inline partition {

// A training step instead of a forward pass.
struct TrainingPlan {
  TrainingOptions options;
  Bytes bucket_bytes = Bytes{25} << 20;  // of gradients that are exchanged together
};

struct PlanSpec {
  std::string name;            // "dp 2 x tp 4"
  std::vector<MeshAxis> mesh;  // of one replica of a stage
  std::vector<ShardingSeed> seeds;
  std::vector<OpSplit> splits;
  bool propagate = true;  // false: operators without a split stay whole
  // Groups of devices in a pipeline, each with the replicas and ranks of ProgramLayout. Empty
  // `devices`: `groups` of them with one replica each, on the platform's first ones.
  uint32_t groups = 1;
  std::vector<std::vector<std::vector<DeviceId>>> devices;
  // As in PlanFile; empty: stages are found, each as fast as can be.
  std::vector<std::vector<std::string>> until;
  // New stages may take several of the groups as replicas (PipeDream).
  bool replicate_stages = false;
  uint32_t chunks = 1;
  uint32_t micro_batches = 1;
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  // Operators shared with unlike devices; only on a mesh of one device and a single stage.
  std::vector<UnevenOp> uneven;
  std::optional<TrainingPlan> training;
  // As in ProgramLayout.
  bool use_symmetry = false;
  bool autocast = false;
  // For people: what would have been cut if its extent divided by the devices.
  std::vector<std::string> kept_whole;
};

struct CompiledPlan {
  DeviceMesh mesh;
  ShardingPlan sharding;  // of the forward pass
  ShardedGraph sharded;   // of the training step, where the plan is for one
  ProgramLayout layout;
  // For a training step: operators whose gradient has no rule of its own.
  size_t gradients_without_rule = 0;
  SpmdProgram program;
  std::vector<std::vector<std::string>> until;
};

// `graph` is one micro-batch. Errors: those of the steps; kInvalidInput when the platform has too
// few devices or an operator of `until` does not exist or belongs to two stages.
StatusOr<CompiledPlan> compile_plan(const PlanSpec& spec, const Graph& graph,
                                    const Platform& platform, const CostModel& model,
                                    CollectiveMode mode);

// A plan file against a graph and a platform. Errors (kInvalidInput, kNotFound): rules that name
// nothing (with the nearest name), axes and devices that do not exist, cuts that do not divide.
StatusOr<PlanSpec> resolve_plan(const PlanFile& file, const Graph& graph, const Platform& platform);

// The file that resolves to the same plan. Names that differ in numbers only are joined to patterns
// where all such names of the graph are meant. `model` and `batch` are for people.
PlanFile describe_plan(const PlanSpec& spec, const CompiledPlan& compiled, const Graph& graph,
                       const Platform& platform, const std::string& model, int64_t batch);

}  // namespace dfsim::inline partition
