// Sets of time, as sorted intervals that do not touch.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace dfsim::inline study {

using Interval = std::pair<double, double>;  // begin and end
using Intervals = std::vector<Interval>;

// The union of any intervals. O(n log n).
inline Intervals unite(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals united;
  for (const Interval& interval : intervals) {
    if (!united.empty() && interval.first <= united.back().second) {
      united.back().second = std::max(united.back().second, interval.second);
    } else {
      united.push_back(interval);
    }
  }
  return united;
}

// What of `a` is not in `b`; both united. O(|a| + |b|).
inline Intervals subtract(const Intervals& a, const Intervals& b) {
  Intervals rest;
  size_t first = 0;
  for (const Interval& interval : a) {
    double from = interval.first;
    while (first < b.size() && b[first].second <= from) {
      ++first;
    }
    for (size_t i = first; i < b.size() && b[i].first < interval.second; ++i) {
      if (b[i].first > from) {
        rest.emplace_back(from, b[i].first);
      }
      from = std::max(from, b[i].second);
    }
    if (from < interval.second) {
      rest.emplace_back(from, interval.second);
    }
  }
  return rest;
}

inline double total_length(const Intervals& intervals) {
  double length = 0;
  for (const auto& [begin, end] : intervals) {
    length += end - begin;
  }
  return length;
}

}  // namespace dfsim::inline study
