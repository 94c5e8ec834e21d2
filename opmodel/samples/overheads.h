// Overheads: what measuring added to each operator's time, such as a profiler's own bookkeeping.
//
// Purpose: a model learns times as they were recorded, whose relative spread is small, and takes
// the
//   overhead off what it predicts (TrainedModel::predict). Taken off before, what is left of short
//   operators would be mostly noise.
// File: a JSON object of device names, as the profile has them, and microseconds:
//   {"AMD EPYC Milan, 1 thread": 7.65, "AMD EPYC Milan, 2 threads": 11.7}
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "hardware/platform.h"

namespace dfsim::inline opmodel {

using Overheads = std::vector<std::pair<std::string, double>>;  // by device, in us

// Errors: kNotFound, kInvalidInput (no such object, a value that is no number from 0 to 1e6).
StatusOr<Overheads> read_overheads(const std::string& path);

// Error (kNotFound): one is of none of these devices; names the nearest.
Status check_overheads(const Overheads& overheads, std::span<const DeviceSpec> devices);

}  // namespace dfsim::inline opmodel
