// What must hold of every sharded graph.
#pragma once

#include <vector>

#include "partition/sharding/shard_graph.h"
#include "tests/partition/reference/reference_tensor.h"

namespace dfsim {

// Shards the graph with these seeds and checks: outputs equal the reference's; ranks agree where
// they hold the same; shape rules at shard shapes give the shapes of the sharded graph; bytes of
// shards add up to those of the whole. Returns the sharded graph; `plan` receives the plan.
ShardedGraph check_sharding_of(const Graph& graph, const DeviceMesh& mesh,
                               const std::vector<ShardingSeed>& seeds, ShardingPlan* plan);

// Shape rules must give every tensor the shape it was built with.
void check_shapes(const Graph& graph);

bool nearly_equal(const RefTensor& a, const RefTensor& b);

}  // namespace dfsim
