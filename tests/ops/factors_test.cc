// Factor maps, written out by hand; that they are right is proved in tests/partition.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "graphs/ops/factors/factors.h"
#include "graphs/ops/op_def.h"
#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

FactorMap factors_of(const OpCase& example) {
  const OpOutcome outcome = infer(example);
  INFO(outcome.status.message());
  REQUIRE(outcome.status.ok());
  return op_factors(outcome.graph, OpId(0));
}

// "m(8) . k(4)/2": factor and extent by dimension, '.' for whole ones, /block above 1.
std::string text(const FactorMap& map, const std::vector<FactorDim>& dims) {
  std::string line;
  for (const FactorDim& dim : dims) {
    line += line.empty() ? "" : " ";
    if (dim.factor == FactorDim::kWhole) {
      line += ".";
      continue;
    }
    const Factor& factor = map.factors[static_cast<size_t>(dim.factor)];
    line += fmt::format("{}({})", factor.label, factor.extent);
    line += dim.block > 1 ? fmt::format("/{}", dim.block) : "";
  }
  return line;
}

TEST_CASE(
    "Factors: a matrix product has m, n, k and batch axes; a broadcast operand has no batch") {
  const FactorMap map = factors_of({"MatMul", {operand({2, 3, 4, 8}), weight({8, 6})}});
  CHECK(text(map, map.inputs[0]) == "batch0(2) batch1(3) m(4) k(8)");
  CHECK(text(map, map.inputs[1]) == "k(8) n(6)");
  CHECK(text(map, map.outputs[0]) == "batch0(2) batch1(3) m(4) n(6)");
  const int k = map.inputs[1][0].factor;
  CHECK(map.kind(k) == FactorKind::kContracted);
  CHECK(map.factors[static_cast<size_t>(k)].reduction == Reduction::kSum);
  CHECK(map.kind(map.inputs[1][1].factor) == FactorKind::kParallel);
  CHECK(map.can_split(k, 4));
  CHECK_FALSE(map.can_split(k, 3));
}

TEST_CASE("Factors: Gemm may transpose its operands, and its bias is an addend") {
  const FactorMap map = factors_of(
      {"Gemm", {operand({4, 8}), weight({6, 8}), weight({6})}, {{"transB", int64_t{1}}}});
  CHECK(text(map, map.inputs[1]) == "n(6) k(8)");
  CHECK(text(map, map.inputs[2]) == "n(6)");
  CHECK(map.addends == std::vector<size_t>{2});
}

TEST_CASE("Factors: letters of an einsum are axes, and a diagonal stays whole") {
  const FactorMap map = factors_of({"Einsum",
                                    {operand({2, 3, 4}), operand({4, 5})},
                                    {{"equation", std::string("...ij,jk->...ik")}}});
  CHECK(text(map, map.inputs[0]) == "ellipsis0(2) i(3) j(4)");
  CHECK(text(map, map.outputs[0]) == "ellipsis0(2) i(3) k(5)");
  CHECK(map.kind(map.inputs[0][2].factor) == FactorKind::kContracted);
  const FactorMap trace =
      factors_of({"Einsum", {operand({2, 4, 4})}, {{"equation", std::string("bii->b")}}});
  CHECK(text(trace, trace.inputs[0]) == "b(2) . .");
}

TEST_CASE("Factors: a padded convolution has halos, a grouped one keeps its groups together") {
  const FactorMap map = factors_of({"Conv",
                                    {operand({2, 4, 8, 9}), weight({6, 4, 3, 3}), weight({6})},
                                    {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{1, 2}}}});
  // The second axis is 9 -> 5: shards of equal length do not exist on both sides.
  CHECK(text(map, map.inputs[0]) == "batch(2) channels_in(4) space0(8) .");
  CHECK(text(map, map.inputs[1]) == "channels_out(6) channels_in(4) . .");
  CHECK(text(map, map.outputs[0]) == "batch(2) channels_out(6) space0(8) .");
  REQUIRE(map.halos.size() == 1);
  CHECK(map.halos[0].before == 1);
  CHECK(map.halos[0].after == 1);
  CHECK(map.pads == Ints{1, 1, 1, 1});
  CHECK(map.kind(map.inputs[0][2].factor) == FactorKind::kHalo);
  // ResNet's first: 7x7, stride 2, padding 3 reads 3 before its shard and 2 behind it.
  const FactorMap first = factors_of({"Conv",
                                      {operand({1, 3, 224, 224}), weight({64, 3, 7, 7})},
                                      {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}});
  CHECK(text(first, first.inputs[0]) == ". channels_in(3) space0(112)/2 space1(112)/2");
  CHECK(first.halos[0].before == 3);
  CHECK(first.halos[0].after == 2);
  CHECK(first.can_split(first.inputs[0][2].factor, 56));  // shards of 4 still give 3
  CHECK_FALSE(first.can_split(first.inputs[0][2].factor, 112));
  const FactorMap grouped =
      factors_of({"Conv", {operand({1, 8, 5, 5}), weight({12, 2, 3, 3})}, {{"group", int64_t{4}}}});
  CHECK(text(grouped, grouped.inputs[0]) == ". group(4)/2 . .");
  CHECK(text(grouped, grouped.inputs[1]) == "group(4)/3 . . .");
  CHECK(grouped.divided_attributes ==
        std::vector<std::pair<std::string, int>>{{"group", grouped.inputs[0][1].factor}});
}

