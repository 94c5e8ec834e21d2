// ErrorAccumulator: errors of predictions against measured times, as every report states them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

class ErrorAccumulator {
 public:
  // Times in one unit, `measured` > 0. `inside`: the 80 % interval held it.
  void add(double predicted, double measured, bool inside) {
    errors_.push_back(std::abs(predicted / measured - 1));
    predicted_ += predicted;
    measured_ += measured;
    inside_ += inside ? 1 : 0;
  }
  size_t count() const { return errors_.size(); }

  // All 0 when nothing was added. O(n).
  ErrorStats stats() const {
    ErrorStats stats;
    stats.n = static_cast<int64_t>(errors_.size());
    if (errors_.empty()) {
      return stats;
    }
    std::vector<double> sorted = errors_;
    std::sort(sorted.begin(), sorted.end());
    const double n = static_cast<double>(sorted.size());
    for (const double error : sorted) {
      stats.mape += error / n;
    }
    const size_t middle = sorted.size() / 2;
    stats.median =
        sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    stats.p90 = sorted[static_cast<size_t>(std::ceil(0.9 * n)) - 1];
    stats.bias = predicted_ / measured_ - 1;
    stats.interval = static_cast<double>(inside_) / n;
    return stats;
  }

 private:
  std::vector<double> errors_;
  double predicted_ = 0;
  double measured_ = 0;
  size_t inside_ = 0;
};

}  // namespace dfsim::inline opmodel
