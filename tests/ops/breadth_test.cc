// Shapes and work of the families beyond the common networks: ONNX Runtime's operators, vision,
// signals, classical models, training.
#include <catch2/catch.hpp>

#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

const std::string kMs = "com.microsoft";

OpOutcome checked(const OpCase& example) {
  OpOutcome outcome = infer(example);
  INFO(example.op_type << ": " << outcome.status.message());
  REQUIRE(outcome.status.ok());
  REQUIRE(outcome.unresolved.empty());
  return outcome;
}

TEST_CASE("Fused attention: counts projection, scores and cache") {
  // 2 x 10 positions of 64, 4 heads of 16, 6 earlier positions.
  const OpOutcome fused = checked({"Attention",
                                   {operand({2, 10, 64}), weight({64, 192}), weight({192}),
                                    absent(), operand({2, 2, 4, 6, 16})},
                                   {{"num_heads", int64_t{4}}},
                                   1,
                                   2,
                                   kMs});
  CHECK(fused.shape(0) == "2x10x64");
  CHECK(fused.shape(1) == "2x2x4x16x16");
  CHECK(fused.work().macs == 2 * 10 * 64 * 192 + 2 * 4 * 10 * 16 * (16 + 16));
}

TEST_CASE("Operators removed from ONNX: early converters' operators still have shapes and work") {
  const OpOutcome scaled = checked({"ImageScaler", {operand({1, 3, 4, 5})}});
  CHECK(scaled.shape(0) == "1x3x4x5");
  CHECK(scaled.work().flops == 2 * 60);
  const std::vector<int64_t> border = {1, 2, 1, 0};
  CHECK(checked({"Crop", {operand({1, 3, 10, 8})}, {{"border", border}}}).shape(0) == "1x3x8x6");
  const std::vector<int64_t> kept = {4, 5};
  const OpOutcome crop =
      checked({"Crop", {operand({1, 3, 10, 8})}, {{"border", border}, {"scale", kept}}});
  CHECK(crop.shape(0) == "1x3x4x5");
  CHECK(crop.work().flops == 0);
  CHECK(crop.work().bytes_written == 60 * 4);
  const std::vector<int64_t> too_much = {5, 0, 5, 0};
  CHECK_FALSE(infer({"Crop", {operand({1, 3, 10, 8})}, {{"border", too_much}}}).status.ok());
}

TEST_CASE("Opsets 20 to 28: new operators have shapes and work") {
  CHECK(checked({"BitCast", {operand({2, 3})}, {{"to", int64_t{6}}}, 26}).dtype() == DType::kInt32);
  CHECK(checked({"CumProd", {operand({2, 3}), scalar_int(1)}, {}, 26}).work().flops == 6);
  CHECK(checked({"SwiGLU", {operand({2, 3}), operand({2, 3})}, {}, 28}).work().flops == 36);
  const OpOutcome drawn =
      checked({"Multinomial", {operand({2, 8})}, {{"sample_size", int64_t{5}}}, 22});
  CHECK(drawn.shape() == "2x5");
  CHECK(drawn.dtype() == DType::kInt32);
  CHECK(drawn.work().flops == 2 * 8 + 10 * 4);
  // A cache of 100 positions, of which 3 are written.
  const OpOutcome cache =
      checked({"TensorScatter", {operand({1, 4, 100, 16}), operand({1, 4, 3, 16})}, {}, 24});
  CHECK(cache.shape() == "1x4x100x16");
  CHECK(cache.work().bytes() == 2 * (4 * 3 * 16) * 4);
  const OpOutcome causal = checked({"CausalConvWithState",
                                    {operand({2, 6, 10}), weight({6, 1, 4}), weight({6})},
                                    {{"activation", std::string("silu")}},
                                    27,
                                    2});
  CHECK(causal.shape(0) == "2x6x10");
  CHECK(causal.shape(1) == "2x6x3");
  CHECK(causal.work().macs == 120 * 4);
  CHECK(causal.work().flops == 2 * 120 * 4 + 120 + 5 * 120);
  const OpOutcome image = infer({"ImageDecoder", {operand({1000}, DType::kUInt8)}, {}, 20});
  CHECK(image.shape() == "?x?x3");
  CHECK(image.unresolved.size() == 1);
}

