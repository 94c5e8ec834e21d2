// An operator on shards differs from the whole one only in attributes that speak of extents;
// this file rewrites those.
#include "partition/sharding/local_op.h"

#include <string>
#include <utility>

namespace dfsim::inline partition {

void localise_attributes(const FactorMap& map, const std::vector<AxisSet>& factors,
                         const Shape& output, const DeviceMesh& mesh, Op* op) {
  for (const auto& [name, factor] : map.divided_attributes) {
    if (factor != FactorDim::kWhole) {
      const int64_t ways = mesh.size(factors[static_cast<size_t>(factor)]);
      if (const auto count = op->attributes.get_int(name)) {
        op->attributes.set(name, *count / ways);
      }
    }
  }
  bool any_halo = false;
  std::vector<int64_t> pads = map.pads;
  for (size_t f = 0; f < factors.size(); ++f) {
    const int h = map.factors[f].halo;
    if (factors[f] != 0 && h >= 0) {
      const auto spatial = static_cast<size_t>(map.halos[static_cast<size_t>(h)].spatial);
      pads[spatial] = 0;
      pads[spatial + pads.size() / 2] = 0;
      any_halo = true;
    }
  }
  if (any_halo) {
    op->attributes.set("pads", std::move(pads));
    op->attributes.set("auto_pad", std::string("NOTSET"));
  }
  if (!map.shape_attribute.empty()) {
    op->attributes.set(map.shape_attribute, output.extents());
  }
}

}  // namespace dfsim::inline partition
