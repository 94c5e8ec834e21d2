// The sharded training step that follows from a sharded forward pass.
//
// The gradient of a tensor lies as the tensor does, so that what was cut in the forward pass is cut
// in the backward pass, and each collective meets its counterpart: where the forward pass reads a
// whole tensor in parts, its gradient is a partial sum to be reduced; where it reduces, the
// gradient is there already. Weights that several devices hold get an all-reduce of their
// gradients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/training/training_graph.h"
#include "partition/sharding/propagate.h"
#include "partition/sharding/shard_graph.h"

namespace dfsim::inline partition {

// The sharding of a training step of `graph`, whose own is `plan`. Errors: of propagate_sharding().
StatusOr<ShardingPlan> shard_plan_of_training_step(const Graph& graph, const DeviceMesh& mesh,
                                                   const ShardingPlan& plan,
                                                   const TrainingGraph& step);

// Both in one: `plan` is that of `graph` on the mesh. `without_rule` receives how many operators
// have a gradient that every device computes whole. Errors: those of make_training_graph(),
// propagate_sharding() and shard_graph().
StatusOr<ShardedGraph> shard_training_step(const Graph& graph, const DeviceMesh& mesh,
                                           const ShardingPlan& plan, const TrainingOptions& options,
                                           size_t* without_rule);

// The pass of every op of a sharded training step; inserted ones go with what reads them, the
// collectives before updates are TrainingPass::kReduce.
std::vector<TrainingPass> training_passes(const Graph& sharded_step);

// The stage of every op of a sharded training step: that of its forward op in `sharded_forward`,
// whose stages are given; inserted ones are where their operand is made.
std::vector<uint32_t> training_stages(const Graph& sharded_step, const Graph& sharded_forward,
                                      const std::vector<uint32_t>& stage_of);

}  // namespace dfsim::inline partition
