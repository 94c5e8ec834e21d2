// Statistics: a block per group walks through its elements. Where blocks share a unit, its
// arithmetic is the limit, else the latency of what a block loads: of the last-level cache or, the
// more of it the image takes, of the memory. The result is an elementwise kernel.
#include "opmodel/model/laws/torch/group_norm.h"

#include <algorithm>
#include <cmath>

#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "hardware/sustained_rates.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

namespace {

// Cycles of a unit per element where many blocks share it.
constexpr double kBusyCycles = 0.83;
// Cycles of a lone block per element: at 0.04 of the cache, and more with each doubling.
constexpr double kLoneShare = 0.04;
constexpr double kCyclesAtShare = 0.28;
constexpr double kCyclesPerDoubling = 0.31;
constexpr double kLeastLoneCycles = 0.79;
constexpr double kMostLoneCycles = 1.74;
constexpr double kLaunchesUs = 3.8;  // of three kernels, beyond the device's least time
constexpr double kGroupSpread = 1.3;

}  // namespace

double group_norm_us(const OpDescriptor& op, const DeviceSpec& device) {
  if (op.op_type != "GroupNormalization") {
    return 0;
  }
  const double bandwidth = with_sustained_rates(device).memory_bytes_per_s;
  const OpGeometry geometry = geometry_of(op);
  if (geometry.family != Family::kRows || device.clock_hz <= 0 || device.compute_units <= 0 ||
      bandwidth <= 0) {
    return 0;
  }
  const double elements = geometry.dims[dim::kColumns];  // of a group
  const double blocks = geometry.dims[dim::kRowCount];
  const double bytes = elements * blocks * dtype_bits(geometry.dtype) / 8.0;
  const double share = bytes / static_cast<double>(std::max<Bytes>(device.l2_bytes, 1));
  const double lone =
      std::clamp(kCyclesAtShare + kCyclesPerDoubling * std::log2(share / kLoneShare),
                 kLeastLoneCycles, kMostLoneCycles);
  const double cycles = elements * std::max(lone, kBusyCycles * blocks / device.compute_units);
  const double pass_us = bytes / bandwidth * kUsPerSecond;
  const double statistics_us = std::max(cycles / device.clock_hz * kUsPerSecond, pass_us);
  return static_cast<double>(device.launch_overhead_ns) / kNsPerUs + kLaunchesUs + statistics_us +
         2 * pass_us;
}

void apply_group_norm(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  const bool unknown =
      cost->source == CostSource::kPrior || cost->source == CostSource::kExtrapolated;
  if (device.type != DeviceType::kGpu || !unknown ||
      attribute_value(op.attributes, kEngineKernel) == "1") {
    return;
  }
  if (const double time_us = group_norm_us(op, device); time_us > 0) {
    cost->time_ns = ns_from_seconds(time_us * 1e-6);
    cost->low_ns = ns_from_seconds(time_us / kGroupSpread * 1e-6);
    cost->high_ns = ns_from_seconds(time_us * kGroupSpread * 1e-6);
    cost->source = CostSource::kPrior;
  }
}

}  // namespace dfsim::inline opmodel