TEST_CASE("Factors: reshapes share the outer parts of merged and split axes") {
  const auto reshape = [](Dims from, const Ints& to) {
    const FactorMap map = factors_of({"Reshape", {operand(std::move(from)), ints(to)}});
    return text(map, map.inputs[0]) + " -> " + text(map, map.outputs[0]);
  };
  CHECK(reshape({2, 128, 768}, {2, 128, 12, 64}) ==
        "dim0(2) dim1(128) dim2(12)/64 -> dim0(2) dim1(128) dim2(12) .");
  CHECK(reshape({2, 12, 64}, {2, 768}) == "dim0(2) dim1(12) . -> dim0(2) dim1(12)/64");
  CHECK(reshape({2, 128, 768}, {256, 768}) == "dim0(2) . dim2(768) -> dim0(2)/128 dim2(768)");
  CHECK(reshape({1, 6, 4}, {4, 6}) == ". dim1(2)/3 . -> dim1(2)/2 .");
}

TEST_CASE("Factors: normalised and searched axes stay whole") {
  const FactorMap norm =
      factors_of({"LayerNormalization", {operand({2, 6, 8}), weight({8}), weight({8})}});
  CHECK(text(norm, norm.inputs[0]) == "dim0(2) dim1(6) .");
  CHECK(text(norm, norm.inputs[1]) == ".");
  const FactorMap old_softmax =
      factors_of({"Softmax", {operand({2, 6, 8})}, {{"axis", int64_t{1}}}, 11});
  CHECK(text(old_softmax, old_softmax.inputs[0]) == "dim0(2) . .");
  const FactorMap top = factors_of({"TopK", {operand({2, 6}), ints({3})}, {}, 17, 2});
  CHECK(text(top, top.outputs[1]) == "dim0(2) .");
}

TEST_CASE("Factors: reductions are contracted where parts can be joined") {
  const FactorMap mean = factors_of(
      {"ReduceMean", {operand({2, 6, 8})}, {{"axes", Ints{1}}, {"keepdims", int64_t{0}}}});
  CHECK(text(mean, mean.inputs[0]) == "dim0(2) dim1(6) dim2(8)");
  CHECK(text(mean, mean.outputs[0]) == "dim0(2) dim2(8)");
  CHECK(mean.factors[1].reduction == Reduction::kMean);
  const FactorMap norm = factors_of({"ReduceL2", {operand({2, 6})}, {{"axes", Ints{1}}}});
  CHECK(text(norm, norm.inputs[0]) == "dim0(2) .");
}

TEST_CASE("Factors: grouped queries of attention stay with their keys") {
  const FactorMap map = factors_of(
      {"Attention", {operand({2, 8, 5, 4}), operand({2, 2, 7, 4}), operand({2, 2, 7, 4})}, {}, 23});
  CHECK(text(map, map.inputs[0]) == "batch(2) heads(2)/4 queries(5) .");
  CHECK(text(map, map.inputs[1]) == "batch(2) heads(2) . .");
  CHECK(text(map, map.outputs[0]) == "batch(2) heads(2)/4 queries(5) .");
}

TEST_CASE("Factors: packed weights are split by columns, and by whole blocks of rows") {
  const FactorMap map = factors_of(
      {"MatMulNBits",
       {operand({2, 3, 64}), weight({6, 4, 8}, DType::kUInt8), weight({6, 4}),
        weight({6, 2}, DType::kUInt8), absent(), weight({6})},
       {{"K", int64_t{64}}, {"N", int64_t{6}}, {"bits", int64_t{4}}, {"block_size", int64_t{16}}},
       1,
       1,
       "com.microsoft"});
  CHECK(text(map, map.inputs[0]) == "batch0(2) m(3) k(4)/16");
  CHECK(text(map, map.inputs[1]) == "n(6) k(4) .");
  CHECK(text(map, map.inputs[2]) == "n(6) k(4)");
  CHECK(text(map, map.inputs[3]) == ". .");  // two zero points in a byte
  CHECK(text(map, map.outputs[0]) == "batch0(2) m(3) n(6)");
  CHECK(map.addends == std::vector<size_t>{5});
  CHECK(map.kind(map.inputs[1][1].factor) == FactorKind::kContracted);
  CHECK(map.divided_attributes.size() == 2);
}

