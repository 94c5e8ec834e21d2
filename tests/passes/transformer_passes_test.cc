// GELU, normalisations, products, reshapes and splits.
#include <algorithm>
#include <cmath>

#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

void add_gelu(PassCase& graph, bool half_last) {
  graph.input("x", {2, 8});
  graph.number("root2", std::sqrt(2.0));
  graph.number("one", 1);
  graph.number("half", 0.5);
  graph.op("Div", {"x", "root2"}, "d");
  graph.op("Erf", {"d"}, "e");
  graph.op("Add", {"one", "e"}, "a");
  if (half_last) {
    graph.op("Mul", {"x", "a"}, "m");
    graph.op("Mul", {"m", "half"}, "y");
  } else {
    graph.op("Mul", {"half", "a"}, "m");
    graph.op("Mul", {"x", "m"}, "y");
  }
  graph.output("y");
}

void add_layer_norm(PassCase& graph, int64_t axis) {
  graph.number("two", 2);
  graph.number("epsilon", 1e-5);
  graph.weight("scale", {8});
  graph.weight("shift", {8});
  const PassCase::Attributes last = {{"axes", std::vector<int64_t>{axis}}};
  graph.op("ReduceMean", {"x"}, "mean", last);
  graph.op("Sub", {"x", "mean"}, "s");
  graph.op("Pow", {"s", "two"}, "p");
  graph.op("ReduceMean", {"p"}, "v", last);
  graph.op("Add", {"v", "epsilon"}, "ve");
  graph.op("Sqrt", {"ve"}, "q");
  graph.op("Div", {"s", "q"}, "d");
  graph.op("Mul", {"d", "scale"}, "m");
  graph.op("Add", {"m", "shift"}, "y");
  graph.output("y");
}

TEST_CASE("bias-gelu: a GELU by tanh and its bias become FastGelu") {
  for (const char* approximate : {"none", "tanh"}) {
    PassCase graph(20);
    graph.input("x", {2, 4, 8});
    graph.weight("b", {8});
    graph.op("Add", {"x", "b"}, "s");
    graph.op("Gelu", {"s"}, "y", {{"approximate", std::string(approximate)}});
    graph.output("y");
    CHECK(graph.types_after({"bias-gelu"}) == Types{std::string(approximate) == "tanh"
                                                        ? "com.microsoft.FastGelu"
                                                        : "com.microsoft.BiasGelu"});
  }
}

