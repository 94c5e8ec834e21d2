// Row bounds: the least time a measured row can have taken, to tell what cannot be right.
//
// Less than DESIGN's bound on purpose, since rows that are right must stay: no floor; no memory arm
// for data that may sit in the cache; nothing for ops of which only their tensors are known (family
// generic), and no compute arm for products in a dtype that an NPU's matrix units are not said to
// take (it is converted on the way in).
#pragma once

#include <string>

#include "datasets/profiles/profile_io.h"
#include "hardware/platform.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// 0 = not known.
double least_time_us(const OpGeometry& geometry, const DeviceSpec& device);

// Bounds for drop_impossible() by the hardware file `device`, or where that is "" by the one of
// each row's own device; 0 for devices that have none.
BoundFn row_bounds(const std::string& device);

}  // namespace dfsim::inline opmodel
