// The arms of an operator's roofline: the times that its arithmetic and its traffic take at least.
// Paper: Williams, Waterman, Patterson 2009 (doi:10.1145/1498765.1498785).
#pragma once

#include <algorithm>

#include "hardware/platform.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

inline constexpr double kUsPerSecond = 1e6;

// The arms of the roofline of an op, in microseconds.
struct Roofline {
  double compute_us = 0;
  double memory_us = 0;
  double floor_us = 0;
  double slowest_us = 0;  // of one compute unit (attention_waves.h); only a prior has this arm

  double base_us() const { return std::max({compute_us, memory_us, slowest_us}) + floor_us; }
};

// `floor_us` is the least time of this kind of op as measured, launch included where it was.
Roofline roofline_of(const OpGeometry& geometry, const DeviceSpec& device, double floor_us);

// Bytes per second from a GPU's last-level cache, all units together; an estimate by their number.
double cache_bytes_per_s(const DeviceSpec& device);

// The memory arm of a repeated operator: what fits into the last-level cache comes at that cache's
// rate, if it is the higher one. Equal to roofline_of()'s arm for all others.
double repeated_memory_us(const OpGeometry& geometry, const DeviceSpec& device);

}  // namespace dfsim::inline opmodel
