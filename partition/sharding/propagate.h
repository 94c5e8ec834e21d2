// Propagation: from the shardings of a few tensors to those of all, and to the split of every op.
//
// What is given (seeds, splits of ops) stays. Forward: an op whose inputs are cut along a factor
// cuts its outputs along it. Weights and graph inputs without a seed follow the op that reads them.
// Backward: a cut that a consumer has moves to its input where the producer can make it without
// communication (or would have to reduce over that axis anyway) and every other consumer can work
// with it. Repeated until nothing changes. Conflicts: a mesh axis splits one factor of an op. Each
// operand votes with its bytes for the factors that it is cut along, because the loser has to move;
// ties go to the earlier factor. Whatever lost, and cuts of dimensions that must be whole, are
// reported and resharded. Complexity: O(sweeps * operand ranks); two sweeps for most graphs, at
// most tensors * axes. Paper: GSPMD (Xu et al. 2021, arXiv:2105.04663).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/ops/factors/factor_map.h"
#include "partition/sharding/device_mesh.h"
#include "partition/sharding/sharding.h"

namespace dfsim::inline partition {

struct ShardingSeed {
  TensorId tensor;
  TensorSharding sharding;  // not partial
};

// How an op is split, given instead of found: the axes of each factor of its map.
struct OpSplit {
  OpId op;
  std::vector<AxisSet> factors;
};

// An operand that does not lie as its op wants it, or an axis that no factor of it could take.
struct ShardingConflict {
  OpId op;
  std::string message;
};

struct ShardingPlan {
  std::vector<TensorSharding> tensors;           // by tensor, finished (never partial)
  std::vector<FactorMap> maps;                   // by op
  std::vector<std::vector<AxisSet>> op_factors;  // by op and factor of its map
  std::vector<ShardingConflict> conflicts;       // ascending by op

  // Axes that split the op; along all others its work is replicated.
  AxisSet split_axes(OpId op) const;
};

// Errors (kInvalidInput): a seed that does not fit its tensor (see check_sharding), that is
// partial, or is for a constant; two seeds for one tensor; a split that its op cannot have.
StatusOr<ShardingPlan> propagate_sharding(const Graph& graph, const DeviceMesh& mesh,
                                          const std::vector<ShardingSeed>& seeds,
                                          const std::vector<OpSplit>& splits = {});

// How an operand must lie, or a result comes out, when the op's factors are split over these axes.
// Results lacking a split factor are partial.
TensorSharding input_sharding(const FactorMap& map, const std::vector<AxisSet>& factors, size_t i);
TensorSharding output_sharding(const FactorMap& map, const std::vector<AxisSet>& factors, size_t o);

}  // namespace dfsim::inline partition
