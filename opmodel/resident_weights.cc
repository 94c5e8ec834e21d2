// The share of the weights that stays in the cache, what a product gains by it, and the costs.
#include "opmodel/resident_weights.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline opmodel {
namespace {

// resident_weights*.csv: what one core reads in a product of one row, from the last-level cache and
// from memory. Two cores read twice as much from the cache; of the memory's printed rate all cores
// together reach this share. A cache whose roof is known gives products a share of that (a Turin's:
// 98 of 135 GB/s).
constexpr double kCacheBytesPerS = 45e9;
constexpr double kShareOfCache = 0.73;
constexpr double kMemoryBytesPerS = 20e9;
constexpr double kShareOfMemory = 0.65;
// With less than this part of the cache in use, nothing is lost between runs.
constexpr double kSurelyKept = 0.5;
// Larger caches are several of this size, each next to a few cores, or were not measured.
constexpr double kMostCacheBytes = 32 << 20;

// Other classes have few weights, or read them once per many elements.
bool waits_for_weights(OpClass op_class) {
  return op_class == OpClass::kMatMul || op_class == OpClass::kConv || op_class == OpClass::kRnn;
}

}  // namespace

double resident_share(std::span<const OpDescriptor> rows, Bytes weight_bytes,
                      const DeviceSpec& device) {
  if (device.type != DeviceType::kCpu || device.l2_bytes <= 0) {
    return 0;
  }
  Bytes largest = 0;  // tensors of one operator; others share its memory before and after
  for (const OpDescriptor& row : rows) {
    largest = std::max(largest, row.work.bytes() - row.work.weight_bytes);
  }
  const double cache = std::min(static_cast<double>(device.l2_bytes), kMostCacheBytes);
  const double used = static_cast<double>(weight_bytes + largest) / cache;
  return std::clamp((1 - used) / (1 - kSurelyKept), 0.0, 1.0);
}

double resident_gain_us(const OpDescriptor& op, const DeviceSpec& device, double share,
                        double time_us) {
  const auto weights = static_cast<double>(op.work.weight_bytes);
  const double cores = std::max(1, device.compute_units);
  const double from_cache = device.cache_bytes_per_s > 0 ? kShareOfCache * device.cache_bytes_per_s
                                                         : cores * kCacheBytesPerS;
  const double from_memory =
      std::min({cores * kMemoryBytesPerS, kShareOfMemory * device.memory_bytes_per_s, from_cache});
  if (!waits_for_weights(op.op_class) || !(weights > 0) || !(from_memory > 0)) {
    return 0;
  }
  const double peak = device.peak_flops_per_s(op.dtype, op.work.matrix);
  const double least_s =
      std::max(weights / from_cache, peak > 0 ? static_cast<double>(op.work.flops) / peak : 0);
  const double gain_us = share * weights * (1 / from_memory - 1 / from_cache) * 1e6;
  return std::clamp(time_us - least_s * 1e6, 0.0, gain_us);
}

void apply_resident_weights(std::span<const OpDescriptor> rows, Bytes weight_bytes,
                            const Platform& platform, CostTable* costs) {
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    const DeviceSpec& device = platform.devices[d];
    const double share = resident_share(rows, weight_bytes, device);
    if (!(share > 0)) {
      continue;
    }
    for (uint32_t row = 0; row < rows.size(); ++row) {
      OpCost& cost = costs->at(row, DeviceId(d));
      if (cost.source != CostSource::kPredicted && cost.source != CostSource::kExtrapolated) {
        continue;
      }
      const double time_us = static_cast<double>(cost.time_ns) / kNsPerUs;
      const double gain_us = resident_gain_us(rows[row], device, share, time_us);
      if (!(gain_us > 0)) {
        continue;
      }
      const double kept = 1 - gain_us / time_us;
      cost.time_ns = std::llround(static_cast<double>(cost.time_ns) * kept);
      cost.low_ns = std::llround(static_cast<double>(cost.low_ns) * kept);
    }
  }
}

}  // namespace dfsim::inline opmodel