TEST_CASE(
    "gelu: fuses GELU by erf only in ONNX Runtime's order; PyTorch's pass fuses every order") {
  PassCase known;
  add_gelu(known, true);
  CHECK(known.types_after({"gelu"}) == Types{"com.microsoft.Gelu"});
  PassCase unknown;
  add_gelu(unknown, false);
  CHECK(unknown.types_after({"gelu"}).size() == 5);
  PassCase aten;
  add_gelu(aten, false);
  const Graph& result = aten.after({"aten-activations"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "Gelu");
  CHECK(origins_of(result.op(OpId(0))).size() == 5);
}

TEST_CASE("gelu: a second reader of an inner value prevents the fusion") {
  PassCase graph;
  add_gelu(graph, true);
  graph.op("Neg", {"e"}, "n");
  graph.output("n");
  CHECK(graph.types_after({"gelu"}).size() == 6);
}

TEST_CASE("layer-norm: fuses normalisation over the last axis only") {
  for (const int64_t axis : {-1, 1}) {
    PassCase graph(13);
    graph.input("x", {2, 8, 8});
    add_layer_norm(graph, axis);
    CHECK(graph.types_after({"layer-norm"}).size() == (axis == -1 ? 1 : 9));
  }
}

TEST_CASE("skip-layer-norm: merges the sum before a normalisation unless something else reads it") {
  for (const bool read : {false, true}) {
    PassCase graph;
    graph.input("a", {2, 4, 8});
    graph.input("b", {2, 4, 8});
    graph.weight("scale", {8});
    graph.weight("shift", {8});
    graph.op("Add", {"a", "b"}, "s");
    graph.op("LayerNormalization", {"s", "scale", "shift"}, "y");
    graph.output("y");
    if (read) {
      graph.output("s");
    }
    CHECK(graph.types_after({"skip-layer-norm"}) ==
          (read ? Types{"Add", "LayerNormalization"}
                : Types{"com.microsoft.SkipLayerNormalization"}));
  }
}

TEST_CASE("skip-layer-norm: leaves sums with tables of positions and RMS norms apart") {
  const auto types = [](const std::vector<int64_t>& extents, const std::string& norm) {
    PassCase graph;
    graph.input("a", {2, 4, 8});
    graph.weight("table", extents);
    graph.weight("scale", {8});
    graph.op("Add", {"table", "a"}, "s");
    graph.op(norm, {"s", "scale"}, "y");
    graph.output("y");
    return graph.types_after({"skip-layer-norm"});
  };
  CHECK(types({2, 4, 8}, "LayerNormalization").size() == 1);
  CHECK(types({1, 4, 8}, "LayerNormalization").size() == 2);
  CHECK(types({4, 8}, "LayerNormalization").size() == 2);
  CHECK(types({2, 4, 8}, "SimplifiedLayerNormalization").size() == 2);
}

TEST_CASE("matmul-add: MatMul and bias become Gemm between reshapes, unless the bias is per row") {
  for (const int64_t columns : {5, 1}) {
    PassCase graph;
    graph.input("x", {2, 3, 4});
    graph.weight("w", {4, 5});
    graph.weight("b", {columns});
    graph.op("MatMul", {"x", "w"}, "m");
    graph.op("Add", {"b", "m"}, "y");
    graph.output("y");
    CHECK(graph.types_after({"matmul-add"}) ==
          (columns == 5 ? Types{"Reshape", "Gemm", "Reshape"} : Types{"MatMul", "Add"}));
  }
}

TEST_CASE("matmul-scale, matmul-transpose: merge scales and transposes into the product") {
  PassCase graph;
  graph.input("q", {2, 3, 4});
  graph.input("k", {2, 5, 4});
  graph.number("scale", 0.5);
  graph.op("Mul", {"q", "scale"}, "qs");
  graph.op("Transpose", {"k"}, "kt", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("MatMul", {"qs", "kt"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"matmul-scale", "matmul-transpose"});
  REQUIRE(result.op_count() == 1);
  const Op& product = result.op(OpId(0));
  CHECK(product.op_type == "FusedMatMul");
  CHECK(product.attributes.get_float("alpha") == 0.5);
  CHECK(product.attributes.get_int("transB") == 1);
  CHECK(op_work(result, OpId(0))->macs == 2 * 3 * 5 * 4);
}

TEST_CASE("matmul-transpose: reads a batch in the second axis in place") {
  PassCase graph;
  graph.input("q", {3, 2, 4});
  graph.input("k", {5, 2, 4});
  graph.op("Transpose", {"q"}, "qt", {{"perm", std::vector<int64_t>{1, 0, 2}}});
  graph.op("Transpose", {"k"}, "kt", {{"perm", std::vector<int64_t>{1, 2, 0}}});
  graph.op("MatMul", {"qt", "kt"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"matmul-transpose"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).attributes.get_int("transBatchA") == 1);
  CHECK(result.op(OpId(0)).attributes.get_int("transBatchB") == 1);
  CHECK(op_work(result, OpId(0))->macs == 2 * 3 * 5 * 4);
}

TEST_CASE("merge-reshapes: merges a chain but skips a reshape that allows zeros") {
  for (const int64_t allow_zero : {0, 1}) {
    PassCase graph;
    graph.input("x", {2, 3, 4});
    graph.ints("flat", {6, 4});
    graph.ints("wide", {3, 8});
    graph.op("Reshape", {"x", "flat"}, "f");
    graph.op("Reshape", {"f", "wide"}, "y", {{"allowzero", allow_zero}});
    graph.output("y");
    CHECK(graph.types_after({"merge-reshapes"}).size() == (allow_zero == 0 ? 1 : 2));
  }
}

TEST_CASE("slices-to-split: slices that cover an axis become a split, slices with a gap do not") {
  for (const int64_t begin : {3, 4}) {
    PassCase graph;
    graph.input("x", {2, 6});
    graph.ints("zero", {0});
    graph.ints("three", {3});
    graph.ints("begin", {begin});
    graph.ints("end", {6});
    graph.ints("axis", {1});
    graph.op("Slice", {"x", "zero", "three", "axis"}, "a");
    graph.op("Slice", {"x", "begin", "end", "axis"}, "b");
    graph.op("Relu", {"a"}, "y");
    graph.op("Relu", {"b"}, "z");
    graph.output("y");
    graph.output("z");
    CHECK(graph.types_after({"slices-to-split"}) ==
          (begin == 3 ? Types{"Split", "Relu", "Relu"} : Types{"Slice", "Slice", "Relu", "Relu"}));
  }
}

TEST_CASE("slices-to-split: slices of one of several results stay slices") {
  PassCase graph;
  graph.input("x", {2, 6});
  graph.split("x", {"p", "q"}, 0);
  graph.ints("zero", {0});
  graph.ints("three", {3});
  graph.ints("six", {6});
  graph.ints("axis", {1});
  graph.op("Slice", {"p", "zero", "three", "axis"}, "a");
  graph.op("Slice", {"p", "three", "six", "axis"}, "b");
  graph.output("q");
  graph.op("Relu", {"a"}, "y");
  graph.op("Relu", {"b"}, "z");
  graph.output("y");
  graph.output("z");
  CHECK(graph.types_after({"slices-to-split"}) == Types{"Split", "Slice", "Slice", "Relu", "Relu"});
}

TEST_CASE("slices-to-split: single indices of an axis become a split and squeezes") {
  PassCase graph;
  graph.input("x", {2, 3, 4});
  graph.index("zero", 0);
  graph.index("last", -1);
  graph.op("Gather", {"x", "last"}, "b");
  graph.op("Gather", {"x", "zero"}, "a");
  graph.op("Add", {"a", "b"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"slices-to-split"}) == Types{"Split", "Squeeze", "Squeeze", "Add"});
}

TEST_CASE("no-ops: drops operators that change nothing and keeps the name of the graph's output") {
  PassCase graph;
  graph.input("x", {2, 3});
  graph.number("one", 1);
  graph.op("Identity", {"x"}, "i");
  graph.op("Relu", {"i"}, "r");
  graph.op("Mul", {"one", "r"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"no-ops"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "Relu");
  CHECK(result.tensor(result.outputs()[0]).name == "y");
}

TEST_CASE("common-subexpressions: equal operators run once, unless attributes differ") {
  PassCase graph;
  graph.input("x", {2, 3});
  graph.op("LeakyRelu", {"x"}, "a", {{"alpha", 0.1}});
  graph.op("LeakyRelu", {"x"}, "b", {{"alpha", 0.1}});
  graph.op("LeakyRelu", {"x"}, "c", {{"alpha", 0.2}});
  graph.op("Add", {"a", "b"}, "s");
  graph.op("Add", {"s", "c"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"common-subexpressions"}) ==
        Types{"LeakyRelu", "LeakyRelu", "Add", "Add"});
}

TEST_CASE("torch-views: a product over batch and heads, not heads, copies a transposed operand") {
  for (const int64_t batch : {1, 2}) {
    PassCase graph;
    graph.input("x", {batch, 3, 2, 4});
    graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    graph.input("k", {batch, 2, 4, 5});
    graph.op("MatMul", {"t", "k"}, "y");
    graph.output("y");
    const Graph& result = graph.after({"torch-views"});
    CHECK((result.op(OpId(0)).op_class == OpClass::kView) == (batch == 1));
  }
}

// PyTorch 2.13 writes zeros over rows that a mask hides altogether.
TEST_CASE(
    "pointwise: a chain of elementwise operators, also around a normalisation, is one kernel") {
  PassCase graph;
  graph.input("x", {2, 8});
  graph.weight("b", {8});
  graph.weight("scale", {8});
  graph.op("Add", {"x", "b"}, "a");
  graph.op("Relu", {"a"}, "r");
  graph.op("LayerNormalization", {"r", "scale"}, "n");
  graph.op("Neg", {"n"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"pointwise"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "norm");
  // 1 to add, 1 for Relu, 7 to normalise, 1 to negate, per element
  CHECK(op_work(result, OpId(0))->flops == 10 * 16);
  CHECK(op_work(result, OpId(0))->bytes() == 4 * (16 + 8 + 8 + 16));
}

TEST_CASE("pointwise: a chain ends at a tensor with another reader") {
  PassCase graph;
  graph.input("x", {2, 8});
  graph.op("Relu", {"x"}, "r");
  graph.op("Neg", {"r"}, "n");
  graph.op("Exp", {"n"}, "y");
  graph.output("y");
  graph.output("r");
  CHECK(graph.types_after({"pointwise"}) == Types{"Relu", "compiled.pointwise"});
}

TEST_CASE("Pass pipeline: an unknown pass gives the nearest name") {
  PassCase graph;
  graph.input("x", {2});
  graph.op("Relu", {"x"}, "y");
  graph.output("y");
  const Status status = check_passes({{"no-ops"}, {"conv-fould"}});
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find("did you mean 'conv-fold'?") != std::string::npos);
}

// One self attention of BERT's older exports: two heads of four, three positions.
void add_attention(PassCase& graph, bool normalised, bool mask_is_given) {
  graph.input("x", {1, 3, 8});
  if (normalised) {
    graph.weight("scale", {8});
    graph.weight("shift", {8});
    graph.op("LayerNormalization", {"x", "scale", "shift"}, "n");
  } else {
    graph.op("Relu", {"x"}, "n");
  }
  graph.ints("apart", {0, 0, 2, 4});
  graph.ints("together", {0, 0, 8});
  graph.number("root", 2);
  graph.number("one", 1);
  graph.number("least", -10000);
  for (const std::string part : {"q", "k", "v"}) {
    graph.weight(part + "w", {8, 8});
    graph.weight(part + "b", {8});
    graph.op("MatMul", {"n", part + "w"}, part + "m");
    graph.op("Add", {part + "m", part + "b"}, part + "a");
    graph.op("Reshape", {part + "a", "apart"}, part + "r");
    const std::vector<int64_t> perm =
        part == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3};
    graph.op("Transpose", {part + "r"}, part + "t", {{"perm", perm}});
  }
  graph.input("mask", {1, 3});
  graph.ints("first", {1});
  graph.ints("second", {2});
  graph.op("Unsqueeze", {"mask", "first"}, "m1");
  graph.op("Unsqueeze", {"m1", "second"}, "m2");
  graph.op("Cast", {"m2"}, "m3", {{"to", int64_t{1}}});
  graph.op("Sub", {mask_is_given ? "one" : "root", "m3"}, "m4");
  graph.op("Mul", {"m4", "least"}, "m5");
  graph.op("MatMul", {"qt", "kt"}, "scores");
  graph.op("Div", {"scores", "root"}, "scaled");
  graph.op("Add", {"scaled", "m5"}, "masked");
  graph.op("Softmax", {"masked"}, "shares", {{"axis", int64_t{3}}});
  graph.op("MatMul", {"shares", "vt"}, "values");
  graph.op("Transpose", {"values"}, "back", {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  graph.op("Reshape", {"back", "together"}, "z");
  graph.op("Add", {"z", "n"}, "y");
  graph.output("y");
}

TEST_CASE(
    "attention: self attention of BERT's older exports becomes one operator with the given mask") {
  PassCase known;
  add_attention(known, true, true);
  const Graph& result = known.after({"attention"});
  const auto is_attention = [](const Op& op) { return op.op_type == "Attention"; };
  const auto found = std::find_if(result.ops().begin(), result.ops().end(), is_attention);
  REQUIRE(found != result.ops().end());
  CHECK(found->attributes.int_or("num_heads", 0) == 2);
  REQUIRE(found->inputs.size() == 4);
  CHECK(result.tensor(found->inputs[1]).shape == Shape::of({8, 24}));
  CHECK(result.tensor(found->inputs[3]).name == "mask");
  CHECK(result.op_count() == 3);  // the normalisation, the attention and the sum after it

  for (const auto& [normalised, mask_is_given] : {std::pair{false, true}, std::pair{true, false}}) {
    PassCase unknown;
    add_attention(unknown, normalised, mask_is_given);
    const Graph& left = unknown.after({"attention"});
    CHECK(std::none_of(left.ops().begin(), left.ops().end(), is_attention));
  }
}

}  // namespace
}  // namespace dfsim
