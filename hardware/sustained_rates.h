// Sustained rates: what a device keeps up, as measured where its file says so, else estimated.
//
// A data sheet prints what units and memory do at their highest clock. Streaming reaches 74 to 91 %
// of the bandwidth. Dense products reach less than the peak where the board's power limit holds the
// clock down: an L4 (72 W for 30.3 TFLOP/s) multiplies fp32 matrices at 9, a V100 (250 W for 14) at
// 13.7. Over the boards that were measured, the share follows the power available for each TFLOP/s:
// docs/reference/cost-models.md has the fit and its errors.
#pragma once

#include "hardware/platform.h"

namespace dfsim::inline hardware {

// A copy of `device` whose peaks and bandwidth are sustained rates. O(dtypes).
DeviceSpec with_sustained_rates(const DeviceSpec& device);

// The estimate alone, as for a device without any measurement.
DeviceSpec with_estimated_rates(const DeviceSpec& device);

// Rate of a chip on a board of `watts` over its rate on one of `measured_watts`; 1 when either is
// not known, and never more: the clock has a limit of its own.
double share_on_board(double watts, double measured_watts);

// Sustained over printed rate of the vector units, for a board of `watts` and `tflops` fp32.
double power_limited_share(double watts, double tflops);

}  // namespace dfsim::inline hardware
