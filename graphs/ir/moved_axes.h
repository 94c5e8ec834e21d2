// A rule for transpositions that move no data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dfsim::inline graphs {

// Whether only axes of one element change their place, so that the result is a copy of the source.
// Axis i of the result is axis perm[i] of the source; `extents` are the source's. O(rank).
template <typename Axis>
bool moves_only_single_elements(const std::vector<Axis>& perm,
                                const std::vector<int64_t>& extents) {
  Axis last = 0;
  for (const Axis axis : perm) {
    if (extents[static_cast<size_t>(axis)] != 1) {
      if (axis < last) {
        return false;
      }
      last = axis;
    }
  }
  return true;
}

}  // namespace dfsim::inline graphs
