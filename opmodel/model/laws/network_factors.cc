// Each factor belongs to a way in which networks differ from the tables that the prior learns from.
#include "opmodel/model/laws/network_factors.h"

#include <algorithm>
#include <string_view>

#include "hardware/sustained_rates.h"
#include "opmodel/features/roofline.h"
#include "opmodel/model/laws/layout_time.h"
#include "opmodel/model/laws/unaligned_products.h"

namespace dfsim::inline opmodel {
namespace {

// The prior has convolutions in fp32 only, where cuDNN uses Winograd's algorithm for windows. 1x1
// convolutions are products, which the prior knows.
constexpr double kWindows = 1.13;
constexpr double kGrouped = 1.39;
constexpr double kProducts = 0.77;
constexpr double kAttention = 0.63;
// Matrix rate in fp16 over the vector rate in fp32: 2 on GeForce boards and the L40, else 4 and
// more.
constexpr double kHalfRate = 2.5;

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// Accumulation in fp32 at half rate leaves the rest of the board twice as fast as its matrix units.
bool accumulates_at_half_rate(const DeviceSpec& device) {
  const double vector = device.peak_flops_per_s(DType::kFloat32, false);
  const double matrix = device.peak_flops_per_s(DType::kFloat16, true);
  return vector > 0 && matrix > vector && matrix < kHalfRate * vector;
}

double conv_factor(const OpGeometry& geometry) {
  if (geometry.kind == "grouped") {
    return kGrouped;
  }
  const bool points = geometry.dims[dim::kKH] * geometry.dims[dim::kKW] <= 1;
  return geometry.kind == "dense" && !points ? kWindows : 1;
}

}  // namespace

double network_factor(const OpGeometry& geometry, const DeviceSpec& device) {
  if (device.type == DeviceType::kGpu && geometry.dtype == DType::kTFloat32) {
    return geometry.family == Family::kConv ? conv_factor(geometry) : 1;  // no Winograd either
  }
  if (device.type != DeviceType::kGpu || !is_half(geometry.dtype)) {
    return 1;
  }
  switch (geometry.family) {
    case Family::kConv:
      return conv_factor(geometry);
    case Family::kGemm:
      return geometry.kind == "linear" && accumulates_at_half_rate(device) ? kProducts : 1;
    case Family::kAttention:
      return accumulates_at_half_rate(device) ? kAttention : 1;
    default:
      return 1;
  }
}

double in_network_us(const OpGeometry& geometry, const DeviceSpec& device, double time_us) {
  const double factor = network_factor(geometry, device);
  if (factor >= 1) {
    return time_us * factor;
  }
  // Short kernels are latencies, of which no factor of a rate says anything.
  const double launch_us = static_cast<double>(device.launch_overhead_ns) / kNsPerUs;
  const Roofline roofline = roofline_of(geometry, with_sustained_rates(device), launch_us);
  const double least_us = std::max(roofline.compute_us, roofline.memory_us) + launch_us;
  return std::min(time_us, std::max(time_us * factor, least_us));
}

NetworkCost network_cost(const OpDescriptor& op, const OpGeometry& geometry,
                         const DeviceSpec& device, double time_us) {
  NetworkCost cost;
  if (time_us > 0) {
    // Unaligned products are held up by loads, not by the units that a factor is about.
    const double limit_us = unaligned_product_us(op, geometry, device);
    cost.factor = std::max(in_network_us(geometry, device, time_us) / time_us,
                           std::min(limit_us / time_us, 1.0));
  }
  cost.added_us = layout_conversion_us(op, geometry, device);
  return cost;
}

}  // namespace dfsim::inline opmodel
