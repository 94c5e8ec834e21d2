// Operators of com.microsoft that few files have: shapes and work, counted by hand.
#include <catch2/catch.hpp>

#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

using Attributes = std::vector<std::pair<std::string, AttrValue>>;

OpOutcome theirs(const std::string& type, std::vector<Operand> inputs, Attributes attributes = {},
                 size_t outputs = 1) {
  OpOutcome outcome =
      infer({type, std::move(inputs), std::move(attributes), 1, outputs, "com.microsoft"});
  INFO(type << ": " << outcome.status.message());
  REQUIRE(outcome.status.ok());
  REQUIRE(outcome.unresolved.empty());
  return outcome;
}

TEST_CASE("CDist: distances are a product, squares and sums") {
  const OpOutcome plain = theirs("CDist", {operand({5, 4}), operand({3, 4})});
  CHECK(plain.shape() == "5x3");
  CHECK(plain.work().macs == 5 * 3 * 4);
  CHECK(plain.work().flops == 2 * 5 * 3 * 4 + 2 * (5 * 4 + 3 * 4) + 2 * 5 * 3);
  const OpOutcome rooted =
      theirs("CDist", {operand({5, 4}), operand({3, 4})}, {{"metric", std::string("euclidean")}});
  CHECK(rooted.work().flops - plain.work().flops == 5 * 3);
  CHECK_FALSE(
      infer({"CDist", {operand({5, 4}), operand({3, 6})}, {}, 1, 1, "com.microsoft"}).status.ok());
}

TEST_CASE("SparseAttention: counts every position, as if no block were left out") {
  // 2 tokens after 6 of a cache with room for 8; 4 heads of 8, keys and values of 2.
  const OpOutcome outcome = theirs(
      "SparseAttention",
      {operand({1, 2, 32}), operand({1, 2, 16}), operand({1, 2, 16}), operand({1, 2, 8, 8}),
       operand({1, 2, 8, 8}), operand({1, 9}, DType::kInt32), operand({1, 8}, DType::kInt32),
       scalar_int(8), operand({1}, DType::kInt32)},
      {{"num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"sparse_block_size", int64_t{16}}},
      3);
  CHECK(outcome.shape(0) == "1x2x32");
  CHECK(outcome.shape(1) == "1x2x8x8");
  CHECK(outcome.work().macs == 4 * 2 * 8 * (8 + 8));
}

TEST_CASE("CausalConvWithState: also takes channels last, and some of its input's channels") {
  const std::vector<Operand> first = {operand({1, 6, 10}), weight({6, 1, 4}), weight({6})};
  const OpOutcome plain = theirs("CausalConvWithState", first, {}, 2);
  CHECK(plain.shape(0) == "1x6x10");
  CHECK(plain.shape(1) == "1x6x3");
  CHECK(plain.work().macs == 6 * 10 * 4);
  const OpOutcome last =
      theirs("CausalConvWithState", {operand({1, 10, 9}), weight({6, 1, 4}), weight({6})},
             {{"channels_last", int64_t{1}}, {"input_channels", int64_t{6}}}, 2);
  CHECK(last.shape(0) == "1x10x6");
  CHECK(last.work().macs == plain.work().macs);
}

TEST_CASE("Projections fused with norms: unpack, normalise and multiply") {
  const Attributes given = {{"K", int64_t{32}},
                            {"Nq", int64_t{16}},
                            {"Nkv", int64_t{8}},
                            {"bits", int64_t{4}},
                            {"block_size", int64_t{32}}};
  const auto packed = [](int64_t columns) { return weight({columns, 1, 16}, DType::kUInt8); };
  const OpOutcome qkv =
      theirs("MatMulNBitsQkv",
             {operand({2, 3, 32}), absent(), weight({32}), packed(16), weight({16, 1}), absent(),
              packed(8), weight({8, 1}), absent(), packed(8), weight({8, 1})},
             given, 3);
  CHECK(qkv.shape(0) == "2x3x16");
  CHECK(qkv.shape(2) == "2x3x8");
  CHECK(qkv.work().macs == 2 * 3 * 32 * (16 + 8 + 8));
  CHECK(qkv.work().flops == 2 * qkv.work().macs + 2 * 32 * 32 + 4 * 2 * 3 * 32);
  const OpOutcome mlp = theirs("MatMulNBitsMlp",
                               {operand({2, 3, 32}), absent(), absent(), packed(16),
                                weight({16, 1}), absent(), packed(16), weight({16, 1})},
                               {{"K", int64_t{32}}, {"N", int64_t{16}}});
  CHECK(mlp.shape() == "2x3x16");
  CHECK(mlp.work().macs == 2 * 3 * 32 * 32);
}

TEST_CASE("Gates, biases and crops: shapes and counts") {
  CHECK(theirs("SwiGLU", {operand({2, 3, 8})}).shape() == "2x3x4");
  CHECK(theirs("SwiGLU", {operand({2, 3, 8}), operand({2, 3, 8})}).work().flops == 11 * 48);
  const OpOutcome bias = theirs("RelativePositionBias", {weight({32, 4}), ints({6}), ints({9})});
  CHECK(bias.shape() == "1x4x6x9");
  const OpOutcome crops = theirs("CropAndResize", {operand({2, 3, 8, 8}), operand({5, 4}),
                                                   operand({5}, DType::kInt32), ints({4, 6})});
  CHECK(crops.shape() == "5x3x4x6");
  const OpOutcome gate = theirs("GatedRelativePositionBias",
                                {operand({2, 5, 12}), weight({12}), operand({1, 3, 5, 5}),
                                 weight({4, 8}), weight({8}), weight({1, 3, 1, 1})},
                                {{"num_heads", int64_t{3}}});
  CHECK(gate.shape() == "2x3x5x5");
  CHECK(gate.work().macs == 2 * 5 * 12 * 8);
}

TEST_CASE("Signals, slices and sums: shapes and counts") {
  const OpOutcome forward = theirs("Rfft", {operand({3, 8})});
  CHECK(forward.shape() == "3x5x2");
  CHECK(forward.work().flops == 3 * 8 * 5 / 2 * 3);  // 2.5 x 24 x log2(8)
  CHECK(theirs("Irfft", {operand({3, 5, 2})}).shape() == "3x8");
  const OpOutcome slices =
      theirs("UnfoldTensor", {operand({2, 10})},
             {{"dim", int64_t{1}}, {"size", int64_t{4}}, {"step", int64_t{2}}});
  CHECK(slices.shape() == "2x4x4");
  const OpOutcome sum = theirs("ReduceSumInteger", {operand({2, 6}, DType::kUInt8)},
                               {{"axes", std::vector<int64_t>{1}}});
  CHECK(sum.shape() == "2x1");
  CHECK(sum.dtype() == DType::kUInt32);
  CHECK(theirs("Pad", {operand({2, 3}), ints({0, 2, 0, 0})}).shape() == "2x5");
}

}  // namespace
}  // namespace dfsim
