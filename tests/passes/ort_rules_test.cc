// Rules of ONNX Runtime that few models need: functions without a kernel, reciprocals, YOLO's focus
// layer, normalisation by the root of the mean square. The expected operators are those of its own
// optimised graphs (version 1.32, CPU).
#include <algorithm>
#include <cstdint>

#include "graphs/passes/origins.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

// x through Casts of these types, and then to an operator that reads any.
size_t casts_left(const std::vector<std::pair<DType, int64_t>>& types,
                  const std::vector<std::string>& passes) {
  PassCase graph;
  graph.input("x", {4, 8}, types[0].first);
  std::string last = "x";
  for (size_t i = 1; i < types.size(); ++i) {
    const std::string next = "c" + std::to_string(i);
    graph.op("Cast", {last}, next, {{"to", types[i].second}});
    last = next;
  }
  graph.op("Concat", {last, last}, "y", {{"axis", int64_t{0}}});
  graph.output("y");
  return graph.after(passes).op_count() - 1;
}

TEST_CASE("cast-chains: what keeps every value, or is narrowed more, goes") {
  const std::pair boolean(DType::kBool, int64_t{9});
  const std::pair u8(DType::kUInt8, int64_t{2});
  const std::pair i8(DType::kInt8, int64_t{3});
  const std::pair i32(DType::kInt32, int64_t{6});
  const std::pair i64(DType::kInt64, int64_t{7});
  const std::pair f16(DType::kFloat16, int64_t{10});
  const std::pair f32(DType::kFloat32, int64_t{1});
  const std::pair f64(DType::kFloat64, int64_t{11});
  const auto left = [](const auto&... types) { return casts_left({types...}, {"cast-chains"}); };
  CHECK(left(boolean, f32, boolean) == 0);
  CHECK(left(boolean, i64, boolean) == 0);
  CHECK(left(i32, i64, i32) == 0);
  CHECK(left(f32, f64, f32) == 0);
  CHECK(left(f16, f32, f16) == 0);
  CHECK(left(boolean, f32, i64) == 1);
  CHECK(left(boolean, i32, f32) == 1);
  CHECK(left(boolean, f32, i64, f32) == 1);
  CHECK(left(i32, i64, f32) == 1);
  CHECK(left(i64, i32, i8) == 1);
  CHECK(left(f32, f16, u8) == 1);
  CHECK(left(i64, i32, f32) == 2);
  CHECK(left(i32, f32, i32) == 2);
  CHECK(left(i8, u8, i8) == 2);
  CHECK(left(f32, boolean, f32) == 2);
  CHECK(left(f32, i32, f16) == 2);
  CHECK(left(f32, f16, f32) == 2);
  CHECK(casts_left({f32, f16, f32}, {"half-as-float"}) == 2);
}

TEST_CASE("cast-chains: a Cast stays for other readers, and for an output of the graph") {
  PassCase shared;
  shared.input("x", {4, 8}, DType::kBool);
  shared.op("Cast", {"x"}, "real", {{"to", int64_t{1}}});
  shared.op("Cast", {"real"}, "mask", {{"to", int64_t{9}}});
  shared.op("Not", {"mask"}, "y");
  shared.op("Exp", {"real"}, "z");
  shared.output("y");
  shared.output("z");
  CHECK(shared.types_after({"cast-chains"}) == Types{"Cast", "Not", "Exp"});
  PassCase last;
  last.input("x", {4, 8}, DType::kBool);
  last.op("Cast", {"x"}, "real", {{"to", int64_t{1}}});
  last.op("Cast", {"real"}, "y", {{"to", int64_t{9}}});
  last.output("y");
  CHECK(last.types_after({"cast-chains"}) == Types{"Cast"});
}

TEST_CASE("common-subexpressions: an output of the graph stands only for what runs after it") {
  PassCase early;  // ONNX Runtime begins at the last result
  early.input("x", {4, 8});
  early.op("Sigmoid", {"x"}, "a");
  early.op("Sigmoid", {"x"}, "b");
  early.op("Exp", {"b"}, "z");
  early.output("a");
  early.output("z");
  CHECK(early.types_after({"common-subexpressions"}) == Types{"Sigmoid", "Sigmoid", "Exp"});
  PassCase late;
  late.input("x", {4, 8});
  late.op("Sigmoid", {"x"}, "b");
  late.op("Exp", {"b"}, "z");
  late.op("Sigmoid", {"x"}, "a");
  late.output("a");
  late.output("z");
  CHECK(late.types_after({"common-subexpressions"}) == Types{"Sigmoid", "Exp"});
}

