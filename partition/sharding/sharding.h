// TensorSharding: how one tensor lies on the devices of a mesh.
//
// Each dimension is cut into equal runs along a set of mesh axes, taken in the order of the mesh
// (the earlier axis cuts first); along axes that no dimension names the tensor is replicated. A
// partial tensor is not finished: along those axes each device holds a part, and the value is their
// reduction. Invariant: each mesh axis is used at most once per tensor, in dims or as partial.
// Reference: GSPMD (Xu et al. 2021, arXiv:2105.04663).
#pragma once

#include <string>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/ops/factors/factor_map.h"
#include "partition/sharding/device_mesh.h"

namespace dfsim::inline partition {

struct TensorSharding {
  std::vector<AxisSet> dims;  // by dimension
  AxisSet partial = 0;
  Reduction reduction = Reduction::kNone;  // of the parts

  // Axes that cut a dimension.
  AxisSet used() const;
  bool operator==(const TensorSharding&) const = default;
};

// The tensor whole on every device.
TensorSharding replicated(const Shape& shape);

// "[data, -, tensor]", and "sum over tensor" behind it when partial.
std::string format_sharding(const TensorSharding& sharding, const DeviceMesh& mesh);

// The shape of each device's shard; every extent must divide.
Shape local_shape(const Shape& shape, const TensorSharding& sharding, const DeviceMesh& mesh);

// Errors (kInvalidInput): another number of dimensions, an axis that the mesh does not have or that
// is used twice, an extent that does not divide by its devices. `place` starts the message.
Status check_sharding(const TensorSharding& sharding, const Shape& shape, const DeviceMesh& mesh,
                      const std::string& place);

}  // namespace dfsim::inline partition
