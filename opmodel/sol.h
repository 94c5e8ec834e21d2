// Speed of light: the least time an operator can take on a device, and what limits it.
//
// time = max(FLOPs / peak, bytes / bandwidth) + launch floor: the roofline of Williams, Waterman
// and Patterson 2009 (doi:10.1145/1498765.1498785) plus what any kernel costs. It is the base of
// every trained prediction and the answer of last resort.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hardware/memory_levels.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Both arms of the roofline and the floor, in seconds.
struct Sol {
  double compute_s = 0;
  double memory_s = 0;
  double floor_s = 0;

  double seconds() const { return (compute_s > memory_s ? compute_s : memory_s) + floor_s; }
  // The largest of the three; kNone when all are 0 (views and constants).
  Bound bound() const;
};

// The bound of work that is known. A device without any rate for the dtype, or without a memory
// bandwidth, contributes 0 for that arm.
Sol speed_of_light(const OpWork& work, const DeviceSpec& device);
// The same for an op; views, constants and control flow cost nothing at all.
Sol speed_of_light(const OpDescriptor& op, const DeviceSpec& device);

// The upper end of a bound's interval, as a factor.
inline constexpr double kWorstOverBound = 4.0;

// Rates that no code exceeds, where a hardware file has more than a data sheet's: its roofs instead
// of the rates that real kernels reached, and its caches.
struct LimitRates {
  DeviceSpec device;
  std::vector<MemoryLevel> caches;  // nearest to the units first
};

// The bound with these rates: operands that fit into a cache, all together, move at its bandwidth.
Sol speed_of_light(const OpDescriptor& op, const LimitRates& rates);

// The cost model without any measurement: every op costs its bound, marked kBoundOnly. The interval
// runs from the bound to four times the bound: kernels rarely do worse (see
// docs/reference/cost-models.md). `limits`: by DeviceSpec::model; other devices have their own
// rates.
std::unique_ptr<CostModel> make_sol_model(std::map<std::string, LimitRates> limits = {});

}  // namespace dfsim::inline opmodel
