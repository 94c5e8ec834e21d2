#include "opmodel/features/roofline.h"

#include <algorithm>

namespace dfsim::inline opmodel {

namespace {

// Read off the L40S tables of aiconfigurator, the one board there whose cache (96 MB) shows: decode
// attention over 45 and 64 MB takes 30 and 40 us, 12 and 22 of them for the bytes, and from 90 MB
// on what its memory allows; products of up to 16 MB are as fast, since those tables take turns
// with about six copies of the operands.
constexpr double kCacheBytesPerUnitUs = 20e3;
constexpr double kShareOfCache = 0.9;
constexpr double kCopiesOfProducts = 6;

}  // namespace

double cache_bytes_per_s(const DeviceSpec& device) {
  return kCacheBytesPerUnitUs * kUsPerSecond * device.compute_units;
}

double repeated_memory_us(const OpGeometry& geometry, const DeviceSpec& device) {
  const double memory_rate = device.memory_bytes_per_s / kUsPerSecond;
  const double cache_rate = cache_bytes_per_s(device) / kUsPerSecond;
  const double copies = geometry.family == Family::kAttention ? 1 : kCopiesOfProducts;
  const bool fits = geometry.repeated &&
                    geometry.bytes * copies <= kShareOfCache * static_cast<double>(device.l2_bytes);
  const double rate = fits ? std::max(memory_rate, cache_rate) : memory_rate;
  return rate > 0 ? geometry.bytes / rate : 0;
}

Roofline roofline_of(const OpGeometry& geometry, const DeviceSpec& device, double floor_us) {
  Roofline roofline;
  const double peak = device.peak_flops_per_s(geometry.dtype, geometry.matrix);
  const double effort = device.type == DeviceType::kCpu ? geometry.cpu_effort : 1;
  roofline.compute_us = peak > 0 ? geometry.flops * effort / peak * kUsPerSecond : 0;
  roofline.memory_us =
      device.memory_bytes_per_s > 0 ? geometry.bytes / device.memory_bytes_per_s * kUsPerSecond : 0;
  roofline.floor_us = std::max(floor_us, 1e-3);
  return roofline;
}

}  // namespace dfsim::inline opmodel