// Rotary embedding of half of the channels.
TEST_CASE("slices-to-split: slices of a slice become a Split, too") {
  PassCase graph;
  graph.input("x", {1, 8, 32, 64});
  graph.ints("0", {0});
  graph.ints("16", {16});
  graph.ints("32", {32});
  graph.ints("64", {64});
  graph.ints("axis", {3});
  graph.op("Slice", {"x", "0", "32", "axis"}, "turned");
  graph.op("Slice", {"x", "32", "64", "axis"}, "kept");
  graph.op("Slice", {"turned", "0", "16", "axis"}, "a");
  graph.op("Slice", {"turned", "16", "32", "axis"}, "b");
  graph.op("Neg", {"b"}, "n");
  graph.op("Concat", {"n", "a", "turned", "kept"}, "y", {{"axis", int64_t{3}}});
  graph.output("y");
  CHECK(graph.types_after({"slices-to-split"}) == Types{"Split", "Split", "Neg", "Concat"});
}

TEST_CASE("gemm-activation: merges the activations of ONNX Runtime's kernel, but not an Erf") {
  for (const char* activation : {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Softplus", "Selu", "Elu",
                                 "HardSigmoid", "Softsign", "ThresholdedRelu", "Erf"}) {
    INFO(activation);
    PassCase graph;
    graph.input("x", {4, 8});
    graph.weight("w", {8, 2});
    graph.op("Gemm", {"x", "w"}, "g");
    graph.op(activation, {"g"}, "y");
    graph.output("y");
    CHECK(graph.types_after({"gemm-activation"}) == (std::string(activation) == "Erf"
                                                         ? Types{"Gemm", "Erf"}
                                                         : Types{"com.microsoft.FusedGemm"}));
  }
}

TEST_CASE("pad-fold: a Pad whose value is left empty stays") {
  PassCase graph;
  graph.input("x", {1, 16, 6, 6});
  graph.ints("pads", {0, 0, 1, 1, 0, 0, 1, 1});
  graph.op("Pad", {"x", "pads", ""}, "p");
  graph.weight("w", {16, 16, 3, 3});
  graph.op("Conv", {"p", "w"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"pad-fold"}) == Types{"Pad", "Conv"});
}

TEST_CASE("function-bodies: Mish, Swish and CastLike run as the operators that define them") {
  PassCase mish(18);
  mish.input("x", {2, 8});
  mish.op("Mish", {"x"}, "y");
  mish.output("y");
  const Graph& body = mish.after({"function-bodies"});
  REQUIRE(body.op_count() == 3);
  CHECK(body.op(OpId(0)).op_type == "Softplus");
  CHECK(body.op(OpId(1)).op_type == "Tanh");
  CHECK(body.op(OpId(2)).op_type == "Mul");
  CHECK(origins_of(body.op(OpId(1))).front().op_type == "Mish");

  PassCase swish(24);
  swish.input("x", {2, 8});
  swish.op("Swish", {"x"}, "y");
  swish.output("y");
  CHECK(swish.types_after({"function-bodies"}) == Types{"Cast", "Mul", "Sigmoid", "Mul"});

  // A cast to the same type copies.
  PassCase like(15);
  like.input("x", {2, 8});
  like.weight("w", {1});
  like.op("CastLike", {"x", "w"}, "y");
  like.output("y");
  const Graph& cast = like.after({"function-bodies"});
  REQUIRE(cast.op_count() == 1);
  CHECK(cast.op(OpId(0)).op_type == "Cast");
  CHECK(cast.op(OpId(0)).attributes.int_or("to", 0) == 1);
}

