// Each factor belongs to a way in which networks differ from the tables that the prior learns from.
#include "opmodel/model/laws/network_factors.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "hardware/sustained_rates.h"
#include "opmodel/features/roofline.h"
#include "opmodel/model/laws/layout_time.h"
#include "opmodel/model/laws/unaligned_products.h"

namespace dfsim::inline opmodel {
namespace {

// The prior has convolutions in fp32 only, where cuDNN uses Winograd's algorithm for windows. 1x1
// convolutions are products, which the prior knows.
constexpr double kWindows = 1.05;
constexpr double kGrouped = 1.39;
constexpr double kProducts = 0.76;
constexpr double kAttention = 0.70;
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
  if (factor == 1) {
    return time_us;
  }
  const double launch_us = static_cast<double>(device.launch_overhead_ns) / kNsPerUs;
  const Roofline roofline = roofline_of(geometry, with_sustained_rates(device), launch_us);
  const double least_us = std::max(roofline.compute_us, roofline.memory_us) + launch_us;
  if (factor > 1) {
    // Without Winograd's algorithm, whose gain the times in fp32 contain, windows are products,
    // too.
    return std::max(time_us, geometry.kind == "dense" ? least_us : 0) * factor;
  }
  // Short kernels are latencies, of which no factor of a rate says anything.
  return std::min(time_us, std::max(time_us * factor, least_us));
}

// Kernels of fused attention compute with a head size rounded up to a multiple of 32 elements,
// which costs matrix work, not bytes. An H100 takes as long for 80 elements as for 96: 0.74 and
// 0.76 ps for a pair of query and key (datasets/measured/h100, 2,048 queries).
double head_padding(const OpGeometry& geometry, const DeviceSpec& device) {
  constexpr double kMultiple = 32;
  const double size = geometry.dims[dim::kSize];
  if (geometry.family != Family::kAttention || geometry.kind == "generation" ||
      !is_half(geometry.dtype) || device.type != DeviceType::kGpu || size <= 0) {
    return 1;
  }
  const double padded = std::ceil(size / kMultiple) * kMultiple;
  const Roofline roofline = roofline_of(geometry, with_sustained_rates(device), 0);
  const double products = roofline.compute_us / (roofline.compute_us + roofline.memory_us);
  return 1 + (padded / size - 1) * products;
}

NetworkCost network_cost(const OpDescriptor& op, const OpGeometry& geometry,
                         const DeviceSpec& device, double time_us) {
  NetworkCost cost;
  if (time_us > 0) {
    // Unaligned products are held up by loads, not by the units that a factor is about.
    const double limit_us = unaligned_product_us(op, geometry, device);
    cost.factor = std::max(in_network_us(geometry, device, time_us) / time_us,
                           std::min(limit_us / time_us, 1.0)) *
                  head_padding(geometry, device);
  }
  cost.added_us = layout_conversion_us(op, geometry, device);
  return cost;
}

}  // namespace dfsim::inline opmodel
