#include "opmodel/cost_model.h"

#include <cmath>

#include "base/hash.h"

namespace dfsim::inline opmodel {

std::string_view cost_source_name(CostSource source) {
  constexpr std::array<std::string_view, kCostSourceCount> kNames = {
      "measured", "predicted", "extrapolated", "prior", "bound-only", "given"};
  return kNames[static_cast<size_t>(source)];
}

std::string_view bound_name(Bound bound) {
  constexpr std::array<std::string_view, kBoundCount> kNames = {"compute", "memory", "launch",
                                                                "none"};
  return kNames[static_cast<size_t>(bound)];
}

void rescale(double time_ns, OpCost* cost) {
  const double factor = time_ns / static_cast<double>(cost->time_ns);
  cost->low_ns = std::llround(static_cast<double>(cost->low_ns) * factor);
  cost->high_ns = std::llround(static_cast<double>(cost->high_ns) * factor);
  cost->time_ns = std::llround(time_ns);
}

uint64_t OpDescriptor::hash() const {
  Hasher hasher;
  hasher.add(op_type).add(static_cast<uint64_t>(op_class)).add(static_cast<uint64_t>(dtype));
  const auto add_tensors = [&](const std::vector<std::vector<int64_t>>& extents,
                               const std::vector<DType>& dtypes) {
    hasher.add(extents.size());
    for (const auto& shape : extents) {
      hasher.add(shape.size());
      for (const int64_t extent : shape) {
        hasher.add(static_cast<uint64_t>(extent));
      }
    }
    for (const DType tensor_dtype : dtypes) {
      hasher.add(static_cast<uint64_t>(tensor_dtype));
    }
  };
  add_tensors(input_extents, input_dtypes);
  add_tensors(output_extents, output_dtypes);
  return hasher.add(attributes).digest();
}

}  // namespace dfsim::inline opmodel
