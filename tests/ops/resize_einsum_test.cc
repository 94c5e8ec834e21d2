// Sizes of Resize as runtimes compute them, and the work of an Einsum of several operands.
#include <catch2/catch.hpp>

#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

OpCase resized(int64_t extent, double scale) {
  return {"Resize", {operand({1, 1, extent}), floats({}), floats({1, 1, scale})}, {}, 19};
}

TEST_CASE("Resize: extents are computed in single precision") {
  // The nearest float to 0.7 is less than 0.7; its product with 10 rounds to 7 in single precision.
  CHECK(infer(resized(10, static_cast<double>(0.7F))).shape() == "1x1x7");
  CHECK(infer(resized(10, static_cast<double>(0.3F))).shape() == "1x1x3");
  CHECK(infer(resized(9, static_cast<double>(1.5F))).shape() == "1x1x13");
}

TEST_CASE("Resize: a policy keeps the ratio of the sides") {
  const auto fitted = [](const char* policy) {
    return infer({"Resize",
                  {operand({1, 1, 30, 60}), absent(), absent(), ints({20, 20})},
                  {{"keep_aspect_ratio_policy", std::string(policy)}, {"axes", Ints{2, 3}}},
                  19})
        .shape();
  };
  CHECK(fitted("stretch") == "1x1x20x20");
  CHECK(fitted("not_larger") == "1x1x10x20");
  CHECK(fitted("not_smaller") == "1x1x20x40");
}

TEST_CASE("Upsample: reads the scales of opset 1 and of ONNX Runtime's blocked form") {
  CHECK(infer({"Upsample",
               {operand({1, 8, 5, 5})},
               {{"scales", Ints{1, 1, 2, 3}}},
               1,
               1,
               "com.microsoft.nchwc"})
            .shape() == "1x8x10x15");
  CHECK(
      infer({"Upsample", {operand({1, 8, 5, 5})}, {{"height_scale", 2.0}, {"width_scale", 3.0}}, 1})
          .shape() == "1x8x10x15");
}

TEST_CASE("Einsum: three operands are contracted in pairs") {
  // ij,jk: 2 x 3 x 4 multiply-adds; ik,kl: 2 x 4 x 5.
  const OpOutcome chain = infer({"Einsum",
                                 {operand({2, 3}), operand({3, 4}), operand({4, 5})},
                                 {{"equation", std::string("ij,jk,kl->il")}}});
  CHECK(chain.shape() == "2x5");
  CHECK(chain.work().macs == 2 * 3 * 4 + 2 * 4 * 5);
  // An axis that only one operand has is summed before the product.
  const OpOutcome summed = infer(
      {"Einsum", {operand({2, 7}), operand({2, 3})}, {{"equation", std::string("ij,ik->k")}}});
  CHECK(summed.work().macs == 2 * 3);
  CHECK(summed.work().flops == 2 * 2 * 3 + 2 * 7);
}

TEST_CASE("Slice: unknown ends leave an upper bound, marked as such") {
  const OpOutcome outcome = infer(
      {"Slice", {operand({5, 6}), ints({0}), operand({1}, DType::kInt64), ints({1})}, {}, 13});
  REQUIRE(outcome.status.ok());
  CHECK(outcome.shape() == "5x6");
  CHECK(outcome.output().data_dependent);
}

TEST_CASE("Pad: negative pads cut") {
  const OpOutcome outcome = infer({"Pad", {ints({1, 2, 3, 4}), ints({-1, 2})}, {}, 19});
  REQUIRE(outcome.value() != nullptr);
  CHECK(outcome.value()->ints == Ints{2, 3, 4, 0, 0});
}

}  // namespace
}  // namespace dfsim