TEST_CASE("function-bodies: GroupNormalization takes scales of groups, later ones of channels") {
  for (const int opset : {18, 21}) {
    PassCase norm(opset);
    norm.input("x", {2, 32, 4, 4});
    const int64_t scales = opset == 18 ? 4 : 32;
    norm.weight("scale", {scales});
    norm.weight("bias", {scales});
    norm.op("GroupNormalization", {"x", "scale", "bias"}, "y", {{"num_groups", int64_t{4}}});
    norm.output("y");
    const Types types = norm.types_after({"function-bodies"});
    const auto count = [&](const std::string& type) {
      return std::count(types.begin(), types.end(), type);
    };
    INFO(opset);
    CHECK(count("ReduceMean") == 2);
    CHECK(count("Mul") == 3);
    CHECK(count("Sub") == 2);
    CHECK(count("Add") == 2);
    CHECK(count("Div") == 1);
    CHECK(count("Sqrt") == 1);
    CHECK(count("Cast") == (opset == 18 ? 0 : 2));
    CHECK(count("GroupNormalization") == 0);
  }
}

TEST_CASE("half-as-float: casts of fp32 to fp32 in the bodies of functions stay") {
  PassCase norm(21);
  norm.input("x", {2, 32, 4, 4});
  norm.weight("scale", {32});
  norm.weight("bias", {32});
  norm.op("GroupNormalization", {"x", "scale", "bias"}, "y", {{"num_groups", int64_t{4}}});
  norm.output("y");
  const Types types = norm.types_after({"function-bodies", "half-as-float"});
  CHECK(std::count(types.begin(), types.end(), "Cast") == 2);
}

TEST_CASE("function-bodies: GroupNormalization of nothing, or with unequal groups, stays") {
  for (const int64_t channels : {0, 30}) {
    PassCase norm(21);
    norm.input("x", {2, channels, 4, 4});
    norm.weight("scale", {channels});
    norm.weight("bias", {channels});
    norm.op("GroupNormalization", {"x", "scale", "bias"}, "y", {{"num_groups", int64_t{4}}});
    norm.output("y");
    CHECK(norm.types_after({"function-bodies"}) == Types{"GroupNormalization"});
  }
}

TEST_CASE("div-mul: a product with a reciprocal is one division") {
  for (const double dividend : {1.0, 2.0}) {
    PassCase graph;
    graph.input("x", {2, 8});
    graph.input("z", {2, 8});
    graph.number("one", dividend);
    graph.op("Div", {"one", "x"}, "inverse");
    graph.op("Mul", {"z", "inverse"}, "y");
    graph.output("y");
    const Graph& after = graph.after({"div-mul"});
    REQUIRE(after.op_count() == (dividend == 1 ? 1 : 2));
    CHECK(after.op(OpId(0)).op_type == "Div");
    if (dividend == 1) {
      CHECK(after.tensor(after.op(OpId(0)).inputs[0]).name == "z");
      CHECK(after.tensor(after.op(OpId(0)).inputs[1]).name == "x");
    }
  }
  PassCase shared;
  shared.input("x", {2, 8});
  shared.input("z", {2, 8});
  shared.number("one", 1);
  shared.op("Div", {"one", "x"}, "inverse");
  shared.op("Mul", {"z", "inverse"}, "y");
  shared.output("y");
  shared.output("inverse");
  CHECK(shared.types_after({"div-mul"}) == Types{"Div", "Mul"});
}

// Parts (row, column) of an image in that order, each by a Slice for both axes or by two.
void add_focus(PassCase& graph, const std::vector<std::pair<int64_t, int64_t>>& parts, bool chained,
               int64_t step = 2) {
  graph.input("x", {1, 3, 8, 8});
  graph.ints("end", {INT64_MAX});
  graph.ints("ends", {INT64_MAX, INT64_MAX});
  graph.ints("rows", {2});
  graph.ints("columns", {3});
  graph.ints("both", {2, 3});
  graph.ints("step", {step});
  graph.ints("steps", {step, step});
  std::vector<std::string> names;
  for (const auto& [row, column] : parts) {
    const std::string name = "part" + std::to_string(names.size());
    if (chained) {
      graph.ints(name + "r", {row});
      graph.ints(name + "c", {column});
      graph.op("Slice", {"x", name + "r", "end", "rows", "step"}, name + "_rows");
      graph.op("Slice", {name + "_rows", name + "c", "end", "columns", "step"}, name);
    } else {
      graph.ints(name + "b", {row, column});
      graph.op("Slice", {"x", name + "b", "ends", "both", "steps"}, name);
    }
    names.push_back(name);
  }
  graph.op("Concat", names, "y", {{"axis", int64_t{1}}});
  graph.output("y");
}