TEST_CASE("Factors: experts are split by their width, whatever packs it, and by rows") {
  const FactorMap map =
      factors_of({"QMoE",
                  {operand({2, 5, 64}), operand({10, 4}), weight({4, 96, 32}, DType::kUInt8),
                   weight({4, 96, 4}), weight({4, 96}), weight({4, 64, 48}, DType::kUInt8),
                   weight({4, 64, 6}), weight({4, 64})},
                  {{"expert_weight_bits", int64_t{4}}, {"block_size", int64_t{16}}},
                  1,
                  1,
                  "com.microsoft"});
  CHECK(text(map, map.inputs[0]) == "rows(2) . .");
  CHECK(text(map, map.inputs[1]) == "rows(2)/5 .");
  CHECK(text(map, map.inputs[2]) == ". inner(6)/16 .");
  CHECK(text(map, map.inputs[3]) == ". inner(6)/16 .");
  CHECK(text(map, map.inputs[4]) == ". inner(6)/16");
  CHECK(text(map, map.inputs[5]) == ". . inner(6)/8");
  CHECK(text(map, map.inputs[6]) == ". . inner(6)");
  CHECK(text(map, map.inputs[7]) == ". .");
  CHECK(map.addends == std::vector<size_t>{7});
  CHECK(map.kind(map.inputs[2][1].factor) == FactorKind::kContracted);
}

TEST_CASE("Factors: rows of heads are split by the heads that hold keys") {
  const FactorMap attention = factors_of(
      {"GroupQueryAttention",
       {operand({2, 5, 32}), operand({2, 5, 8}), operand({2, 5, 8}), operand({2, 2, 7, 4}),
        operand({2, 2, 7, 4}), operand({2}, DType::kInt32), operand({1}, DType::kInt32)},
       {{"num_heads", int64_t{8}}, {"kv_num_heads", int64_t{2}}},
       1,
       1,
       "com.microsoft"});
  CHECK(text(attention, attention.inputs[0]) == "batch(2) . heads(2)/16");
  CHECK(text(attention, attention.inputs[1]) == "batch(2) . heads(2)/4");
  CHECK(text(attention, attention.inputs[3]) == "batch(2) heads(2) . .");
  CHECK(text(attention, attention.outputs[0]) == "batch(2) . heads(2)/16");
  CHECK(attention.divided_attributes.size() == 2);
  const FactorMap rotary = factors_of(
      {"RotaryEmbedding",
       {operand({1, 5, 32}), operand({1, 5}, DType::kInt64), weight({9, 2}), weight({9, 2})},
       {},
       1,
       1,
       "com.microsoft"});
  CHECK(text(rotary, rotary.inputs[0]) == ". . heads(8)/4");
  CHECK(text(rotary, rotary.outputs[0]) == ". . heads(8)/4");
}

TEST_CASE("Factors: an op that cannot be split gives the reason") {
  CHECK(factors_of({"NonZero", {operand({4, 4})}}).unsplittable ==
        "its extents depend on data, or its operands are lists");
  CHECK(factors_of({"RandomNormalLike", {operand({4})}}).unsplittable.find("agree") !=
        std::string::npos);
  CHECK(factors_of({"Relu", {operand({1, 1})}}).unsplittable ==
        "no dimension that may be split is longer than 1");
  CHECK(factors_of({"Det", {operand({4, 4})}}).unsplittable == "its operator has no factor rule");
}

TEST_CASE("Factors: every class of operators has factor rules, or is known to have none") {
  std::map<OpClass, int> ruled;
  for (const OpDef* def : all_op_defs()) {
    const bool has_rule = def->factors != nullptr || def->op_class == OpClass::kElementwise;
    ruled[def->op_class] += has_rule ? 1 : 0;
  }
  const std::set<OpClass> none = {OpClass::kControlFlow, OpClass::kConstant, OpClass::kCollective,
                                  OpClass::kCopy, OpClass::kOpaque};
  for (int c = 0; c < kOpClassCount; ++c) {
    const auto op_class = static_cast<OpClass>(c);
    INFO(op_class_name(op_class));
    CHECK((ruled[op_class] > 0) != none.contains(op_class));
  }
}

}  // namespace
}  // namespace dfsim
