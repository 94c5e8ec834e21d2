// SpmdProgram: a sharded graph on all devices that run it, ready for the simulator.
//
// Stages of a pipeline run one after the other on devices of their own, each stage on one or more
// replicas that take micro-batches in turn (PipeDream), each replica on the ranks of a mesh. One
// stage, one replica and one micro-batch is the plain SPMD program of a mesh.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "graphs/training/training_graph.h"
#include "opmodel/cost_model.h"
#include "partition/pipeline/pipeline_schedule.h"
#include "partition/sharding/device_mesh.h"
#include "partition/sharding/shard_graph.h"

namespace dfsim::inline partition {

// kModel: a collective is a task on each device that takes what its formula says, once the whole
// group is there. kFlow: its messages move over the platform's links, in contention with all else.
enum class CollectiveMode : uint8_t { kModel, kFlow };

struct ProgramLayout {
  // By group of devices and replica: its devices, in the order of the mesh's ranks. The groups of a
  // pipeline's stages are taken in turn.
  std::vector<std::vector<std::vector<DeviceId>>> groups;
  std::vector<uint32_t> stage_of;  // by op of the sharded graph; not descending along edges
  uint32_t chunks = 1;
  uint32_t micro_batches = 1;
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  // For a training step: the pass of each op of the sharded graph; empty = inference. Gradients of
  // weights are joined, and weights updated, once all micro-batches of a stage are back.
  std::vector<TrainingPass> passes;
  // The model runs in mixed precision: the host chooses the precision of each operator.
  bool autocast = false;
  // All-reduces of weights' gradients wait for each other until they have so many bytes together,
  // and then overlap the backward pass (kModel only); 0 = each alone, after the pass.
  Bytes bucket_bytes = 0;
  // Devices that do the same are simulated once (partition/sharding/representatives.h), where there
  // are any.
  bool use_symmetry = false;

  bool training() const { return !passes.empty(); }
};

// The purpose of a task. Updates of weights compute, too.
enum class TaskKind : uint8_t { kCompute, kCommunication, kUpdate };

// Data that stays on a device from the beginning to the end.
struct ResidentMemory {
  Bytes weights = 0;
  Bytes gradients = 0;
  Bytes optimizer = 0;
};

struct SpmdProgram {
  ExecGraph graph;                         // ExecGraph::op() points into the sharded graph
  CostTable costs;                         // priced at shard shapes
  std::vector<DeviceId> device_of;         // by task
  std::vector<TaskKind> kinds;             // by task
  std::vector<std::vector<TaskId>> order;  // by device: its program
  std::vector<TimeNs> dispatch_ns;         // by task: host time under the platform's runtime
  TimeNs communication_ns = 0;             // formulas of all collectives, one after the other
  // What it runs on: the platform, or representatives of its devices; behind them, where gradients
  // are exchanged during the backward pass, one engine for each device that does that.
  Platform machine;
  size_t device_count = 0;             // devices of `machine` that are not engines
  int64_t stands_for = 1;              // devices of the platform, each of them
  std::string asymmetry;               // why each device is simulated though symmetry was asked for
  std::vector<ResidentMemory> memory;  // by device of `machine`
  size_t gradient_exchanges = 0;       // all-reduces of gradients, each bucket once
};

// Every op of the sharded graph once per device of the mesh. Views cost nothing, as in
// make_workload(). The algorithm of each collective is the cheapest on its group. Errors: those of
// make_workload() and of the cost model. O(devices * (tasks + edges) + messages).
StatusOr<SpmdProgram> make_spmd_program(const ShardedGraph& sharded, const DeviceMesh& mesh,
                                        const Platform& platform, const CostModel& model,
                                        CollectiveMode mode);

// The same with stages, replicas and micro-batches; `mesh` says how ranks form groups, its own
// devices do not matter. Each stage's weights are resident once on each of its devices. Errors
// (kInvalidInput) also: a layout that does not fit the graph or the mesh.
StatusOr<SpmdProgram> make_pipeline_program(const ShardedGraph& sharded, const DeviceMesh& mesh,
                                            const ProgramLayout& layout, const Platform& platform,
                                            const CostModel& model, CollectiveMode mode);

}  // namespace dfsim::inline partition
