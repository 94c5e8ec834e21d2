#include "sim/drawn_cost.h"

#include <algorithm>

namespace dfsim::inline sim {

TimeNs drawn_ns(const OpCost& cost, double deviation) {
  if (cost.high_ns < cost.time_ns || cost.low_ns > cost.time_ns) {
    return cost.time_ns;  // it has no interval
  }
  constexpr double kNinetiethPercentile = 1.2815515655446004;
  const TimeNs side = deviation > 0 ? cost.high_ns - cost.time_ns : cost.time_ns - cost.low_ns;
  const double change = deviation / kNinetiethPercentile * static_cast<double>(side);
  constexpr double kMost = 4e18;  // sums of a few such times do not overflow
  return static_cast<TimeNs>(
      std::clamp(static_cast<double>(cost.time_ns) + change + 0.5, 0.0, kMost));
}

}  // namespace dfsim::inline sim
