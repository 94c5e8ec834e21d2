// Terms of the laws of single kernels on CPUs.
// Internal to opmodel.
#pragma once

#include <algorithm>

#include "hardware/platform.h"

namespace dfsim::inline opmodel {

// Operations per second of the core that they were measured on (datasets/measured/other-cpus).
inline constexpr double kMeasuredFp32 = 91.9e9;
inline constexpr double kMeasuredInt8 = 183.8e9;
// VNNI at least: the rate of bytes over that of floats, each against the measured core.
inline constexpr double kVnniGain = 1.5;

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

// Weights come from memory: what one core reads, and the share of the bandwidth that reads reach,
// as in resident_weights.cc.
inline constexpr double kReadBytesPerNs = 20;
inline constexpr double kShareOfReads = 0.65;

inline constexpr double kFp32ProductNs = 0.0229;  // per multiply-add of fp32, on the measured core

// Rates of products on a device, in the measure of that core.
struct CoreRates {
  double fp32 = 0;  // times as fast as the measured core; 0 where the device has no rate
  double int8 = 0;
  double memory_bytes_per_ns = kReadBytesPerNs;  // of all cores
  double cache_bytes = 0;                        // of the last level; 0 where it is not known
  int cores = 1;
  bool amd_vnni = false;  // a core of AMD's that multiplies bytes faster than it does floats

  double shared(double one_core_ns) const { return shared_by_cores(one_core_ns, cores); }
  // How many of so many bytes that share of the cache does not hold.
  double bytes_beyond(double share, double bytes) const {
    return cache_bytes > 0 ? std::max(0.0, bytes - share * cache_bytes) : 0;
  }
};

inline CoreRates core_rates_of(const DeviceSpec& device) {
  CoreRates rates;
  rates.cores = std::max(1, device.compute_units);
  rates.fp32 = device.peak_flops_per_s(DType::kFloat32, true) / rates.cores / kMeasuredFp32;
  const double int8 = device.peak_flops_per_s(DType::kInt8, true) / rates.cores / kMeasuredInt8;
  rates.int8 = int8 > 0 ? int8 : rates.fp32;
  rates.amd_vnni =
      device.model.find("AMD") != std::string::npos && rates.int8 > kVnniGain * rates.fp32;
  rates.memory_bytes_per_ns = kReadBytesPerNs * rates.cores;
  if (device.memory_bytes_per_s > 0) {
    rates.memory_bytes_per_ns =
        std::min(rates.memory_bytes_per_ns, kShareOfReads * device.memory_bytes_per_s * 1e-9);
  }
  rates.cache_bytes = static_cast<double>(device.l2_bytes);
  return rates;
}

}  // namespace dfsim::inline opmodel
