// Terms of the laws of single kernels on CPUs.
// Internal to opmodel.
#pragma once

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

}  // namespace dfsim::inline opmodel
