// The points of a sweep: series are written out, patterns become files, settings are combined.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "study/sweep/sweep_options.h"

namespace dfsim::inline study {

inline constexpr size_t kMaxSweepPoints = 2'000'000;

// Numbers of at least 1: "8" is 8, "1:4" is 1 2 3 4, "2:8:3" is 2 5 8, "1:256:x2" is 1 2 4 ... 256.
// The end is included when a step meets it. `option` names the place in messages. Error: anything
// else, and series of more than kMaxSweepPoints numbers.
StatusOr<std::vector<int64_t>> parse_series(std::string_view text, std::string_view option);

// All points in order: of the product, the first axis (models) changes slowest and the batch
// fastest. Errors: a malformed value, a pattern that no file matches, lists of different lengths
// under zip, no point, and more points than kMaxSweepPoints. O(points).
StatusOr<std::vector<SweepPoint>> plan_sweep(const SweepOptions& options);

}  // namespace dfsim::inline study
