// Scores residuals by the interval, then takes the weighted quantile of the scores.
#include "opmodel/train/device_intervals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "opmodel/model/part_model.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kCoverage = 0.8;
constexpr double kLeastHalfWidth = 1e-3;  // in ln: an interval of no width covers nothing
constexpr size_t kLeastResiduals = 20;    // of a device

}  // namespace

double interval_score(const IntervalTable& table, const Residual& residual) {
  const auto [low, high] = interval_at(table, residual.predicted_us);
  const double half_width = residual.log_ratio < 0 ? -std::log(low) : std::log(high);
  return std::abs(residual.log_ratio) / std::max(half_width, kLeastHalfWidth);
}

double interval_scale_of(const IntervalTable& table, std::span<const DeviceResidual> residuals) {
  if (residuals.size() < kLeastResiduals) {
    return 1;
  }
  std::map<uint32_t, double> rows;
  for (const DeviceResidual& entry : residuals) {
    rows[entry.recording] += 1;
  }
  std::vector<std::pair<double, double>> scores;  // and weights
  for (const DeviceResidual& entry : residuals) {
    scores.emplace_back(interval_score(table, entry.residual), 1 / rows[entry.recording]);
  }
  std::sort(scores.begin(), scores.end());
  const double wanted = kCoverage * static_cast<double>(rows.size());
  double covered = 0;
  for (const auto& [score, weight] : scores) {
    covered += weight;
    if (covered >= wanted) {
      return score;
    }
  }
  return scores.back().first;
}

}  // namespace dfsim::inline opmodel
