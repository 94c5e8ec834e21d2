// Median and spread of repeated measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace dfsim::inline datasets {

// Of a list that is not empty; the mean of the middle two for an even number. Reorders. O(n).
inline double median(std::vector<double>& values) {
  DFSIM_CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Of a sample of at least two (divides by n - 1).
inline double standard_deviation(const std::vector<double>& values) {
  DFSIM_CHECK(values.size() > 1);
  double mean = 0;
  for (const double value : values) {
    mean += value;
  }
  mean /= static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace dfsim::inline datasets
