// Degrees of parallelism: how many devices share the batch, the columns and the layers, and the
// plans that follow from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "hardware/platform.h"
#include "partition/plans/plan_spec.h"

namespace dfsim::inline partition {

struct ParallelDegrees {
  int64_t data = 1;
  int64_t tensor = 1;
  uint32_t stages = 1;
  uint32_t micro_batches = 1;
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  uint32_t chunks = 1;     // per device, interleaved
  bool replicate = false;  // slow stages take several of the stages' devices (PipeDream)

  int64_t devices() const { return data * tensor * stages; }
};

// "dp 2 x tp 4", "single", "pp 8 replicated".
std::string degrees_name(const ParallelDegrees& degrees);

// Which products of degrees a strategy stands for: "dp", "tp", "pp": one degree alone (a pipeline
// also with replicated stages); "hybrid": every way to write `devices` as a product of several;
// "auto": all of these. Micro-batches are `micro_batches` where that is not 0, else 1, 2 and 4
// times the stages where they divide the batch (and a micro-batch by `data`), else 1. Between
// several nodes of `node` devices each there is no tensor parallelism, and only the largest number
// of micro-batches is tried. Deterministic order.
std::vector<ParallelDegrees> degrees_of(const std::string& strategy, int64_t devices, int64_t node,
                                        int64_t batch, uint32_t micro_batches);

// How many of the first `devices` are in one node, near to each other and far from all others; all
// of them where there are no such nodes.
int64_t node_size(const Platform& platform, int64_t devices);

// A way to choose plans, as `dfsim partition --strategy` names it.
struct Strategy {
  enum class Besides : uint8_t { kNothing, kSearch, kUneven };

  std::string_view name;
  // Whether a plan of these degrees on `devices` devices, `node` to a node, is one of the strategy.
  bool (*takes)(const ParallelDegrees& degrees, int64_t devices, int64_t node) = nullptr;
  // Plans that are no product of degrees: searched_spec()'s, uneven_spec()'s.
  Besides besides = Besides::kNothing;
};

#define DFSIM_STRATEGY(name, takes, besides) \
  bool takes(const ParallelDegrees& degrees, int64_t devices, int64_t node);
#include "partition/plans/strategies.inc"
#undef DFSIM_STRATEGY

// All strategies, sorted by name.
std::span<const Strategy> strategies();
std::vector<std::string> strategy_names();
// Error (kNotFound): an unknown name, with the nearest one.
StatusOr<const Strategy*> find_strategy(std::string_view name);

// Data parallel by the batch, tensor parallel by Megatron's columns, pipeline by stages of equal
// time; tensor parallel devices are next to each other, stages far. `graph` is one micro-batch.
// Errors: those of the seeds and of DeviceMesh::make().
StatusOr<PlanSpec> degrees_spec(const ParallelDegrees& degrees, const Graph& graph,
                                const Platform& platform);

// Meshes to search on: all devices along one axis; nodes by the devices of each, or halves by the
// devices of each where all are in one node.
std::vector<std::vector<MeshAxis>> search_meshes(int64_t devices, int64_t node);

// What search_sharding() finds on that mesh; its weights have to fit into the first device.
StatusOr<PlanSpec> searched_spec(const std::vector<MeshAxis>& mesh, const Graph& graph,
                                 const Platform& platform, const CostModel& model);

// One device, with operators shared with unlike devices where that pays. Error (kInvalidInput):
// nowhere.
StatusOr<PlanSpec> uneven_spec(const Graph& graph, const Platform& platform,
                               const CostModel& model);

// The extent of dimension 0 of the first input that has one; 0 without.
int64_t batch_of(const Graph& graph);

}  // namespace dfsim::inline partition
