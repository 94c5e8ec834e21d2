// Length ranges: checks of the factors, and one draw per request. The low end is rounded down as
// the clients' `int(length * ratio)` does, and at least one token.
#include "serving/workload/lengths.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline serving {
namespace {

constexpr int64_t kMaxRequestTokens = 100'000'000;

}  // namespace

int64_t LengthRange::draw(Rng& rng) const {
  // No draw for a fixed length: a fixed prompt must not change the random outputs.
  return low == high ? low
                     : low + static_cast<int64_t>(rng.below(static_cast<uint64_t>(high - low + 1)));
}

StatusOr<LengthRange> make_length_range(const std::string& what, int64_t tokens, double low_factor,
                                        double high_factor) {
  if (tokens < 1 || tokens > kMaxRequestTokens) {
    return invalid_input(what + ": " + std::to_string(tokens) + " tokens, expected 1 to 100000000");
  }
  if (!(low_factor > 0) || !(high_factor <= 10) || !(low_factor <= high_factor)) {
    return invalid_input(what + ": a length range from " + std::to_string(low_factor) + " to " +
                         std::to_string(high_factor) +
                         " times the length, expected 0 < low <= high <= 10");
  }
  const double length = static_cast<double>(tokens);
  LengthRange range;
  range.low = std::max<int64_t>(1, static_cast<int64_t>(std::floor(length * low_factor + 1e-9)));
  range.high = std::max(range.low, static_cast<int64_t>(std::floor(length * high_factor + 1e-9)));
  return range;
}

}  // namespace dfsim::inline serving
