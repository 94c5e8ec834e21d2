// Operators of com.microsoft: which there are, and hand-counted shapes and work of those that came
// with quantisation, channels-last layouts and decoders.
#include <catch2/catch.hpp>

#include "graphs/ops/op_def.h"
#include "graphs/ops/totals.h"
#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

const std::string kMsDomain = "com.microsoft";

OpOutcome checked_contrib(const OpCase& example) {
  OpOutcome outcome = infer(example);
  INFO(example.op_type << ": " << outcome.status.message());
  REQUIRE(outcome.status.ok());
  REQUIRE(outcome.unresolved.empty());
  return outcome;
}

Operand bytes_of(Dims dims) { return operand(std::move(dims), DType::kUInt8); }

TEST_CASE("ONNX Runtime's operators: every operator of its optimiser and exporters has rules") {
  for (const char* op_type : {"Attention",
                              "MultiHeadAttention",
                              "GroupQueryAttention",
                              "DecoderMaskedMultiHeadAttention",
                              "PackedAttention",
                              "PackedMultiHeadAttention",
                              "QAttention",
                              "SkipLayerNormalization",
                              "SkipSimplifiedLayerNormalization",
                              "SimplifiedLayerNormalization",
                              "EmbedLayerNormalization",
                              "QEmbedLayerNormalization",
                              "GroupNorm",
                              "SkipGroupNorm",
                              "BiasSoftmax",
                              "BiasDropout",
                              "Gelu",
                              "FastGelu",
                              "BiasGelu",
                              "QuickGelu",
                              "BiasSplitGelu",
                              "BiasAdd",
                              "FusedConv",
                              "NhwcConv",
                              "NhwcFusedConv",
                              "NhwcMaxPool",
                              "FusedMatMul",
                              "TransposeMatMul",
                              "FusedGemm",
                              "GemmFastGelu",
                              "MatMulNBits",
                              "MatMulBnb4",
                              "MoE",
                              "QMoE",
                              "GatherBlockQuantized",
                              "QLinearAdd",
                              "QLinearMul",
                              "QLinearConv",
                              "QLinearConcat",
                              "QLinearWhere",
                              "QLinearSigmoid",
                              "QLinearLeakyRelu",
                              "QLinearSoftmax",
                              "QLinearAveragePool",
                              "QLinearGlobalAveragePool",
                              "QLinearReduceMean",
                              "QGemm",
                              "DynamicQuantizeMatMul",
                              "DynamicQuantizeLSTM",
                              "MatMulIntegerToFloat",
                              "QuantizeLinear",
                              "DequantizeLinear",
                              "RotaryEmbedding",
                              "Inverse",
                              "Trilu"}) {
    INFO(op_type);
    CHECK(find_op_def(kMsDomain, op_type) != nullptr);
  }
}

