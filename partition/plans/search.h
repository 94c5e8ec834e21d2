// Search: how to split every operator and cut every tensor over a mesh, so that a run takes least
// time.
//
// Variables are the split of each operator (any of its factors, or none, for each mesh axis) and
// how each tensor lies between them; costs are the operators' times at shard shapes and the
// collectives between. What a device does is added up: operators and collectives one after the
// other, as in the simulator with collectives by formula.
// Paper: OptCNN (Jia et al. 2018, arXiv:1802.04924), with tensors as variables, so that partial
// sums may be finished once for several readers.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "opmodel/cost_model.h"
#include "partition/plans/cost_network.h"
#include "partition/sharding/propagate.h"

namespace dfsim::inline partition {

struct ShardSearch {
  std::vector<OpSplit> splits;      // of every operator
  std::vector<ShardingSeed> seeds;  // where tensors must lie otherwise than propagation has them
  double cost_ns = 0;               // of one device, by the search's own costs
  bool exact = true;
  Bytes weight_bytes = 0;  // on each device
};

// `mesh` has the devices it runs on; all are taken to be like its first. `capacity_bytes` bounds
// the weights of each device, 0 = not limited. Errors: kFailed when no split makes them fit, saying
// how much is missing; those of the cost model.
// O(operators * configurations^2) for costs, and one elimination.
StatusOr<ShardSearch> search_sharding(const Graph& graph, const DeviceMesh& mesh,
                                      const Platform& platform, const CostModel& model,
                                      Bytes capacity_bytes);

// The network of costs that the search minimises, for tests: operators come first, in order.
StatusOr<CostNetwork> sharding_network(const Graph& graph, const DeviceMesh& mesh,
                                       const Platform& platform, const CostModel& model);

}  // namespace dfsim::inline partition
