#include "study/validation/interval_fit.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

namespace dfsim {
namespace {

// Predicted 1 ms with an interval of +- 10 % (in ln) at scale 1; measured `percent` (in ln) longer.
ValidatedRun run_of(const std::string& network, double percent, double scale = 1,
                    const std::string& device = "cpu") {
  constexpr double kPredicted = 1e9;
  ValidatedRun run;
  run.network = network;
  run.device = device;
  run.predicted_ns = static_cast<TimeNs>(kPredicted);
  run.measured_ns = std::llround(kPredicted * std::exp(percent / 100));
  run.interval = {std::llround(kPredicted / std::exp(0.1 * scale)),
                  std::llround(kPredicted * std::exp(0.1 * scale))};
  run.interval_scale = scale;
  return run;
}

TEST_CASE("interval fit: the scale is a quantile of distances, judged without each network") {
  // Of 9 distances the (9 + 1) 0.8 = 8th, 16 % in half widths of 10 %.
  std::vector<ValidatedRun> runs;
  for (int i = 1; i <= 9; ++i) {
    runs.push_back(run_of("net" + std::to_string(i), (i % 2 == 0 ? 2.0 : -2.0) * i));
  }
  const auto fits = fit_intervals(runs);
  REQUIRE(fits.ok());
  REQUIRE(fits->size() == 1);
  CHECK((*fits)[0].device == "cpu");
  CHECK((*fits)[0].runs == 9);
  CHECK((*fits)[0].networks == 9);
  CHECK((*fits)[0].scale == Approx(1.6).epsilon(1e-6));
  // Without one of 8 %, its place among the rest is the ceil(9 x 0.8) = 8th of 8, the greatest:
  // 18 %. All are inside but the greatest itself, whose others reach 16 %.
  CHECK((*fits)[0].inside == Approx(8.0 / 9));
}

TEST_CASE("interval fit: the scale that intervals have is taken off first") {
  std::vector<ValidatedRun> plain;
  std::vector<ValidatedRun> scaled;
  for (int i = 1; i <= 5; ++i) {
    plain.push_back(run_of("net" + std::to_string(i), 3.0 * i));
    scaled.push_back(run_of("net" + std::to_string(i), 3.0 * i, 0.5));
  }
  const auto first = fit_intervals(plain);
  const auto again = fit_intervals(scaled);
  REQUIRE(first.ok());
  REQUIRE(again.ok());
  CHECK((*first)[0].scale == Approx(1.5).epsilon(1e-6));
  CHECK((*again)[0].scale == Approx((*first)[0].scale).epsilon(1e-6));
}

TEST_CASE("interval fit: runs of one network leave together; devices are fitted by themselves") {
  std::vector<ValidatedRun> runs;
  for (int i = 0; i < 5; ++i) {
    for (int batch = 0; batch < 4; ++batch) {
      runs.push_back(run_of("net" + std::to_string(i), i == 4 ? 40 : 2));
      runs.push_back(run_of("net" + std::to_string(i), 5, 1, "gpu"));
    }
  }
  const auto fits = fit_intervals(runs);
  REQUIRE(fits.ok());
  REQUIRE(fits->size() == 2);
  // 17 of 20 runs: 4.0; without that network 0.2, which leaves all of its own runs outside.
  CHECK((*fits)[0].scale == Approx(4.0).epsilon(1e-6));
  CHECK((*fits)[0].inside == Approx(0.8));
  CHECK((*fits)[1].scale == Approx(0.5).epsilon(1e-6));
  CHECK((*fits)[1].inside == Approx(1.0));
}

TEST_CASE("interval fit: few networks are refused, and so is a folder without a model") {
  std::vector<ValidatedRun> runs;
  for (int batch = 0; batch < 20; ++batch) {
    runs.push_back(run_of("net" + std::to_string(batch % 4), 2));
  }
  const auto fits = fit_intervals(runs);
  REQUIRE_FALSE(fits.ok());
  CHECK(fits.status().message().find("4 networks") != std::string::npos);
  CHECK_FALSE(write_interval_scales("/nonexistent", {}).ok());
}

}  // namespace
}  // namespace dfsim
