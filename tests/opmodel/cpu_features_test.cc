// Features of how CPUs' kernels divide convolutions and products: computed by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/opmodel/op_features.h"

namespace dfsim {
namespace {

TEST_CASE(
    "Register features: a convolution counts columns, channel blocks and windows over the edge") {
  const std::string attributes = "dilations=1,1;group=1;kernel_shape=3,5;pads=1,2,1,2;strides=1,2";
  const auto found =
      op_features("com.microsoft.nchwc.Conv", OpClass::kConv,
                  {{1, 160, 9, 14}, {72, 160, 3, 5}, {72}}, {{1, 72, 9, 7}}, attributes);
  CHECK(found.at("blocked") == 1);
  CHECK(found.at("operands") == 3);
  CHECK(found.at("fill_OW3x1") == Approx(std::log(9.0 / 7)));
  CHECK(found.at("fill_OW6x1") == Approx(std::log(12.0 / 7)));
  CHECK(found.at("fill_O8x1") == Approx(0));  // 9 blocks of 8
  CHECK(found.at("fill_O8x4") == Approx(std::log(12.0 / 9)));
  CHECK(found.at("last_O8x4") == 1);
  CHECK(found.at("fill_O16x1") == Approx(std::log(80.0 / 72)));
  CHECK(found.at("C_passes") == Approx(std::log(2)));
  CHECK(found.at("filter") == Approx(std::log(160 * 15)));
  CHECK(found.at("inner0x0") == Approx(7.0 / 9));  // all rows but the first and the last
  CHECK(found.at("inner1x0") == Approx(5.0 / 7));  // begin at columns -2, 0, ..., 10: 0 to 8 fit
  CHECK(found.at("dilation") == 1);
  CHECK(op_features("Conv", OpClass::kConv, {{1, 8, 4, 4}, {8, 8, 1, 1}}, {{1, 8, 4, 4}}, "")
            .at("blocked") == 0);
}

TEST_CASE("Register features: a product counts rows, columns and passes over the summed axis") {
  const auto found =
      op_features("com.microsoft.FusedMatMul", OpClass::kMatMul, {{2, 10, 200}, {2, 40, 200}},
                  {{2, 10, 40}}, "transA=0;transB=1;transBatchA=0;transBatchB=0");
  CHECK(found.at("fill_M6x1") == Approx(std::log(1.2)));
  CHECK(found.at("fill_M12x1") == Approx(std::log(1.2)));
  CHECK(found.at("fill_N16x1") == Approx(std::log(1.2)));
  CHECK(found.at("fill_N64x1") == Approx(std::log(1.6)));
  CHECK(found.at("K_passes") == Approx(std::log(2)));
  CHECK(found.at("operands") == 2);
  CHECK(found.at("trans_a") == 0);
  CHECK(found.at("trans_b") == 1);
}

TEST_CASE("Permutation features: recognise one moved axis and count axes of one element") {
  const auto moves = [](const std::vector<int64_t>& x, const std::string& perm) {
    return op_features("Transpose", OpClass::kDataMovement, {x}, {x}, "perm=" + perm)
        .at("moves_one_axis");
  };
  CHECK(moves({8, 196, 128}, "0,2,1") == 1);
  CHECK(moves({8, 196, 1, 128}, "0,2,3,1") == 1);
  CHECK(moves({8, 196, 1, 128}, "2,0,3,1") == 0);  // the same bytes move
  CHECK(moves({2, 3, 4, 5}, "0,3,2,1") == 0);
  CHECK(op_features("Concat", OpClass::kDataMovement, {{4}, {4}}, {{8}}, "axis=0")
            .at("moves_one_axis") == -1);
}

TEST_CASE("CPU features: models of GPUs lack them, and models with fewer features still work") {
  for (const Family family : {Family::kGemm, Family::kConv, Family::kGeneric}) {
    const auto& of_cpus = feature_names(family, FeatureSet::kOfCpus);
    const auto& of_gpus = feature_names(family, FeatureSet::kOfGpus);
    const auto [own, end] = std::mismatch(of_gpus.begin(), of_gpus.end(), of_cpus.begin());
    const std::vector<std::string> common(of_gpus.begin(), own);
    REQUIRE(common.size() < of_cpus.size());
    for (const std::string name : {"operands", "moves_one_axis"}) {
      CHECK(std::find(of_gpus.begin(), of_gpus.end(), name) == of_gpus.end());
    }
    CHECK(feature_set_of(family, of_cpus) == FeatureSet::kOfCpus);
    CHECK(feature_set_of(family, of_gpus) == FeatureSet::kOfGpus);
    CHECK(feature_set_of(family, common) == FeatureSet::kOfGpus);
  }
  CHECK(feature_names(Family::kRows, FeatureSet::kOfGpus) ==
        feature_names(Family::kRows, FeatureSet::kOfCpus));
}

TEST_CASE("GPU features: a convolution knows its bias, and a depthwise one its channels last") {
  const auto features = [](Shapes in, const std::string& attributes) {
    return op_features("Conv", OpClass::kConv, std::move(in), {{2, 8, 6, 6}}, attributes,
                       FeatureSet::kOfGpus, DType::kFloat16);
  };
  const Shapes dense = {{2, 8, 8, 8}, {8, 8, 3, 3}};
  const Shapes depthwise = {{2, 8, 8, 8}, {8, 1, 3, 3}};
  CHECK(features(dense, "group=1").at("bias") == 0);
  CHECK(features(dense, "group=1").at("bias_pass") == 0);
  CHECK(features({dense[0], dense[1], {8}}, "group=1").at("bias") == 1);
  CHECK(features({dense[0], dense[1], {8}}, "group=1").at("bias_pass") ==
        Approx(features(dense, "group=1").at("result_pass")).epsilon(0.01));
  CHECK(features(dense, "group=1").at("padding") == 0);
  CHECK(features(depthwise, "channels_last=1;group=8").at("last") == 1);
  CHECK(features(depthwise, "group=8").at("last") == 0);
  CHECK(features(dense, "channels_last=1;group=1").at("last") == 0);  // by a law
}

}  // namespace
}  // namespace dfsim
