#include "opmodel/features/roofline.h"

#include <algorithm>

namespace dfsim::inline opmodel {

Roofline roofline_of(const OpGeometry& geometry, const DeviceSpec& device, double floor_us) {
  Roofline roofline;
  const double peak = device.peak_flops_per_s(geometry.dtype, geometry.matrix);
  roofline.compute_us = peak > 0 ? geometry.flops / peak * kUsPerSecond : 0;
  roofline.memory_us =
      device.memory_bytes_per_s > 0 ? geometry.bytes / device.memory_bytes_per_s * kUsPerSecond : 0;
  roofline.floor_us = std::max(floor_us, 1e-3);
  return roofline;
}

}  // namespace dfsim::inline opmodel
