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
  for (const Family family : {Family::kGemm, Family::kConv, Family::kRows, Family::kGeneric}) {
    const auto& of_cpus = feature_names(family, FeatureSet::kOfCpus);
    const auto& of_gpus = feature_names(family, FeatureSet::kOfGpus);
    const auto [own, end] = std::mismatch(of_gpus.begin(), of_gpus.end(), of_cpus.begin());
    const std::vector<std::string> common(of_gpus.begin(), own);
    REQUIRE(common.size() < of_cpus.size());
    for (const std::string name : {"operands", "moves_one_axis", "copy_way"}) {
      CHECK(std::find(of_gpus.begin(), of_gpus.end(), name) == of_gpus.end());
    }
    CHECK(feature_set_of(family, of_cpus) == FeatureSet::kOfCpus);
    CHECK(feature_set_of(family, of_gpus) == FeatureSet::kOfGpus);
    CHECK(feature_set_of(family, common) == FeatureSet::kOfGpus);
  }
  CHECK(feature_names(Family::kAttention, FeatureSet::kOfGpus) ==
        feature_names(Family::kAttention, FeatureSet::kOfCpus));
}

TEST_CASE("CPU features: fused activations by the time of their second pass") {
  const auto rank = [](const std::string& attributes) {
    return op_features("com.microsoft.nchwc.Conv", OpClass::kConv, {{1, 16, 9, 9}, {16, 16, 1, 1}},
                       {{1, 16, 9, 9}}, attributes)
        .at("activation");
  };
  CHECK(rank("") == 0);
  CHECK(rank("activation=Relu") == 1);
  CHECK(rank("activation=HardSigmoid") < rank("activation=Clip"));
  CHECK(rank("activation=Clip") < rank("activation=Sigmoid"));
  CHECK(rank("activation=Softplus") > rank("activation=Sigmoid"));  // not known
  CHECK(op_features("com.microsoft.FusedGemm", OpClass::kMatMul, {{2, 3}, {3, 4}}, {{2, 4}},
                    "activation=Tanh;transA=0;transB=0")
            .at("activation") == rank("activation=Tanh"));
}

// Ways by ONNX Runtime's sources: 0 as it lies, 1 and 2 one axis, 3 pieces, 4 elements.
TEST_CASE("Copy features: a transposition's way counts axes of one element") {
  const auto check_way = [](const std::vector<int64_t>& x, const std::string& perm, double way,
                            double piece) {
    CAPTURE(perm);
    const auto found = op_features("Transpose", OpClass::kDataMovement, {x}, {x}, "perm=" + perm);
    CHECK(found.at("copy_way") == way);
    CHECK(found.at("copy_piece") == Approx(std::log(piece)));
  };
  check_way({1, 1, 8, 64}, "2,0,1,3", 0, 512);    // only axes of one element move
  check_way({8, 3, 56, 56}, "0,2,3,1", 2, 1);     // the channels become the last axis
  check_way({8, 56, 56, 3}, "0,3,1,2", 1, 1);     // and back
  check_way({8, 128, 12, 64}, "0,2,1,3", 2, 64);  // heads: rows of 64 are copied
  check_way({8, 128, 12, 64}, "1,2,0,3", 2, 64);  // the first axis moves behind the third
  check_way({4, 5, 6, 7}, "2,1,0,3", 3, 7);
  check_way({4, 5, 6, 7}, "3,1,2,0", 4, 1);
  check_way({1, 128, 8, 64}, "2,1,3,0", 4, 1);  // the last axis has one element, but moves
}

TEST_CASE("Copy features: Softmax over an inner axis swaps it with the last one") {
  const auto way = [](const std::vector<int64_t>& x, const std::string& axis) {
    return op_features("Softmax", OpClass::kSoftmax, {x}, {x}, "axis=" + axis).at("copy_way");
  };
  CHECK(way({1, 3137, 8, 8}, "1") == 4);
  CHECK(way({1, 4, 196, 64}, "2") == 2);
  CHECK(way({1, 4, 196, 64}, "3") == -1);
  CHECK(op_features("Add", OpClass::kElementwise, {{4}, {4}}, {{4}}).at("copy_way") == -1);
}

// 0 general, 1 the last axes, 2 the first, 3 the middle, 4 all but the middle.
TEST_CASE("Reduction features: vectors are added from two kept elements in front") {
  const auto way = [](const std::string& type, const std::vector<int64_t>& x,
                      const std::string& axes) {
    return op_features(type, OpClass::kReduce, {x}, {{1}}, "axes=" + axes + ";keepdims=1")
        .at("reduce_way");
  };
  CHECK(way("ReduceMean", {2, 64, 14, 14}, "1") == 3);
  CHECK(way("ReduceMean", {1, 64, 14, 14}, "1") == 0);
  CHECK(way("ReduceMean", {1, 64, 14, 14}, "2,3") == 1);
  CHECK(way("ReduceSum", {300, 64}, "0") == 2);
  CHECK(way("ReduceSum", {200, 64}, "0") == 0);  // too few for vectors
  CHECK(way("ReduceMax", {4, 8, 5}, "0,2") == 4);
  CHECK(way("ReduceMax", {4, 1, 5}, "0,2") == 0);
  CHECK(way("ReduceL2", {2, 64, 14, 14}, "1") == 0);
  CHECK(way("ReduceMean", {2, 3, 4, 5}, "1,3") == 0);  // K R K R
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
