#include "opmodel/model/intervals.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kBins = 4;
constexpr size_t kRowsPerBin = 100;
constexpr double kTail = 0.1;  // on either side

}  // namespace

IntervalTable interval_table(std::vector<Residual> residuals) {
  if (residuals.empty()) {
    return {{}, {0.5}, {2.0}};
  }
  std::sort(residuals.begin(), residuals.end(), [](const Residual& a, const Residual& b) {
    return a.predicted_us != b.predicted_us ? a.predicted_us < b.predicted_us
                                            : a.log_ratio < b.log_ratio;
  });
  const size_t bins = std::clamp<size_t>(residuals.size() / kRowsPerBin, 1, kBins);
  IntervalTable table;
  for (size_t bin = 0; bin < bins; ++bin) {
    const size_t first = residuals.size() * bin / bins;
    const size_t last = residuals.size() * (bin + 1) / bins;
    std::vector<double> logs;
    for (size_t i = first; i < last; ++i) {
      logs.push_back(residuals[i].log_ratio);
    }
    std::sort(logs.begin(), logs.end());
    // The (n + 1)(1 - tail)-th of n residuals bounds a new one with probability 1 - tail.
    const auto n = static_cast<double>(logs.size());
    const auto above = static_cast<size_t>(std::ceil((n + 1) * (1 - kTail)));
    const size_t high = std::min(above, logs.size()) - 1;
    table.low.push_back(std::exp(logs[logs.size() - 1 - high]));
    table.high.push_back(std::exp(logs[high]));
    if (bin + 1 < bins) {
      table.edges_us.push_back(residuals[last].predicted_us);
    }
  }
  return table;
}

}  // namespace dfsim::inline opmodel