TEST_CASE("Linear attention: has work linear in the number of tokens") {
  // 2 x 5 tokens, 4 query heads of 3, 2 state heads of 3 x 7.
  const OpCase example = {"LinearAttention",
                          {operand({2, 5, 12}), operand({2, 5, 6}), operand({2, 5, 14})},
                          {{"q_num_heads", int64_t{4}},
                           {"kv_num_heads", int64_t{2}},
                           {"update_rule", std::string("gated_delta")}},
                          27,
                          2};
  const OpOutcome linear = checked(example);
  CHECK(linear.shape(0) == "2x5x28");
  CHECK(linear.shape(1) == "2x2x3x7");
  const int64_t states = 10 * 2 * 3 * 7;
  CHECK(linear.work().macs == 2 * states + 10 * 4 * 3 * 7);
  CHECK(linear.work().flops == 2 * linear.work().macs + states);
}

TEST_CASE("Multi-head and grouped attention: have shapes and work") {
  const OpOutcome multi = checked({"MultiHeadAttention",
                                   {operand({1, 3, 32}), operand({1, 5, 32}), operand({1, 5, 64})},
                                   {{"num_heads", int64_t{4}}},
                                   1,
                                   1,
                                   kMs});
  CHECK(multi.shape(0) == "1x3x64");
  CHECK(multi.work().macs == 4 * 3 * 5 * (8 + 16));
  const OpOutcome grouped = checked({"GroupQueryAttention",
                                     {operand({1, 1, 64}), operand({1, 1, 16}), operand({1, 1, 16}),
                                      operand({1, 2, 99, 8}), operand({1, 2, 99, 8})},
                                     {{"num_heads", int64_t{8}}, {"kv_num_heads", int64_t{2}}},
                                     1,
                                     3,
                                     kMs});
  CHECK(grouped.shape(0) == "1x1x64");
  CHECK(grouped.shape(1) == "1x2x100x8");
  CHECK(grouped.work().macs == 8 * 100 * (8 + 8));
}

TEST_CASE("FusedMatMul: with both transpositions contracts the first axis") {
  // [K, B, M] becomes [B, M, K], and [B', K, N] is read as it is: 4 products of 8x2 and 2x8.
  const OpOutcome product = checked({"FusedMatMul",
                                     {operand({2, 4, 8}), operand({4, 2, 8})},
                                     {{"transA", int64_t{1}}, {"transBatchA", int64_t{1}}},
                                     1,
                                     1,
                                     kMs});
  CHECK(product.shape() == "4x8x8");
  CHECK(product.work().macs == 4 * 8 * 2 * 8);
}

TEST_CASE("ONNX Runtime's operators: products and norms have shapes and work") {
  const OpOutcome bits =
      checked({"MatMulNBits",
               {operand({1, 7, 64}), weight({128, 2, 16}, DType::kUInt8), weight({256})},
               {{"K", int64_t{64}}, {"N", int64_t{128}}},
               1,
               1,
               kMs});
  CHECK(bits.shape() == "1x7x128");
  CHECK(bits.work().macs == 7 * 64 * 128);
  CHECK(bits.work().weight_bytes == 128 * 2 * 16 + 256 * 4);  // packed, as in memory
  const OpOutcome fused = checked({"FusedMatMul",
                                   {operand({2, 4, 3}), operand({2, 4, 5})},
                                   {{"transA", int64_t{1}}},
                                   1,
                                   1,
                                   kMs});
  CHECK(fused.shape() == "2x3x5");
  CHECK(fused.work().macs == 2 * 3 * 5 * 4);
  const OpOutcome norm = checked({"SkipLayerNormalization",
                                  {operand({1, 8, 32}), operand({1, 8, 32}), weight({32})},
                                  {},
                                  1,
                                  4,
                                  kMs});
  CHECK(norm.shape(0) == "1x8x32");
  CHECK(norm.shape(1) == "1x8x1");
  CHECK(norm.shape(3) == "1x8x32");
  const OpOutcome conv = checked(
      {"FusedConv", {operand({1, 3, 8, 8}), weight({4, 3, 3, 3}), weight({4})}, {}, 1, 1, kMs});
  CHECK(conv.shape() == "1x4x6x6");
  CHECK(conv.work().macs == 4 * 36 * 27);
}

