// The noise of costs: a time drawn from the interval of a cost.
#pragma once

#include "base/units.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline sim {

// The time `deviation` standard deviations away from the expected one. The interval's bounds are
// the 10th and the 90th percentile of a normal distribution whose width differs below and above the
// expected time; never below 0. A cost without an interval stays as it is.
TimeNs drawn_ns(const OpCost& cost, double deviation);

}  // namespace dfsim::inline sim
