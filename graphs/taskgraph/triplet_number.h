// Numbers of TripletRun's files, which are written as texts ("1000") or as numbers.
#pragma once

#include <cstdint>

#include "base/json/json_events.h"
#include "base/status.h"

namespace dfsim::inline graphs::taskgraph {

inline constexpr double kBytesPerKb = 1024;

// Error (kInvalidInput, without place): no finite number.
StatusOr<double> triplet_number(const JsonEvent& event);
// Error: no whole number from 0 to 10^9.
StatusOr<int64_t> triplet_id(const JsonEvent& event);

}  // namespace dfsim::inline graphs::taskgraph
