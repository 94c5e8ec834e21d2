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
    for (uint32_t row = 0; row < workload.rows.size(); ++row) {
      OpCost& cost = costs->at(row, DeviceId(d));
      const double kept = kept_bytes(workload.rereads[row], device);
      if (has_rows && dtype_bits(workload.rows[row].dtype) != 8) {
        continue;
      }
      if (cost.source != CostSource::kPrior || cost.bound != Bound::kMemory || !(kept > 0)) {
        continue;
      }
      const auto bytes = static_cast<double>(workload.rows[row].work.bytes());
      const auto time_ns = static_cast<double>(cost.time_ns);
      const double least_ns = std::min(time_ns, static_cast<double>(device.launch_overhead_ns));
      const double share =
          std::max(cached_time_share(bytes, kept, device), least_ns / std::max(time_ns, 1.0));
      cost.time_ns = std::llround(time_ns * share);
      cost.low_ns = std::llround(static_cast<double>(cost.low_ns) * share);
    }
  }
}

}  // namespace dfsim::inline opmodel
