// Tests the answers of the lookup table for shapes whose measurements scatter.
#include "opmodel/model/measured_times.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/rng.h"
#include "opmodel/model/lookup_table.h"
#include "tests/opmodel/synthetic_profile.h"
#include "tests/opmodel/train_in_folder.h"

namespace dfsim {
namespace {

TEST_CASE(
    "weight_of_measurements: rises with the number of measurements and falls with their scatter") {
  CHECK(weight_of_measurements(0, 0.1, 1) == 1);
  // Own error 0.3^2 - 0.1^2 = 0.08; against 0.01 / n.
  CHECK(weight_of_measurements(0.1, 0.3, 1) == Approx(0.08 / 0.09));
  CHECK(weight_of_measurements(0.1, 0.3, 4) == Approx(0.08 / 0.0825));
  // Trees that err no more than the measurements do are believed.
  CHECK(weight_of_measurements(0.2, 0.2, 1) == Approx(0.0004 / 0.0404));
}

TEST_CASE("noise_of: measures by how much repeated shapes differ") {
  std::vector<std::vector<double>> repeats(kMinRepeatedShapes, {100.0, 110.0});
  CHECK(noise_of(repeats) == Approx(1.4826 * std::log(1.1) / std::sqrt(2.0)));
  repeats.pop_back();
  CHECK(noise_of(repeats) == 0);  // too few to say
  repeats.emplace_back(1, 100.0);
  CHECK(noise_of(repeats) == 0);
}

// 300 shapes, each measured twice with noise of 30 %: the table is nearer to the truth than the
// means of the measurements are.
TEST_CASE("Measured times: scattered measurements are adjusted towards the trees") {
  const TempFolder folder;
  Profile profile;
  Rng rng(7);
  const auto noise = [&rng] { return std::exp(0.6 * (rng.uniform() - 0.5) * std::sqrt(3.0)); };
  double own = 0;
  std::vector<std::pair<std::vector<int64_t>, double>> truth;
  for (int i = 0; i < 600; ++i) {
    const auto m = static_cast<int64_t>(64 + rng.below(2000));
    const auto n = static_cast<int64_t>(64 + rng.below(2000));
    const double true_us = toy_gemm_us(static_cast<double>(m), static_cast<double>(n), 512);
    double mean = 0;
    for (int repeat = 0; repeat < 2; ++repeat) {
      const double measured_us = true_us * noise();
      mean += std::log(measured_us) / 2;
      profile.add(make_row(profile, "MatMul", OpClass::kMatMul, {f32({m, 512}), f32({512, n})},
                           {f32({m, n})}, measured_us));
    }
    own += std::abs(mean - std::log(true_us));
    truth.push_back({{m, n}, true_us});
  }
  train(profile, folder / "toy");
  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  double drawn = 0;
  for (const auto& [shape, true_us] : truth) {
    OpDescriptor op;
    op.op_type = "MatMul";
    op.op_class = OpClass::kMatMul;
    op.dtype = DType::kFloat32;
    op.input_extents = {{shape[0], 512}, {512, shape[1]}};
    op.output_extents = {{shape[0], shape[1]}};
    op.input_dtypes.assign(2, DType::kFloat32);
    op.output_dtypes.assign(1, DType::kFloat32);
    const OpGeometry geometry = geometry_of(op);
    const auto found = (*model)->lookup().find_us(
        lookup_key(geometry, (*model)->manifest().devices.at(0).model, TimingKind::kKernelOnly));
    REQUIRE(found.has_value());
    drawn += std::abs(std::log(*found / true_us));
  }
  CHECK(drawn < 0.8 * own);
}

}  // namespace
}  // namespace dfsim
