#include "opmodel/train/recording_effects.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "opmodel/model/part_model.h"
#include "opmodel/model/trained_model.h"
#include "opmodel/train/device_intervals.h"
#include "tests/opmodel/synthetic_profile.h"
#include "tests/opmodel/train_in_folder.h"

namespace dfsim {
namespace {

constexpr double kLaunchUs = 20;

// Eager rows of a recording of the toy GPU whose clock falls from 1 / slowest_first to 1 / slowest.
void add_recording(Profile& profile, const std::string& name, size_t rows, uint64_t seed,
                   double slow_first, double slow_last) {
  Rng rng(seed);
  for (size_t i = 0; i < rows; ++i) {
    const auto m = static_cast<int64_t>(256 + rng.below(2000));
    const auto n = static_cast<int64_t>(256 + rng.below(2000));
    const auto k = static_cast<int64_t>(256 + rng.below(2000));
    const double slow =
        slow_first + (slow_last - slow_first) * static_cast<double>(i) / static_cast<double>(rows);
    const double kernel =
        toy_gemm_us(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k));
    ProfileRow row = make_row(profile, "MatMul", OpClass::kMatMul, {f32({m, k}), f32({k, n})},
                              {f32({m, n})}, kLaunchUs + slow * kernel);
    row.timing = TimingKind::kLaunchInclusive;
    row.provenance = profile.intern(name);
    profile.add(row);
  }
}

// Mean of ln(prediction / the healthy board's time) over shapes that no recording has.
double bias_of(const std::string& folder) {
  const auto model = TrainedModel::load(folder);
  REQUIRE(model.ok());
  const DeviceSpec device = *(*model)->manifest().find_device(kToyDevice);
  Rng rng(99);
  std::vector<OpDescriptor> ops;
  std::vector<OpGeometry> geometries;
  std::vector<double> truth;
  for (int i = 0; i < 60; ++i) {
    const auto m = static_cast<int64_t>(600 + rng.below(1500));
    const auto n = static_cast<int64_t>(600 + rng.below(1500));
    OpDescriptor op;
    op.op_type = "MatMul";
    op.op_class = OpClass::kMatMul;
    op.dtype = DType::kFloat32;
    op.input_extents = {{m, 1000}, {1000, n}};
    op.input_dtypes = {op.dtype, op.dtype};
    op.output_extents = {{m, n}};
    op.output_dtypes = {op.dtype};
    op.work.flops = 2 * m * n * 1000;
    op.work.dtype = op.dtype;
    geometries.push_back(geometry_of(op));
    ops.push_back(std::move(op));
    truth.push_back(kLaunchUs + toy_gemm_us(static_cast<double>(m), static_cast<double>(n), 1000));
  }
  const auto answers = (*model)->predict_as(
      ops, geometries, device, {.timing = TimingKind::kLaunchInclusive, .use_lookup = false});
  REQUIRE(answers.ok());
  double sum = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    sum += std::log((*answers)[i].time_us / truth[i]);
  }
  return sum / static_cast<double>(ops.size());
}

const RecordingEffect* effect_of(const TrainReport& report, const std::string& recording) {
  for (const RecordingEffect& effect : report.manifest.parts.at(0).recordings) {
    if (effect.recording == recording) {
      return &effect;
    }
  }
  return nullptr;
}

TEST_CASE("Recordings: a model follows the healthy board, not the throttled one with more rows") {
  const TempFolder folder;
  Profile profile;
  add_recording(profile, "hot", 900, 1, 1.3, 1.6);
  add_recording(profile, "cool", 200, 2, 1, 1);
  const TrainReport report = train(profile, folder / "m");
  REQUIRE(report.manifest.parts.size() == 1);
  CHECK(report.manifest.parts[0].recording_column);
  const RecordingEffect* hot = effect_of(report, "hot");
  const RecordingEffect* cool = effect_of(report, "cool");
  REQUIRE(hot != nullptr);
  REQUIRE(cool != nullptr);
  CHECK(hot->throttled);
  CHECK_FALSE(cool->throttled);
  CHECK(hot->log_effect > std::log(1.25));
  CHECK(hot->log_effect < std::log(1.65));
  CHECK(std::abs(bias_of(folder / "m")) < 0.04);
  // Measured times of the throttled board must not answer.
  const auto model = TrainedModel::load(folder / "m");
  REQUIRE(model.ok());
  CHECK((*model)->lookup().size() <= 200);
}

TEST_CASE("Recordings: few rows of a healthy board say how much slower the other one is") {
  const TempFolder folder;
  Profile profile;
  add_recording(profile, "hot", 900, 1, 2, 2);
  add_recording(profile, "cool", 25, 2, 1, 1);
  const TrainReport report = train(profile, folder / "m");
  CHECK_FALSE(report.manifest.parts.at(0).recording_column);
  const RecordingEffect* hot = effect_of(report, "hot");
  REQUIRE(hot != nullptr);
  CHECK(hot->throttled);
  CHECK(std::abs(bias_of(folder / "m")) < 0.08);
}

TEST_CASE("Recordings: healthy boards count alike, and their spread widens the interval") {
  const TempFolder folder;
  Profile profile;
  add_recording(profile, "first", 800, 1, 1.06, 1.06);
  add_recording(profile, "second", 400, 2, 1, 1);
  const TrainReport report = train(profile, folder / "m");
  const ModelPart& part = report.manifest.parts.at(0);
  CHECK_FALSE(part.recording_column);
  REQUIRE(part.recordings.size() == 2);
  for (const RecordingEffect& effect : part.recordings) {
    CHECK_FALSE(effect.throttled);
  }
  const double bias = bias_of(folder / "m");
  CHECK(bias > 0);
  CHECK(bias < std::log(1.06));
}

TEST_CASE("Recordings: widening adds the spread as an independent error") {
  IntervalTable table{{}, {0.9}, {1.1}};
  widen_by_recordings({{"d", "a", 9, 0, false}, {"d", "b", 9, 0.05, false}}, &table);
  CHECK(table.low[0] == Approx(std::exp(-std::hypot(std::log(0.9), 0.05))));
  CHECK(table.high[0] == Approx(std::exp(std::hypot(std::log(1.1), 0.05))));
  IntervalTable same{{}, {0.9}, {1.1}};
  widen_by_recordings({}, &same);
  CHECK(same.low[0] == 0.9);
}

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