TEST_CASE("Channels last: convolutions and pools have shapes and work") {
  // 9 x 7 pixels of 4 channels, 3 x 3 windows without padding.
  const OpOutcome conv =
      checked_contrib({"NhwcConv",
                       {operand({2, 9, 7, 4}), weight({8, 4, 3, 3}), weight({8})},
                       {},
                       1,
                       1,
                       kMsDomain});
  CHECK(conv.shape() == "2x7x5x8");
  CHECK(conv.work().macs == 2 * 7 * 5 * 8 * 36);
  CHECK(conv.work().flops == 2 * conv.work().macs + 2 * 7 * 5 * 8);
  const OpOutcome fused = checked_contrib(
      {"NhwcFusedConv",
       {operand({2, 9, 7, 4}), weight({8, 4, 3, 3}), weight({8}), operand({2, 7, 5, 8})},
       {},
       1,
       1,
       kMsDomain});
  CHECK(fused.work().flops == 2 * fused.work().macs + 3 * 2 * 7 * 5 * 8);
  const OpOutcome pool = checked_contrib({"NhwcMaxPool",
                                          {bytes_of({1, 8, 6, 3})},
                                          {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
                                          1,
                                          1,
                                          kMsDomain});
  CHECK(pool.shape() == "1x4x3x3");
  CHECK(pool.work().flops == 4 * 3 * 3 * 4);
  CHECK_FALSE(
      infer({"NhwcConv", {operand({2, 9, 7, 5}), weight({8, 4, 3, 3})}, {}, 1, 1, kMsDomain})
          .status.ok());
}

TEST_CASE("Quantised operators: convolutions, pools and reductions accept either layout") {
  const std::vector<Operand> scales = {floats({1}), bytes_of({})};
  const auto with_scales = [&](Operand x) {
    return std::vector<Operand>{std::move(x), scales[0], scales[1], scales[0], scales[1]};
  };
  for (const bool last : {false, true}) {
    const std::vector<std::pair<std::string, AttrValue>> layout = {
        {"channels_last", int64_t{last}}};
    const OpOutcome conv = checked_contrib(
        {"QLinearConv",
         {bytes_of(last ? Dims{1, 9, 7, 4} : Dims{1, 4, 9, 7}), scales[0], scales[1],
          weight({8, 4, 3, 3}, DType::kUInt8), scales[0], scales[1], scales[0], scales[1]},
         layout,
         1,
         1,
         kMsDomain});
    CHECK(conv.shape() == (last ? "1x7x5x8" : "1x8x7x5"));
    CHECK(conv.work().macs == 7 * 5 * 8 * 36);
    auto pooling = layout;
    pooling.emplace_back("kernel_shape", Ints{3, 3});
    const OpOutcome pool = checked_contrib(
        {"QLinearAveragePool", with_scales(bytes_of(last ? Dims{1, 9, 7, 4} : Dims{1, 4, 9, 7})),
         pooling, 1, 1, kMsDomain});
    CHECK(pool.shape() == (last ? "1x7x5x4" : "1x4x7x5"));
    CHECK(pool.work().flops == 7 * 5 * 4 * 9);
  }
  const OpOutcome mean = checked_contrib({"QLinearReduceMean",
                                          with_scales(bytes_of({2, 3, 4})),
                                          {{"axes", Ints{-1}}, {"keepdims", int64_t{0}}},
                                          1,
                                          1,
                                          kMsDomain});
  CHECK(mean.shape() == "2x3");
  CHECK(mean.work().flops == 24);
}

TEST_CASE("Quantised LSTM: has the products of an LSTM") {
  // 5 steps of 2 x 3, 7 units, both directions
  const OpOutcome lstm = checked_contrib(
      {"DynamicQuantizeLSTM",
       {operand({5, 2, 3}), weight({2, 3, 28}, DType::kInt8), weight({2, 7, 28}, DType::kInt8)},
       {},
       1,
       3,
       kMsDomain});
  CHECK(lstm.shape(0) == "5x2x2x7");
  CHECK(lstm.shape(1) == "2x2x7");
  CHECK(lstm.work().macs == 5 * 2 * 2 * 28 * (3 + 7));
}

TEST_CASE(
    "Embedding of words and positions: takes models without segments, not those without words") {
  const Operand ids = operand({2, 6}, DType::kInt32);
  const OpCase distilled = {
      "EmbedLayerNormalization",
      {ids, absent(), weight({100, 8}), weight({16, 8}), absent(), weight({8}), weight({8})},
      {},
      1,
      2,
      kMsDomain};
  const OpOutcome outcome = checked_contrib(distilled);
  CHECK(outcome.shape() == "2x6x8");
  CHECK(outcome.work().flops == 2 * 6 * 8 * 9);
  OpCase without_words = distilled;
  without_words.inputs[2] = absent();
  CHECK(infer(without_words).status.message().find("expected tables of words and positions") !=
        std::string::npos);
}

TEST_CASE("Attention: accepts packed tokens and one token at a time") {
  // 2 sequences of up to 6 positions, 9 tokens in all, 4 heads of 8.
  const OpOutcome packed =
      checked_contrib({"PackedAttention",
                       {operand({9, 32}), weight({32, 96}), weight({96}),
                        operand({2, 6}, DType::kInt32), operand({3}, DType::kInt32)},
                       {{"num_heads", int64_t{4}}},
                       1,
                       1,
                       kMsDomain});
  CHECK(packed.shape() == "9x32");
  CHECK(packed.work().macs == 9 * 32 * 96 + 2 * 4 * 6 * 6 * 8 * 2);
  const OpOutcome heads =
      checked_contrib({"PackedMultiHeadAttention",
                       {operand({9, 4, 3, 8}), absent(), absent(), absent(),
                        operand({2, 6}, DType::kInt32), operand({3}, DType::kInt32)},
                       {{"num_heads", int64_t{4}}},
                       1,
                       1,
                       kMsDomain});
  CHECK(heads.shape() == "9x32");
  CHECK(heads.work().macs == 2 * 4 * 6 * 6 * 8 * 2);
  const OpOutcome decoder =
      checked_contrib({"DecoderMaskedMultiHeadAttention",
                       {operand({1, 1, 32}), operand({1, 1, 32}), operand({1, 1, 32}), absent(),
                        absent(), operand({1, 4, 99, 8}), operand({1, 4, 99, 8})},
                       {{"num_heads", int64_t{4}}},
                       1,
                       3,
                       kMsDomain});
  CHECK(decoder.shape(0) == "1x1x32");
  CHECK(decoder.shape(1) == "1x4x100x8");
  CHECK(decoder.work().macs == 100 * 32 * 2);
}

TEST_CASE(
    "Masked attention of one token: a cache with room counts whole, or as far as it is in use") {
  const auto with_room = [](const Operand& past_length) {
    return checked_contrib(
        {"DecoderMaskedMultiHeadAttention",
         {operand({1, 1, 32}), operand({1, 1, 32}), operand({1, 1, 32}), absent(), absent(),
          operand({1, 4, 99, 8}), operand({1, 4, 99, 8}), past_length},
         {{"num_heads", int64_t{4}}, {"past_present_share_buffer", int64_t{1}}},
         1,
         3,
         kMsDomain});
  };
  const OpOutcome full = with_room(operand({1}, DType::kInt32));
  CHECK(full.shape(1) == "1x4x99x8");
  CHECK(full.work().macs == 99 * 32 * 2);
  CHECK(with_room(ints({19})).work().macs == 20 * 32 * 2);
}

TEST_CASE("Mixture of experts: runs and reads only the chosen experts") {
  // 3 rows of 8 through 2 of 16 experts, 8 x 24 and back.
  const OpOutcome few = checked_contrib(
      {"MoE",
       {operand({3, 8}), operand({3, 16}), weight({16, 24, 8}), absent(), weight({16, 8, 24})},
       {{"k", int64_t{2}}},
       1,
       1,
       kMsDomain});
  CHECK(few.shape() == "3x8");
  CHECK(few.work().macs == 3 * 2 * 2 * 24 * 8);
  CHECK(few.work().weight_bytes == 6 * 2 * 24 * 8 * 4);
  // 100 rows: all experts are needed; a byte stores two weights of 4 bits.
  const OpOutcome many = checked_contrib(
      {"QMoE",
       {operand({100, 8}), operand({100, 16}), weight({16, 24, 4}, DType::kUInt8), weight({16, 24}),
        absent(), weight({16, 8, 12}, DType::kUInt8), weight({16, 8})},
       {{"k", int64_t{2}}},
       1,
       1,
       kMsDomain});
  CHECK(many.work().macs == 100 * 2 * 2 * 24 * 8);
  CHECK(many.work().weight_bytes == 16 * 2 * 24 * 4 + 16 * 24 * 4 + 16 * 8 * 4);
}

// One token next to a cache of 16 positions: 8 heads of 8 elements over 2 of keys, tables of 100
// rows.
OpCase grouped_attention(int64_t past, int64_t total) {
  OpCase example{
      "GroupQueryAttention",
      {operand({1, 1, 64}), operand({1, 1, 16}), operand({1, 1, 16}), operand({1, 2, Dim(past), 8}),
       operand({1, 2, Dim(past), 8}), operand({1}, DType::kInt32), scalar_int(total),
       weight({100, 4}), weight({100, 4})},
      {{"num_heads", int64_t{8}}, {"kv_num_heads", int64_t{2}}},
      1,
      3,
      kMsDomain};
  return example;
}

TEST_CASE("Grouped attention: reads the rows of its tokens from tables, and the cache in use") {
  constexpr int64_t kF32 = 4;
  constexpr int64_t kSmall = (64 + 16 + 16 + 2 * 4) * kF32 + 4 + 8;  // two rows of tables, lengths
  const OpWork grows = checked_contrib(grouped_attention(16, 17)).work();
  CHECK(grows.macs == 8 * 17 * 16);
  CHECK(grows.bytes_read == kSmall + 2 * (2 * 16 * 8) * kF32);
  CHECK(grows.bytes_written == (64 + 2 * (2 * 17 * 8)) * kF32);
  const OpWork in_place = checked_contrib(grouped_attention(400, 17)).work();
  CHECK(in_place.macs == 8 * 17 * 16);
  CHECK(in_place.bytes_read == kSmall + 2 * (2 * 17 * 8) * kF32);
  CHECK(in_place.bytes_written == (64 + 2 * (2 * 8)) * kF32);
}

TEST_CASE("Grouped attention: refuses a cache of other heads, but not one of packed values") {
  OpCase example = grouped_attention(16, 17);
  example.inputs[3] = example.inputs[4] = operand({1, 2, 16, 4});
  CHECK_FALSE(infer(example).status.ok());
  example.inputs[3] = example.inputs[4] = operand({1, 2, 16, 4}, DType::kUInt8);
  CHECK(infer(example).status.ok());
}

TEST_CASE("Rotary embedding: reads one row of each table per token") {
  const OpWork work = checked_contrib({"RotaryEmbedding",
                                       {operand({2, 10, 64}), operand({1}, DType::kInt64),
                                        weight({4096, 4}), weight({4096, 4})},
                                       {{"num_heads", int64_t{8}}},
                                       1,
                                       1,
                                       kMsDomain})
                          .work();
  CHECK(work.bytes_read == (2 * 10 * 64 + 2 * (20 * 4)) * 4 + 8);
  const OpWork standard = infer({"RotaryEmbedding",
                                 {operand({2, 8, 10, 8}), weight({4096, 4}), weight({4096, 4}),
                                  operand({2, 10}, DType::kInt64)},
                                 {},
                                 23})
                              .work();
  CHECK(standard.bytes_read == (2 * 10 * 64 + 2 * (20 * 4)) * 4 + 20 * 8);
}

TEST_CASE("Gather of 4-bit rows: reads packed rows") {
  const OpOutcome rows = checked_contrib(
      {"GatherBlockQuantized",
       {weight({1000, 32}, DType::kUInt8), operand({2, 5}, DType::kInt64), weight({1000, 2})},
       {},
       1,
       1,
       kMsDomain});
  CHECK(rows.shape() == "2x5x64");
  CHECK(rows.dtype() == DType::kFloat32);
  CHECK(rows.work().flops == 2 * 640);
  CHECK(checked_contrib({"Inverse", {operand({5, 3, 3})}, {}, 1, 1, kMsDomain}).work().flops ==
        45 * 3 * 2);
  CHECK(checked_contrib({"QuantizeLinear", {operand({4}), floats({1})}, {}, 1, 1, kMsDomain})
            .dtype() == DType::kUInt8);
}

// Bytes of the table that a run reads.
Bytes table_bytes(int64_t bits) {
  const OpOutcome rows = checked_contrib(
      {"GatherBlockQuantized",
       {weight({1000, 32}, DType::kUInt8), operand({2, 5}, DType::kInt64), operand({1})},
       {{"bits", bits}},
       1,
       1,
       kMsDomain});
  CHECK(rows.shape() == "2x5x" + std::to_string(32 * 8 / bits));
  return rows.work().bytes_read - 2 * 5 * 8 - 4;
}

TEST_CASE("Gather of few bits: reads the bytes of its rows, whatever their bits") {
  for (const int64_t bits : {2, 4, 8}) {
    CHECK(table_bytes(bits) == 2 * 5 * 32);
  }
}

int64_t parameters_of(const OpCase& example) {
  const auto totals = graph_totals(checked_contrib(example).graph);
  REQUIRE(totals.ok());
  return totals->parameters;
}

TEST_CASE("Parameters: packed weights count elements, not bytes") {
  // 100 columns of 70 elements in three blocks of 32, with scales and zero points.
  for (const auto& [bits, bytes] : std::vector<std::pair<int64_t, int64_t>>{{2, 8}, {4, 16}}) {
    CHECK(
        parameters_of(
            {"MatMulNBits",
             {operand({1, 70}), weight({100, 3, Dim(bytes)}, DType::kUInt8), weight({300}),
              weight({100, Dim(bits / 2)}, DType::kUInt8)},
             {{"N", int64_t{100}}, {"K", int64_t{70}}, {"bits", bits}, {"block_size", int64_t{32}}},
             1,
             1,
             kMsDomain}) == 100 * 70 + 300 + 300);
  }
  CHECK(parameters_of({"MatMulBnb4",
                       {operand({1, 70}), weight({3500}, DType::kUInt8), weight({110})},
                       {{"N", int64_t{100}}, {"K", int64_t{70}}, {"block_size", int64_t{64}}},
                       1,
                       1,
                       kMsDomain}) == 100 * 70 + 110);
  // Two experts: 24 x 8 and 8 x 24, two elements to a byte.
  CHECK(
      parameters_of({"QMoE",
                     {operand({10, 8}), operand({10, 2}), weight({2, 24, 4}, DType::kUInt8),
                      weight({2, 24}), absent(), weight({2, 8, 12}, DType::kUInt8), weight({2, 8})},
                     {{"k", int64_t{1}}},
                     1,
                     1,
                     kMsDomain}) == 2 * 2 * 24 * 8 + 2 * 24 + 2 * 8);
  CHECK(parameters_of({"GatherBlockQuantized",
                       {weight({1000, 32}, DType::kUInt8), operand({2, 5}, DType::kInt64),
                        weight({1000, 2}), weight({1000, 1}, DType::kUInt8)},
                       {},
                       1,
                       1,
                       kMsDomain}) == 1000 * 64 + 1000 * 2 + 1000 * 2);
}

TEST_CASE("Blocked convolution: weights of a saved file may fill the last block of channels") {
  // 72 channels of a ReorderInput, in blocks of 16 of which the last one is half empty.
  const auto conv = [](int64_t channels, const std::string& domain) {
    return infer(
        {"Conv", {operand({1, channels, 4, 4}), weight({32, 80, 1, 1})}, {}, 1, 1, domain});
  };
  const OpOutcome padded = conv(72, "com.microsoft.nchwc");
  REQUIRE(padded.status.ok());
  CHECK(padded.output().shape == Shape::of({1, 32, 4, 4}));
  CHECK(padded.work().macs == 32 * 4 * 4 * 80);
  CHECK_FALSE(conv(64, "com.microsoft.nchwc").status.ok());  // a whole block is missing
  CHECK_FALSE(conv(96, "com.microsoft.nchwc").status.ok());
  CHECK_FALSE(conv(72, "").status.ok());
  const OpOutcome depthwise = infer({"Conv",
                                     {operand({1, 20, 4, 4}), weight({32, 1, 1, 1})},
                                     {{"group", int64_t{32}}},
                                     1,
                                     1,
                                     "com.microsoft.nchwc"});
  REQUIRE(depthwise.status.ok());
  CHECK(depthwise.output().shape == Shape::of({1, 32, 4, 4}));
}

}  // namespace
}  // namespace dfsim
