// How much of an operator's traffic the cache serves, and the time that this leaves.
#include "opmodel/cached_operands.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "hardware/sustained_rates.h"
#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

namespace {

constexpr std::string_view kPriorModel = "prior";

// A launch, or the arithmetic.
double least_time_ns(const OpDescriptor& op, const DeviceSpec& device) {
  const double peak = device.peak_flops_per_s(op.dtype, op.work.matrix);
  const double compute_ns = peak > 0 ? static_cast<double>(op.work.flops) / peak * 1e9 : 0;
  return std::max(compute_ns, static_cast<double>(device.launch_overhead_ns));
}

// The speed of light of every operator. A bare bound among other answers keeps its time: it is
// short enough, and its share of the sum tells how far the sum can be trusted.
bool all_are_limits(const CostTable& costs, size_t rows, DeviceId device) {
  for (uint32_t row = 0; row < rows; ++row) {
    if (costs.at(row, device).source != CostSource::kBoundOnly) {
      return false;
    }
  }
  return rows > 0;
}

// Results that fit into the cache may be overwritten there before they reach the memory: an
// allocator hands their blocks out again.
double kept_results(const OpDescriptor& op, const DeviceSpec& device) {
  double bytes = 0;
  for (size_t i = 0; i < op.output_extents.size(); ++i) {
    double result = dtype_bits(op.output_dtypes[i]) / 8.0;
    for (const int64_t extent : op.output_extents[i]) {
      result *= static_cast<double>(std::max<int64_t>(extent, 0));
    }
    bytes += result <= static_cast<double>(device.l2_bytes) ? result : 0;
  }
  return bytes;
}

}  // namespace

double cached_time_share(double bytes, double kept, const DeviceSpec& device) {
  const double memory = with_sustained_rates(device).memory_bytes_per_s;
  const double cache = cache_bytes_per_s(device);
  if (!(bytes > 0) || !(memory > 0) || cache <= memory) {
    return 1;
  }
  return 1 - std::min(kept, bytes) / bytes * (1 - memory / cache);
}

double kept_bytes(const std::vector<Reread>& rereads, const DeviceSpec& device) {
  double kept = 0;
  for (const Reread& reread : rereads) {
    kept += reread.distance <= device.l2_bytes ? static_cast<double>(reread.bytes) : 0;
  }
  return kept;
}

void apply_cached_operands(const Workload& workload, const Platform& platform, CostTable* costs) {
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    const DeviceSpec& device = platform.devices[d];
    if (device.type != DeviceType::kGpu || device.l2_bytes <= 0) {
      continue;
    }
    const bool has_rows = device.cost_model != kPriorModel;
    const bool are_limits = all_are_limits(*costs, workload.rows.size(), DeviceId(d));
    for (uint32_t row = 0; row < workload.rows.size(); ++row) {
      OpCost& cost = costs->at(row, DeviceId(d));
      const double kept = kept_bytes(workload.rereads[row], device);
      const bool is_expected = cost.source == CostSource::kPrior &&
                               (!has_rows || dtype_bits(workload.rows[row].dtype) == 8);
      if (!(are_limits || is_expected) || cost.bound != Bound::kMemory || !(kept > 0)) {
        continue;
      }
      const OpDescriptor& op = workload.rows[row];
      const auto bytes = static_cast<double>(op.work.bytes());
      const auto time_ns = static_cast<double>(cost.time_ns);
      const double least_ns = std::min(time_ns, least_time_ns(op, device));
      const double of_cache =
          are_limits ? 1 - std::min(kept + kept_results(op, device), bytes) / std::max(bytes, 1.0)
                     : cached_time_share(bytes, kept, device);
      const double share = std::max(of_cache, least_ns / std::max(time_ns, 1.0));
      cost.time_ns = std::llround(time_ns * share);
      cost.low_ns = std::llround(static_cast<double>(cost.low_ns) * share);
      cost.set_bound(std::min<TimeNs>(cost.bound_ns, cost.time_ns));
    }
  }
}

}  // namespace dfsim::inline opmodel
