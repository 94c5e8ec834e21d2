// Percentiles of samples.
#pragma once

#include <algorithm>
#include <vector>

#include "base/units.h"

namespace dfsim::inline sim {

// Nearest-rank percentile of ascending, non-empty samples: the smallest one that at least `percent`
// per cent of the samples do not exceed.
inline TimeNs percentile(const std::vector<TimeNs>& ascending, size_t percent) {
  const size_t rank = (ascending.size() * percent + 99) / 100;
  return ascending[std::max<size_t>(rank, 1) - 1];
}

}  // namespace dfsim::inline sim
