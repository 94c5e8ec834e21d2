// Kernels that a compiler makes of several operators (pass pointwise), and where casts of weights
// run.
#include "graphs/ops/factors/factors.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

using Types = std::vector<std::string>;

// a + b -> s; normalised s -> n; s + n -> y: the skip connection of a transformer.
TEST_CASE("pointwise: a normalisation writes the skip connection that it reads") {
  PassCase graph;
  graph.input("a", {2, 8, 16});
  graph.input("b", {2, 8, 16});
  graph.weight("g", {16});
  graph.op("Add", {"a", "b"}, "s");
  graph.op("LayerNormalization", {"s", "g"}, "n", {{"axis", int64_t{-1}}});
  graph.weight("w", {16, 16});
  graph.op("MatMul", {"n", "w"}, "m");
  graph.op("Add", {"s", "m"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"pointwise"});
  REQUIRE(result.op_count() == 3);
  const Op& norm = result.op(OpId(0));
  CHECK(norm.op_type == "norm");
  REQUIRE(norm.outputs.size() == 2);
  CHECK(result.tensor(norm.outputs[0]).name == "n");
  CHECK(result.tensor(norm.outputs[1]).name == "s");
  // Partitioning may split both results along the batch, and the arithmetic with them.
  const FactorMap map = op_factors(result, OpId(0));
  REQUIRE(map.factors.size() == 1);
  for (const std::vector<FactorDim>* dims :
       {&map.inputs[0], &map.inputs[1], &map.outputs[0], &map.outputs[1]}) {
    CHECK((*dims)[0].factor == 0);
  }
  CHECK(map.divided_attributes.size() == 1);
  CHECK(result.op(OpId(1)).op_type == "MatMul");
  CHECK(result.op(OpId(2)).op_type == "Add");
}

TEST_CASE("pointwise: an operator of two tensors does not write what others wait for") {
  PassCase graph;  // y needs m, and m needs s: one kernel for s and y would wait for itself
  graph.input("a", {8, 16});
  graph.weight("w", {16, 16});
  graph.op("Relu", {"a"}, "s");
  graph.op("MatMul", {"s", "w"}, "m");
  graph.op("Add", {"s", "m"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"pointwise"}) == Types{"Relu", "MatMul", "Add"});
}

TEST_CASE("pointwise: resampling and padding are elements of chains") {
  PassCase graph;
  graph.input("x", {1, 4, 8, 8});
  graph.ints("sizes", {1, 4, 16, 16});
  graph.ints("pads", {0, 0, 0, 0, 0, 0, 1, 1});
  graph.op("Resize", {"x", "", "", "sizes"}, "r", {{"mode", std::string("linear")}});
  graph.op("Pad", {"r", "pads"}, "p");
  graph.op("Relu", {"p"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"pointwise"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "pointwise");
  CHECK(format_shape(result.tensor(result.outputs()[0]).shape) == "1x4x17x17");
}

TEST_CASE("Passes: a weight is cast right before its first reader") {
  PassCase graph;
  graph.input("x", {4, 16}, DType::kFloat16);
  for (const std::string name : {"w", "v"}) {
    graph.weight(name, {16, 16});
    graph.op("Cast", {name}, name + "16", {{"to", int64_t{10}}});
  }
  graph.op("MatMul", {"x", "w16"}, "m");
  graph.op("Relu", {"m"}, "r");
  graph.op("MatMul", {"r", "v16"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"no-ops"}) == Types{"Cast", "MatMul", "Relu", "Cast", "MatMul"});
}

}  // namespace
}  // namespace dfsim