TEST_CASE("Vision operators: have shapes and work") {
  CHECK(checked({"GridSample", {operand({1, 3, 8, 8}), operand({1, 4, 5, 2})}}).shape() ==
        "1x3x4x5");
  CHECK(checked({"AffineGrid", {operand({2, 2, 3}), ints({2, 3, 5, 6})}, {}, 20}).shape() ==
        "2x5x6x2");
  CHECK(checked({"Col2Im", {operand({1, 9, 4}), ints({4, 4}), ints({3, 3})}, {}, 18}).shape() ==
        "1x1x4x4");
  CHECK(
      checked({"CenterCropPad", {operand({20, 10, 3}), ints({10, 7})}, {{"axes", Ints{0, 1}}}, 18})
          .shape() == "10x7x3");
  CHECK(checked({"RoiAlign",
                 {operand({1, 16, 32, 32}), operand({9, 4}), operand({9}, DType::kInt64)},
                 {{"output_height", int64_t{7}}, {"output_width", int64_t{6}}}})
            .shape() == "9x16x7x6");
  CHECK(checked({"MaxUnpool",
                 {operand({1, 1, 2, 2}), operand({1, 1, 2, 2}, DType::kInt64)},
                 {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}})
            .shape() == "1x1x4x4");
}

TEST_CASE("Signal operators: have shapes and work") {
  CHECK(checked({"DFT", {operand({1, 10, 1})}, {{"onesided", int64_t{1}}}}).shape() == "1x6x2");
  CHECK(checked({"DFT", {operand({1, 10, 8, 2})}, {}, 20}).shape() == "1x10x8x2");
  CHECK(checked({"STFT", {operand({1, 128, 1}), scalar_int(8), weight({16})}}).shape() ==
        "1x15x9x2");
  CHECK(checked({"HannWindow", {scalar_int(10)}}).shape() == "10");
  CHECK(checked({"MelWeightMatrix",
                 {scalar_int(8), scalar_int(16), scalar_int(8192), floats({0}), floats({4096})}})
            .shape() == "9x8");
  CHECK(checked({"Det", {operand({5, 3, 3})}}).shape() == "5");
}

TEST_CASE("Classical models and training: operators have shapes and work") {
  const OpOutcome linear = checked(
      {"LinearClassifier",
       {operand({6, 4})},
       {{"coefficients", std::vector<double>(12, 1.0)}, {"classlabels_ints", Ints{0, 1, 2}}},
       1,
       2,
       "ai.onnx.ml"});
  CHECK(linear.shape(0) == "6");
  CHECK(linear.shape(1) == "6x3");
  CHECK(linear.work().macs == 6 * 12);
  CHECK(checked({"Scaler", {operand({6, 4}, DType::kInt64)}, {}, 1, 1, "ai.onnx.ml"}).dtype() ==
        DType::kFloat32);
  CHECK(checked(
            {"SoftmaxCrossEntropyLoss", {operand({8, 10}), operand({8}, DType::kInt64)}, {}, 13, 2})
            .shape(1) == "8x10");
  const OpOutcome momentum =
      checked({"Momentum",
               {operand({}), operand({}, DType::kInt64), operand({5}), operand({7}), operand({5}),
                operand({7}), operand({5}), operand({7})},
               {},
               1,
               4,
               "ai.onnx.preview.training"});
  CHECK(momentum.shape(1) == "7");
  CHECK(momentum.shape(2) == "5");
  CHECK(momentum.work().flops == 2 * (5 + 7 + 5 + 7));
}

}  // namespace
}  // namespace dfsim
