// Finds the parameters of a library's collectives from measurements.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "partition/collectives/collective_timings.h"

namespace dfsim::inline partition {

struct CollectiveSample {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int64_t ranks = 2;
  Bytes bytes = 0;
  double time_ns = 0;
};

// The mean absolute percentage errors, as fractions; 0 where there are no samples.
struct CollectiveMape {
  size_t small_rows = 0;  // up to kSmallCollective
  double small = 0;
  size_t large_rows = 0;
  double large = 0;
};
inline constexpr Bytes kSmallCollective = Bytes{64} << 10;

CollectiveMape collective_mape(const std::vector<CollectiveSample>& samples,
                               const std::vector<double>& predicted_ns);

// `protocols` ways of a call that make large errors + half of small errors least: seeded random
// steps from several starts, the best of all, sorted by rate. `samples` is not empty. The same
// samples give the same parameters. O(starts * steps * samples * protocols).
std::vector<CollectiveProtocol> fit_protocols(const std::vector<CollectiveSample>& samples,
                                              size_t protocols);

}  // namespace dfsim::inline partition
