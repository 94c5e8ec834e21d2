// Shapes of shards and checks of layouts. A dimension divides by all of its axes or is not cut
// at all.
#include "partition/sharding/sharding.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dfsim::inline partition {

AxisSet TensorSharding::used() const {
  AxisSet all = 0;
  for (const AxisSet axes : dims) {
    all |= axes;
  }
  return all;
}

TensorSharding replicated(const Shape& shape) {
  return {std::vector<AxisSet>(static_cast<size_t>(shape.rank()), 0), 0, Reduction::kNone};
}

std::string format_sharding(const TensorSharding& sharding, const DeviceMesh& mesh) {
  std::vector<std::string> parts;
  for (const AxisSet axes : sharding.dims) {
    parts.push_back(axes == 0 ? "-" : mesh.names(axes));
  }
  const std::string partial = sharding.partial == 0
                                  ? ""
                                  : fmt::format(" {} over {}", reduction_name(sharding.reduction),
                                                mesh.names(sharding.partial));
  return fmt::format("[{}]{}", join(parts, "; "), partial);
}

Shape local_shape(const Shape& shape, const TensorSharding& sharding, const DeviceMesh& mesh) {
  Dims dims = shape.dims();
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = Dim(dims[i].extent() / mesh.size(sharding.dims[i]));
  }
  return Shape(std::move(dims));
}

Status check_sharding(const TensorSharding& sharding, const Shape& shape, const DeviceMesh& mesh,
                      const std::string& place) {
  if (!shape.is_static() || sharding.dims.size() != static_cast<size_t>(shape.rank())) {
    return invalid_input(fmt::format("{}: its sharding has {} dimensions, its shape is {}", place,
                                     sharding.dims.size(), format_shape(shape)));
  }
  AxisSet seen = sharding.partial;
  AxisSet all = sharding.partial;
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    const AxisSet axes = sharding.dims[i];
    all |= axes;
    if ((axes & seen) != 0) {
      return invalid_input(fmt::format("{}: the mesh axis {} is used twice in {}", place,
                                       mesh.names(axes & seen), format_sharding(sharding, mesh)));
    }
    seen |= axes;
    const int64_t extent = shape[static_cast<int>(i)].extent();
    if (extent % mesh.size(axes) != 0) {
      return invalid_input(
          fmt::format("{}: dimension {} of {} does not divide by the {} devices of {}; choose "
                      "another dimension or number of devices",
                      place, i, format_shape(shape), mesh.size(axes), mesh.names(axes)));
    }
  }
  if (all >> mesh.axes().size() != 0) {
    return invalid_input(fmt::format("{}: its sharding names an axis beyond the {} of the mesh",
                                     place, mesh.axes().size()));
  }
  return ok_status();
}

}  // namespace dfsim::inline partition
