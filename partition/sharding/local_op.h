// An operator as a device runs it on its shards: attributes that speak of extents, made local.
#pragma once

#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/ops/factors/factors.h"
#include "partition/sharding/device_mesh.h"

namespace dfsim::inline partition {

// Changes what the op's attributes say of extents that are now a shard's: counts of groups and
// heads, target shapes, and the padding of axes whose halos the neighbours send. `factors` are the
// axes of each factor of `map`, `output` the shape of the first result's shard.
void localise_attributes(const FactorMap& map, const std::vector<AxisSet>& factors,
                         const Shape& output, const DeviceMesh& mesh, Op* op);

}  // namespace dfsim::inline partition
