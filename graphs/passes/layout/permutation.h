// Permutations as Transpose's attribute has them: axis i of the result is axis perm[i] of the
// source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace dfsim::inline graphs {

using Permutation = std::vector<int64_t>;

inline bool is_identity(const Permutation& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) {
      return false;
    }
  }
  return true;
}

inline Permutation inverse(const Permutation& perm) {
  Permutation result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  return result;
}

// What `first`, then `second` amount to.
inline Permutation composed(const Permutation& first, const Permutation& second) {
  Permutation result;
  result.reserve(second.size());
  for (const int64_t axis : second) {
    result.push_back(first[static_cast<size_t>(axis)]);
  }
  return result;
}

// The permutation that is left when these axes of the source are gone.
inline Permutation without_axes(const Permutation& perm, const std::vector<int64_t>& axes) {
  Permutation result;
  for (const int64_t axis : perm) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      result.push_back(axis - std::count_if(axes.begin(), axes.end(),
                                            [axis](int64_t gone) { return gone < axis; }));
    }
  }
  return result;
}

// The permutation when source and result get new axes at these places.
inline Permutation with_axes(const Permutation& perm, const std::vector<int64_t>& axes) {
  const size_t rank = perm.size() + axes.size();
  const auto is_new = [&axes](size_t axis) {
    return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
  };
  std::vector<int64_t> place;  // of each old axis
  for (size_t i = 0; i < rank; ++i) {
    if (!is_new(i)) {
      place.push_back(static_cast<int64_t>(i));
    }
  }
  Permutation result;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    result.push_back(is_new(i) ? static_cast<int64_t>(i)
                               : place[static_cast<size_t>(perm[next++])]);
  }
  return result;
}

// Axes of the transposed tensor as axes of the source; false when one is out of range.
inline bool source_axes(const Permutation& perm, std::vector<int64_t>* axes) {
  for (int64_t& axis : *axes) {
    axis += axis < 0 ? static_cast<int64_t>(perm.size()) : 0;
    if (axis < 0 || axis >= static_cast<int64_t>(perm.size())) {
      return false;
    }
    axis = perm[static_cast<size_t>(axis)];
  }
  return true;
}

}  // namespace dfsim::inline graphs
