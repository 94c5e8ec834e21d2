#include "opmodel/train/device_intervals.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "opmodel/model/part_model.h"

namespace dfsim {
namespace {

const IntervalTable kTenPercent = {{}, {std::exp(-0.1)}, {std::exp(0.1)}};

std::vector<DeviceResidual> residuals_of(uint32_t recording, size_t count, double log_ratio) {
  return std::vector<DeviceResidual>(count, {0, recording, {50, log_ratio}});
}

void append(std::vector<DeviceResidual>& all, const std::vector<DeviceResidual>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

TEST_CASE("Device intervals: a score is the error over the half-width on its side") {
  const IntervalTable table = {{100}, {0.5, std::exp(-0.2)}, {2, std::exp(0.1)}};
  CHECK(interval_score(table, {50, std::log(2) / 2}) == Approx(0.5));
  CHECK(interval_score(table, {200, 0.3}) == Approx(3));
  CHECK(interval_score(table, {200, -0.3}) == Approx(1.5));
  CHECK(interval_score(table, {200, 0}) == 0);
}

TEST_CASE("Device intervals: every recording counts alike, however many rows it has") {
  // 1000 rows without an error are half of the weight; of ten others with scores 0.1 to 1, six make
  // 80 % of the whole.
  std::vector<DeviceResidual> residuals = residuals_of(0, 1000, 0);
  for (int i = 1; i <= 10; ++i) {
    append(residuals, residuals_of(1, 1, i % 2 == 0 ? 0.01 * i : -0.01 * i));
  }
  CHECK(interval_scale_of(kTenPercent, residuals) == Approx(0.6));
}

TEST_CASE("Device intervals: the scaled interval holds four of five errors") {
  std::vector<DeviceResidual> residuals;
  for (int i = 1; i <= 100; ++i) {
    append(residuals, residuals_of(0, 1, 0.004 * i));
  }
  const double scale = interval_scale_of(kTenPercent, residuals);
  CHECK(scale == Approx(3.2));
  const auto [low, high] = scaled_interval_at(kTenPercent, scale, 50);
  CHECK(high == Approx(std::exp(0.32)));
  CHECK(low == Approx(std::exp(-0.32)));
}

TEST_CASE("Device intervals: few residuals change nothing") {
  CHECK(interval_scale_of(kTenPercent, residuals_of(0, 5, 1)) == 1);
  CHECK(interval_scale_of(kTenPercent, {}) == 1);
}

}  // namespace
}  // namespace dfsim
