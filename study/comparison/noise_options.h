// NoiseOptions: how a comparison draws the times of repeated runs.
#pragma once

#include <cstddef>

namespace dfsim::inline study {

// Repeated runs with drawn times: each policy sees the same draws.
struct NoiseOptions {
  size_t runs = 0;  // 0 = one run with the times as they are
  // Standard deviation / time of each task in each run; 0 = the intervals of the operator times,
  // with one draw for all tasks that are the same operator.
  double cv = 0;
};

}  // namespace dfsim::inline study
