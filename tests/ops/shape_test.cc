// Shape rules on cases worked out by hand from the operators' definitions.
#include <catch2/catch.hpp>

#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

using Catch::Contains;

struct ShapeCase {
  OpCase op;
  std::vector<std::string> shapes;
};

AttrValue text(const char* value) { return std::string(value); }

void check_shapes(const std::vector<ShapeCase>& cases) {
  for (const ShapeCase& example : cases) {
    const OpOutcome outcome = infer(example.op);
    std::string operands;
    for (const Operand& operand : example.op.inputs) {
      operands.append(" ").append(format_shape(operand.shape));
    }
    INFO(example.op.op_type << "-" << example.op.version << operands);
    INFO(outcome.status.message());
    REQUIRE(outcome.status.ok());
    for (size_t i = 0; i < example.shapes.size(); ++i) {
      CHECK(outcome.shape(i) == example.shapes[i]);
    }
  }
}

TEST_CASE("Convolutions: infer their output shapes") {
  const Operand image = operand({1, 3, 224, 224});
  check_shapes({
      {{"Conv",
        {image, weight({64, 3, 7, 7})},
        {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}},
       {"1x64x112x112"}},
      {{"Conv", {image, weight({8, 3, 3, 3})}}, {"1x8x222x222"}},
      {{"Conv", {image, weight({8, 3, 3, 3})}, {{"dilations", Ints{2, 2}}}}, {"1x8x220x220"}},
      {{"Conv", {operand({2, 8, 5, 5}), weight({8, 1, 3, 3})}, {{"group", int64_t{8}}}},
       {"2x8x3x3"}},
      {{"Conv",
        {operand({1, 1, 5, 5}), weight({1, 1, 3, 3})},
        {{"auto_pad", text("SAME_UPPER")}, {"strides", Ints{2, 2}}}},
       {"1x1x3x3"}},
      {{"Conv", {operand({1, 2, 9}), weight({4, 2, 3})}}, {"1x4x7"}},
      {{"Conv", {operand({1, 2, 4, 5, 6}), weight({4, 2, 1, 2, 3})}}, {"1x4x4x4x4"}},
      {{"ConvTranspose",
        {operand({1, 64, 16, 16}), weight({64, 32, 2, 2})},
        {{"strides", Ints{2, 2}}}},
       {"1x32x32x32"}},
      {{"ConvTranspose",
        {operand({1, 1, 3, 3}), weight({1, 2, 3, 3})},
        {{"strides", Ints{3, 2}}, {"output_padding", Ints{1, 1}}}},
       {"1x2x10x8"}},
      {{"ConvInteger", {operand({1, 1, 3, 3}, DType::kUInt8), weight({1, 1, 2, 2}, DType::kUInt8)}},
       {"1x1x2x2"}},
  });
}

TEST_CASE("Matrix products: infer their output shapes") {
  check_shapes({
      {{"MatMul", {operand({2, 3}), operand({3, 4})}}, {"2x4"}},
      {{"MatMul", {operand({5, 1, 2, 3}), operand({7, 3, 4})}}, {"5x7x2x4"}},
      {{"MatMul", {operand({3}), operand({3, 4})}}, {"4"}},
      {{"MatMul", {operand({2, 3}), operand({3})}}, {"2"}},
      {{"MatMul", {operand({3}), operand({3})}}, {"scalar"}},
      {{"Gemm",
        {operand({3, 2}), operand({4, 3})},
        {{"transA", int64_t{1}}, {"transB", int64_t{1}}}},
       {"2x4"}},
      {{"Einsum", {operand({2, 3, 4}), operand({2, 4, 5})}, {{"equation", text("bij,bjk->bik")}}},
       {"2x3x5"}},
      {{"Einsum",
        {operand({2, 8, 3, 4}), operand({2, 8, 5, 4})},
        {{"equation", text("...id,...jd->...ij")}}},
       {"2x8x3x5"}},
      {{"Einsum", {operand({3, 4})}, {{"equation", text("ij->ji")}}}, {"4x3"}},
  });
}

