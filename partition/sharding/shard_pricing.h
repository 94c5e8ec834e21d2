// Prices of shards: what every split of every operator costs, and moving a tensor from one sharding
// to another.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "opmodel/cost_model.h"
#include "partition/collectives/group_cost_cache.h"
#include "partition/sharding/device_mesh.h"
#include "partition/sharding/propagate.h"
#include "partition/sharding/sharding.h"

namespace dfsim::inline partition {

// One way to split an operator.
struct OpConfig {
  std::vector<AxisSet> factors;
  double time_ns = 0;  // with the halo exchanges before it
};

// All splits of every operator, each axis on one factor or none, with times on the first device of
// the mesh. Operators that look alike are priced once. Errors: those of op_work() and of the model.
StatusOr<std::vector<std::vector<OpConfig>>> price_configs(const Graph& graph,
                                                           const std::vector<FactorMap>& maps,
                                                           const DeviceMesh& mesh,
                                                           const Platform& platform,
                                                           const CostModel& model);

// Times of the steps of plan_reshard() on the group of the mesh's first device.
class ReshardPricer {
 public:
  ReshardPricer(const DeviceMesh& mesh, const Platform& platform)
      : mesh_(mesh), platform_(platform), groups_(platform) {}

  // `bytes` of the whole tensor of that shape.
  double cost_ns(const Shape& shape, Bytes bytes, const TensorSharding& from,
                 const TensorSharding& to);
  // Of a communication operator over these axes, as Communication has its bytes.
  double collective_ns(const Op& op, AxisSet axes, Bytes bytes);

 private:
  uint32_t id_of(const TensorSharding& sharding);

  const DeviceMesh& mesh_;
  const Platform& platform_;
  GroupCostCache groups_;
  std::map<std::vector<AxisSet>, uint32_t> ids_;
  using Known = std::unordered_map<uint64_t, double>;  // by ids of both shardings
  std::map<std::pair<Bytes, std::vector<int64_t>>, Known> known_;
  std::pair<Bytes, std::vector<int64_t>> last_tensor_ = {-1, {}};
  Known* last_ = nullptr;
};

}  // namespace dfsim::inline partition