TEST_CASE("space-to-depth: four parts of an image, joined, are one operator") {
  for (const bool chained : {false, true}) {
    PassCase graph;
    add_focus(graph, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, chained);
    const Graph& after = graph.after({"space-to-depth"});
    REQUIRE(after.op_count() == 1);
    CHECK(after.op(OpId(0)).op_type == "SpaceToDepth");
    CHECK(after.op(OpId(0)).attributes.int_or("blocksize", 0) == 2);
    CHECK(origins_of(after.op(OpId(0))).size() == (chained ? 9 : 5));
  }
}

TEST_CASE("space-to-depth: a Gather puts parts of another order in theirs") {
  PassCase graph;
  add_focus(graph, {{0, 0}, {1, 0}, {0, 1}, {1, 1}}, true);
  const Graph& after = graph.after({"space-to-depth"});
  REQUIRE(after.op_count() == 2);
  CHECK(after.op(OpId(0)).op_type == "SpaceToDepth");
  const Op& gather = after.op(OpId(1));
  CHECK(gather.op_type == "Gather");
  CHECK(after.constant(gather.inputs[1])->ints ==
        std::vector<int64_t>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11});
}

TEST_CASE("space-to-depth: leaves a part that is missing, and one that others read") {
  PassCase twice;
  add_focus(twice, {{0, 0}, {0, 0}, {1, 0}, {1, 1}}, false);
  CHECK(twice.types_after({"space-to-depth"}).size() == 5);
  PassCase read;
  add_focus(read, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, false);
  read.op("Relu", {"part1"}, "z");
  read.output("z");
  CHECK(read.types_after({"space-to-depth"}).size() == 6);
  PassCase thirds;
  add_focus(thirds, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, false, 4);
  CHECK(thirds.types_after({"space-to-depth"}).size() == 5);
  // A Slice of rows that somebody else reads stays, next to the new operator.
  PassCase rows;
  add_focus(rows, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, true);
  rows.op("Relu", {"part0_rows"}, "z");
  rows.output("z");
  CHECK(rows.types_after({"space-to-depth"}) == Types{"Slice", "Relu", "SpaceToDepth"});
}

TEST_CASE("slices-to-split: an index with an axis of its own keeps the axis") {
  for (const int opset : {11, 13}) {
    PassCase graph(opset);
    graph.input("x", {2, 6});
    graph.ints("first", {0});
    graph.ints("last", {-1});
    graph.op("Gather", {"x", "first"}, "a");
    graph.op("Gather", {"x", "last"}, "b");
    graph.op("Add", {"a", "b"}, "y");
    graph.output("y");
    // ONNX Runtime leaves models of an opset before 13 alone.
    CHECK(graph.types_after({"slices-to-split"}) ==
          (opset == 13 ? Types{"Split", "Add"} : Types{"Gather", "Gather", "Add"}));
  }
}

TEST_CASE("simplified-layer-norm: fuses a division by the norm and a product with one over it") {
  for (const double numerator : {0.0, 1.0, 2.0}) {  // 0: x is divided
    PassCase graph;
    graph.input("x", {2, 8, 64});
    graph.weight("w", {64});
    graph.number("two", 2);
    graph.number("eps", 1e-6);
    graph.number("numerator", numerator);
    graph.op("Pow", {"x", "two"}, "square");
    graph.op("ReduceMean", {"square"}, "mean", {{"axes", std::vector<int64_t>{-1}}});
    graph.op("Add", {"mean", "eps"}, "kept");
    graph.op("Sqrt", {"kept"}, "norm");
    if (numerator == 0) {
      graph.op("Div", {"x", "norm"}, "scaled");
    } else {
      graph.op("Div", {"numerator", "norm"}, "inverse");
      graph.op("Mul", {"x", "inverse"}, "scaled");
    }
    graph.op("Mul", {"w", "scaled"}, "y");
    graph.output("y");
    INFO(numerator);
    CHECK(graph.types_after({"simplified-layer-norm"}).size() == (numerator == 2 ? 7 : 1));
  }
}

}  // namespace
}  // namespace dfsim
