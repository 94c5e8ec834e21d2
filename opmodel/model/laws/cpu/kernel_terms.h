// Terms of the laws of single kernels on CPUs.
// Internal to opmodel.
#pragma once

#include <algorithm>

#include "hardware/platform.h"

namespace dfsim::inline opmodel {

// Operations per second of the core that they were measured on (datasets/measured/other-cpus).
inline constexpr double kMeasuredFp32 = 91.9e9;
inline constexpr double kMeasuredInt8 = 183.8e9;

// Time on several cores of work that takes `one_core` on one: 2 % of it stays on one core, as in
// other_cpus.cc.
inline double shared_by_cores(double one_core, int cores) {
  constexpr double kSerialShare = 0.02;
  return cores > 1 ? one_core * (kSerialShare + (1 - kSerialShare) / cores) : one_core;
}

// How many times as fast a core is as the measured one, by its rate of fp32: kernels that work
// piece by piece took 0.38 of the time on an EPYC Turin, whose rate is 2.5 times that (106 forms,
// median). 1 where the rate is not known.
inline double core_speed(const DeviceSpec& device) {
  constexpr double kLeast = 0.9;  // the constants are of shared machines, too
  constexpr double kMost = 2.5;
  const double core =
      device.peak_flops_per_s(DType::kFloat32, true) / std::max(1, device.compute_units);
  return core > 0 ? std::clamp(core / kMeasuredFp32, kLeast, kMost) : 1;
}

}  // namespace dfsim::inline opmodel