TEST_CASE("Pooling: infers its output shapes") {
  check_shapes({
      {{"MaxPool",
        {operand({1, 64, 112, 112})},
        {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
       {"1x64x56x56"}},
      {{"MaxPool",
        {operand({1, 1, 4, 4})},
        {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}},
       {"1x1x2x2"}},
      {{"AveragePool",
        {operand({1, 1, 4, 4})},
        {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}},
       {"1x1x1x1"}},
      // A window that would start in the padding is left out: (5 + 2 - 2) / 3 -> 2.67, not 3.
      {{"AveragePool",
        {operand({1, 1, 5})},
        {{"kernel_shape", Ints{2}},
         {"strides", Ints{3}},
         {"pads", Ints{1, 1}},
         {"ceil_mode", int64_t{1}}}},
       {"1x1x2"}},
      {{"GlobalAveragePool", {operand({2, 7, 5, 6})}}, {"2x7x1x1"}},
      {{"MaxPool", {operand({1, 1, 4, 4})}, {{"kernel_shape", Ints{2, 2}}}, 12, 2},
       {"1x1x3x3", "1x1x3x3"}},
  });
}

TEST_CASE("Views: infer their output shapes") {
  const Operand x = operand({2, 3, 4});
  check_shapes({
      {{"Reshape", {x, ints({0, -1})}}, {"2x12"}},
      {{"Reshape", {x, ints({4, 0, 2})}}, {"4x3x2"}},
      {{"Reshape", {x}, {{"shape", Ints{6, 4}}}, 1}, {"6x4"}},
      {{"Reshape", {operand({0, 3}), ints({0, 5})}, {{"allowzero", int64_t{1}}}, 14}, {"0x5"}},
      {{"Flatten", {x}, {{"axis", int64_t{2}}}}, {"6x4"}},
      {{"Flatten", {x}, {{"axis", int64_t{0}}}}, {"1x24"}},
      {{"Flatten", {x}, {{"axis", int64_t{-1}}}}, {"6x4"}},
      {{"Squeeze", {operand({1, 3, 1})}}, {"3"}},
      {{"Squeeze", {operand({1, 3, 1}), ints({-1})}}, {"1x3"}},
      {{"Squeeze", {operand({1, 3, 1})}, {{"axes", Ints{0}}}, 11}, {"3x1"}},
      {{"Unsqueeze", {operand({3}), ints({0, -1})}}, {"1x3x1"}},
      {{"Unsqueeze", {operand({3})}, {{"axes", Ints{1}}}, 11}, {"3x1"}},
      {{"Identity", {x}}, {"2x3x4"}},
  });
}

TEST_CASE("Data movement: infers its output shapes") {
  const Operand x = operand({2, 6, 4});
  check_shapes({
      {{"Transpose", {x}}, {"4x6x2"}},
      {{"Transpose", {x}, {{"perm", Ints{0, 2, 1}}}}, {"2x4x6"}},
      {{"Concat", {x, operand({2, 1, 4})}, {{"axis", int64_t{1}}}}, {"2x7x4"}},
      {{"Concat", {x, x}, {{"axis", int64_t{-1}}}}, {"2x6x8"}},
      {{"Split", {x}, {{"axis", int64_t{1}}}, 13, 3}, {"2x2x4", "2x2x4", "2x2x4"}},
      {{"Split", {x, ints({1, 5})}, {{"axis", int64_t{1}}}, 13, 2}, {"2x1x4", "2x5x4"}},
      {{"Split", {x}, {{"axis", int64_t{1}}, {"split", Ints{4, 2}}}, 11, 2}, {"2x4x4", "2x2x4"}},
      {{"Split", {operand({7})}, {{"num_outputs", int64_t{3}}}, 18, 3}, {"3", "3", "1"}},
      {{"Slice", {x, ints({1, 0}), ints({100, -1}), ints({1, 2}), ints({2, 1})}}, {"2x3x3"}},
      {{"Slice", {x}, {{"starts", Ints{-2}}, {"ends", Ints{INT64_MAX}}, {"axes", Ints{1}}}, 9},
       {"2x2x4"}},
      {{"Slice", {operand({10}), ints({-1}), ints({INT64_MIN}), ints({0}), ints({-3})}}, {"4"}},
      {{"Slice", {operand({10}), ints({5}), ints({2})}}, {"0"}},
      {{"Pad", {operand({2, 3}), ints({0, 1, 2, 3})}}, {"4x7"}},
      {{"Pad", {operand({2, 3})}, {{"pads", Ints{0, 0, 0, -1}}}, 2}, {"2x2"}},
      {{"Pad", {operand({2, 3, 4}), ints({1, 1}), absent(), ints({-1})}, {}, 18}, {"2x3x6"}},
      {{"Expand", {operand({3, 1}), ints({2, 1, 6})}}, {"2x3x6"}},
      {{"Tile", {operand({2, 3}), ints({2, 4})}}, {"4x12"}},
      {{"DepthToSpace", {operand({1, 8, 2, 3})}, {{"blocksize", int64_t{2}}}}, {"1x2x4x6"}},
      {{"SpaceToDepth", {operand({1, 2, 4, 6})}, {{"blocksize", int64_t{2}}}}, {"1x8x2x3"}},
      {{"Resize", {operand({1, 3, 4, 5}), absent(), floats({1, 1, 2, 0.5})}}, {"1x3x8x2"}},
      {{"Resize", {operand({1, 3, 4, 5}), absent(), absent(), ints({1, 3, 9, 9})}}, {"1x3x9x9"}},
      {{"Resize",
        {operand({1, 3, 4, 5}), absent(), absent(), ints({8, 7})},
        {{"axes", Ints{2, 3}}},
        18},
       {"1x3x8x7"}},
      {{"Upsample", {operand({1, 1, 2, 2})}, {{"scales", std::vector<double>{1, 1, 2, 3}}}, 7},
       {"1x1x4x6"}},
  });
}

TEST_CASE("Gathers, reductions, selections: infer their output shapes") {
  const Operand x = operand({2, 6, 4});
  const Operand indices = operand({5, 7}, DType::kInt64);
  check_shapes({
      {{"Gather", {x, indices}, {{"axis", int64_t{1}}}}, {"2x5x7x4"}},
      {{"Gather", {x, scalar_int(0)}}, {"6x4"}},
      {{"GatherElements", {x, operand({2, 3, 4}, DType::kInt64)}, {{"axis", int64_t{1}}}},
       {"2x3x4"}},
      {{"GatherND", {x, operand({3, 2}, DType::kInt64)}}, {"3x4"}},
      {{"GatherND", {x, operand({2, 1}, DType::kInt64)}, {{"batch_dims", int64_t{1}}}}, {"2x4"}},
      {{"ScatterND", {x, operand({1, 1}, DType::kInt64), operand({1, 6, 4})}}, {"2x6x4"}},
      {{"OneHot", {indices, scalar_int(10), operand({2})}}, {"5x7x10"}},
      {{"ReduceMean", {x}, {{"axes", Ints{-1}}}, 13}, {"2x6x1"}},
      {{"ReduceMean", {x, ints({1, 2})}, {{"keepdims", int64_t{0}}}, 18}, {"2"}},
      {{"ReduceSum", {x}, {{"keepdims", int64_t{0}}}}, {"scalar"}},
      {{"ReduceSum", {x}, {{"noop_with_empty_axes", int64_t{1}}}}, {"2x6x4"}},
      {{"ArgMax", {x}, {{"axis", int64_t{1}}}}, {"2x1x4"}},
      {{"TopK", {x, ints({3})}, {{"axis", int64_t{1}}}, 11, 2}, {"2x3x4", "2x3x4"}},
      {{"NonZero", {x}}, {"3x48"}},
      {{"Compress", {x, ints({0, 1, 1})}, {{"axis", int64_t{1}}}}, {"2x2x4"}},
      {{"Compress", {x, ints({0, 1, 1, 0, 1})}}, {"3"}},
      {{"Compress", {x, operand({4}, DType::kBool)}, {{"axis", int64_t{1}}}}, {"2x4x4"}},
      {{"Compress", {x, operand({100}, DType::kBool)}}, {"48"}},
      {{"Unique", {x}, {}, 11, 4}, {"48", "48", "48", "48"}},
      {{"Unique", {x}, {{"axis", int64_t{-2}}}, 11, 4}, {"2x6x4", "6", "6", "6"}},
      {{"NonMaxSuppression", {operand({1, 100, 4}), operand({1, 5, 100}), scalar_int(10)}},
       {"50x3"}},
  });
}

TEST_CASE("Elementwise operators: broadcast their shapes") {
  check_shapes({
      {{"Add", {operand({2, 1, 4}), operand({3, 1})}}, {"2x3x4"}},
      {{"Mul", {operand({}), operand({5})}}, {"5"}},
      {{"Where", {operand({3, 1}, DType::kBool), operand({4}), operand({2, 1, 1})}}, {"2x3x4"}},
      {{"Add",
        {operand({2, 3}), operand({2})},
        {{"broadcast", int64_t{1}}, {"axis", int64_t{0}}},
        6},
       {"2x3"}},
      {{"Sum", {operand({2, 1}), operand({3}), operand({1, 1})}}, {"2x3"}},
  });
  CHECK(infer({"Equal", {operand({2}), operand({2})}}).dtype() == DType::kBool);
  CHECK(infer({"Cast", {operand({2})}, {{"to", int64_t{10}}}}).dtype() == DType::kFloat16);
  CHECK(infer({"Cast", {operand({2})}, {{"to", text("DOUBLE")}}, 1}).dtype() == DType::kFloat64);
  CHECK(infer({"Where",
               {operand({1}, DType::kBool), operand({1}, DType::kInt32),
                operand({1}, DType::kInt32)}})
            .dtype() == DType::kInt32);
}

TEST_CASE("Recurrent layers: infer their output shapes") {
  const Operand x = operand({35, 2, 100});
  check_shapes({
      {{"LSTM", {x, weight({1, 80, 100}), weight({1, 80, 20})}, {}, 14, 3},
       {"35x1x2x20", "1x2x20", "1x2x20"}},
      {{"GRU", {x, weight({2, 60, 100}), weight({2, 60, 20})}, {}, 14, 2}, {"35x2x2x20", "2x2x20"}},
      {{"RNN",
        {operand({2, 35, 100}), weight({1, 20, 100}), weight({1, 20, 20})},
        {{"layout", int64_t{1}}},
        14,
        2},
       {"2x35x1x20", "2x1x20"}},
  });
}

TEST_CASE("Attention of opset 23: infers its output shapes") {
  check_shapes({
      {{"Attention",
        {operand({1, 8, 10, 64}), operand({1, 2, 12, 64}), operand({1, 2, 12, 32})},
        {},
        23},
       {"1x8x10x32"}},
      {{"Attention",
        {operand({1, 1, 512}), operand({1, 1, 512}), operand({1, 1, 512}), absent(),
         operand({1, 8, 99, 64}), operand({1, 8, 99, 64})},
        {{"q_num_heads", int64_t{8}}, {"kv_num_heads", int64_t{8}}},
        23,
        3},
       {"1x1x512", "1x8x100x64", "1x8x100x64"}},
  });
}

TEST_CASE(
    "Shape inference: an operand of unknown shape leaves the op unresolved, with the reason") {
  const OpOutcome outcome = infer({"Relu", {unknown_operand()}});
  REQUIRE(outcome.status.ok());
  REQUIRE(outcome.unresolved.size() == 1);
  CHECK(outcome.unresolved[0].reason == "its input 'in0' has an unknown shape");
  CHECK(outcome.work() == OpWork());
  const OpOutcome unknown = infer({"Frobnicate", {operand({1})}});
  REQUIRE(unknown.unresolved.size() == 1);
  CHECK(unknown.unresolved[0].reason == "operator Frobnicate is not known");
}

TEST_CASE("Shape inference: contradictions are errors that name the op") {
  const std::vector<std::pair<OpCase, std::string>> cases = {
      {{"Conv", {operand({1, 3, 8, 8}), weight({4, 2, 3, 3})}}, "has 3 channels"},
      {{"Conv", {operand({1, 3, 2, 2}), weight({4, 3, 3, 3})}}, "smaller than the window"},
      {{"Conv", {operand({1, 3, 8, 8}), weight({4, 3, 3, 3})}, {{"strides", Ints{0, 1}}}},
       "strides has the entry 0"},
      {{"Conv", {operand({1, 3, 8, 8}), weight({4, 3, 3, 3})}, {{"group", int64_t{0}}}},
       "group is 0"},
      {{"Conv", {operand({1, 3, 8, 8})}}, "input 1 is missing; expected at least 2 inputs"},
      {{"Conv", {operand({1, 3, 8, 8}), absent()}}, "input 1 is missing"},
      {{"MatMul", {operand({2, 3}), operand({4, 5})}}, "3 columns meet 4 rows"},
      {{"Gemm", {operand({2, 3}), operand({3})}}, "expected two matrices"},
      {{"Add", {operand({2}), operand({3})}}, "2 meets 3"},
      {{"Reshape", {operand({2, 3}), ints({4, 2})}}, "cannot give 2x3"},
      {{"Reshape", {operand({2, 3}), ints({4, -1})}}, "do not divide"},
      {{"Reshape", {operand({2, 3}), ints({-1, -1})}}, "second -1"},
      {{"Transpose", {operand({2, 3})}, {{"perm", Ints{0, 0}}}}, "names axis 0 twice"},
      {{"Transpose", {operand({2, 3})}, {{"perm", Ints{0}}}}, "perm has 1 entries"},
      {{"Concat", {operand({2, 3}), operand({3, 3})}, {{"axis", int64_t{1}}}}, "differ on axis 0"},
      {{"Split", {operand({5})}, {}, 13, 2}, "cannot be split into 2 equal parts"},
      {{"Split", {operand({5}), ints({1, 1})}, {}, 13, 2}, "add up to 2, the axis has 5"},
      {{"Squeeze", {operand({2, 1}), ints({0})}}, "is not 1"},
      {{"Slice", {operand({4}), ints({0}), ints({1}), ints({0}), ints({0})}}, "a step is 0"},
      {{"Softmax", {operand({2, 3})}, {{"axis", int64_t{5}}}}, "axis 5 is outside"},
      {{"BatchNormalization",
        {operand({1, 3, 2, 2}), weight({4}), weight({4}), weight({4}), weight({4})}},
       "has 3 channels, its scale has 4"},
      {{"Einsum", {operand({2, 3}), operand({4, 5})}, {{"equation", text("ij,jk->ik")}}},
       "label 'j' is both 3 and 4"},
      {{"Expand", {operand({3}), ints({4})}}, "3 meets 4"},
      {{"ConstantOfShape", {ints({int64_t{1} << 41})}}, "expected extents up to"},
      {{"Range", {scalar_int(0), scalar_int(10), scalar_int(0)}}, "a delta other than 0"},
  };
  for (const auto& [example, expected] : cases) {
    const OpOutcome outcome = infer(example);
    INFO(example.op_type << ": " << expected);
    REQUIRE_FALSE(outcome.status.ok());
    CHECK(outcome.status.code() == StatusCode::kInvalidInput);
    CHECK_THAT(outcome.status.message(), Contains(expected));
    CHECK_THAT(outcome.status.message(), Contains(example.op_type + " 'op': "));
  }
}

}  // namespace
}  // namespace dfsim
