// Calls of PyTorch that an exporter wrote out as several operators.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

TEST_CASE("aten-activations: x sigmoid(x) becomes SiLU") {
  PassCase graph;
  graph.input("x", {2, 8});
  graph.op("Sigmoid", {"x"}, "s");
  graph.op("Mul", {"s", "x"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"quick-gelu"}) == Types{"com.microsoft.QuickGelu"});
}

TEST_CASE("aten-linear: keeps the shape and the work of MatMul and Add") {
  PassCase graph;
  graph.input("x", {2, 3, 4});
  graph.weight("w", {4, 5});
  graph.weight("b", {5});
  graph.op("MatMul", {"x", "w"}, "m");
  graph.op("Add", {"m", "b"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"aten-linear"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "linear");
  const auto work = op_work(result, OpId(0));
  REQUIRE(work.ok());
  CHECK(work->macs == 2 * 3 * 5 * 4);
  CHECK(work->flops == 2 * 2 * 3 * 5 * 4 + 2 * 3 * 5);
}

TEST_CASE("aten-attention: attention written out becomes one call and drops the key's transpose") {
  PassCase graph;
  graph.input("q", {1, 2, 3, 4});
  graph.input("k", {1, 2, 5, 4});
  graph.input("v", {1, 2, 5, 4});
  graph.input("mask", {1, 1, 3, 5});
  graph.number("scale", 0.5);
  graph.op("Transpose", {"k"}, "kt", {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  graph.op("MatMul", {"q", "kt"}, "s");
  graph.op("Mul", {"s", "scale"}, "ss");
  graph.op("Add", {"ss", "mask"}, "sm");
  graph.op("Softmax", {"sm"}, "p", {{"axis", int64_t{-1}}});
  graph.op("MatMul", {"p", "v"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"aten-attention"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "Attention");
  CHECK(result.tensor(result.op(OpId(0)).inputs[1]).name == "k");
}

TEST_CASE("aten-attention: weights that are guarded against rows without a key are attention") {
  for (const bool read_twice : {false, true}) {
    PassCase graph;
    graph.input("q", {1, 2, 3, 4});
    graph.input("kt", {1, 2, 4, 5});
    graph.input("v", {1, 2, 5, 4});
    graph.input("mask", {1, 1, 3, 5});
    graph.number("zero", 0);
    graph.op("MatMul", {"q", "kt"}, "s");
    graph.op("Add", {"s", "mask"}, "sm");
    graph.op("Softmax", {"sm"}, "p", {{"axis", int64_t{-1}}});
    graph.op("IsNaN", {"p"}, "nan");
    graph.op("Where", {"nan", "zero", "p"}, "safe");
    graph.op("MatMul", {"safe", "v"}, "y");
    graph.output("y");
    if (read_twice) {
      graph.output("p");
    }
    const Types result = graph.types_after({"aten-attention"});
    CHECK((result == Types{"Transpose", "Attention"}) == !read_twice);
    CHECK((result.size() == 6) == read_twice);
  }
}

TEST_CASE("aten-attention: batch and heads in one axis are attention, too") {
  PassCase graph;
  graph.input("q", {6, 3, 4});
  graph.input("k", {6, 5, 4});
  graph.input("v", {6, 5, 4});
  graph.number("root", 2);
  graph.op("Div", {"q", "root"}, "qs");
  graph.op("Transpose", {"k"}, "kt", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("MatMul", {"qs", "kt"}, "s");
  graph.op("Softmax", {"s"}, "p", {{"axis", int64_t{-1}}});
  graph.op("MatMul", {"p", "v"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"aten-attention"});
  REQUIRE(result.op_count() == 5);
  size_t attentions = 0;
  for (size_t i = 0; i < result.op_count(); ++i) {
    const Op& op = result.op(OpId(i));
    if (op.op_type == "Attention") {
      ++attentions;
      CHECK(result.tensor(op.inputs[0]).shape == Shape({6, 1, 3, 4}));
      CHECK(result.tensor(op.inputs[1]).name == "k/head");
      CHECK(result.tensor(op.outputs[0]).shape == Shape({6, 1, 3, 4}));
      // Two products of 6 x 3 x 5 x 4, and the softmax between them.
      CHECK(op_work(result, OpId(i))->macs == 2 * 6 * 3 * 5 * 4);
    } else {
      CHECK(op.op_class == OpClass::kView);
    }
  }
  CHECK(attentions == 1);
  CHECK(result.tensor(result.outputs()[0]).name == "y");
}

TEST_CASE("aten-attention: a mask that adds an axis leaves the operators as they are") {
  PassCase graph;
  graph.input("q", {6, 3, 4});
  graph.input("kt", {6, 4, 5});
  graph.input("v", {6, 5, 4});
  graph.input("mask", {2, 6, 3, 5});
  graph.op("MatMul", {"q", "kt"}, "s");
  graph.op("Add", {"s", "mask"}, "sm");
  graph.op("Softmax", {"sm"}, "p", {{"axis", int64_t{-1}}});
  graph.op("MatMul", {"p", "v"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"aten-attention"}) == Types{"MatMul", "Add", "Softmax", "MatMul"});
}

}  // namespace
}  // namespace dfsim
