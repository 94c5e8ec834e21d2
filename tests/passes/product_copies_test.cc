// aten-matmul: which operands of products PyTorch copies.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

// Perms of the Transposes that copy, in the order of the operators.
std::vector<std::vector<int64_t>> copies_in(const Graph& graph) {
  std::vector<std::vector<int64_t>> perms;
  for (const Op& op : graph.ops()) {
    if (op.op_type == "Transpose" && op.op_class != OpClass::kView) {
      perms.push_back(*op.attributes.get_ints("perm"));
    }
  }
  return perms;
}

// Queries, keys and values as views of one projection [2, 5, 3 x 4 x 8]: 4 heads of 8.
PassCase attention_of_one_projection() {
  PassCase graph;
  graph.input("qkv", {2, 5, 96});
  graph.ints("shape", {2, 5, 3, 4, 8});
  graph.op("Reshape", {"qkv", "shape"}, "parts");
  graph.op("Transpose", {"parts"}, "t", {{"perm", std::vector<int64_t>{2, 0, 3, 1, 4}}});
  for (const auto& [name, index] : {std::pair("q", 0), std::pair("k", 1), std::pair("v", 2)}) {
    const std::string number = std::string(name) + "_index";
    graph.index(number, index);
    graph.op("Gather", {"t", number}, name, {{"axis", int64_t{0}}});
  }
  graph.op("Transpose", {"k"}, "kt", {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  graph.op("MatMul", {"q", "kt"}, "s");
  graph.op("Softmax", {"s"}, "p", {{"axis", int64_t{-1}}});
  graph.op("MatMul", {"p", "v"}, "y");
  graph.output("y");
  return graph;
}

TEST_CASE("aten-matmul: queries, keys and values that are views of one projection are copied") {
  PassCase graph = attention_of_one_projection();
  // In memory all three are [batch, token, head, element].
  const std::vector<std::vector<int64_t>> expected = {{0, 2, 1, 3}, {0, 2, 3, 1}, {0, 2, 1, 3}};
  const Graph& result = graph.after({"aten-matmul", "torch-views"});
  CHECK(copies_in(result) == expected);
  CHECK(result.tensor(result.op(result.tensor(result.outputs()[0]).producer).inputs[1]).shape ==
        Shape::of({2, 4, 5, 8}));
}

TEST_CASE("aten-matmul: a copy is made once, and not where the batch axes follow each other") {
  PassCase graph = attention_of_one_projection();
  CHECK(copies_in(graph.after({"aten-matmul", "aten-matmul", "torch-views"})).size() == 3);
  PassCase plain;
  plain.input("a", {2, 4, 5, 8});
  plain.input("b", {2, 4, 6, 8});
  plain.op("Transpose", {"b"}, "bt", {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  plain.op("MatMul", {"a", "bt"}, "y");
  plain.output("y");
  CHECK(plain.types_after({"aten-matmul"}) == Types{"Transpose", "MatMul"});
}

TEST_CASE("aten-matmul: what was computed from a view has its axes in the same order") {
  PassCase graph;
  graph.input("x", {2, 5, 4, 8});
  graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  graph.number("scale", 0.5);
  graph.op("Mul", {"t", "scale"}, "q");
  graph.input("k", {2, 4, 8, 6});
  graph.op("MatMul", {"q", "k"}, "y");
  graph.output("y");
  const std::vector<std::vector<int64_t>> expected = {{0, 2, 1, 3}};
  CHECK(copies_in(graph.after({"aten-matmul", "torch-views"})) == expected);
}

TEST_CASE("aten-matmul: two products that read one view copy it twice") {
  PassCase graph;
  graph.input("x", {2, 5, 4, 8});
  graph.op("Transpose", {"x"}, "q", {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  graph.input("k", {2, 4, 8, 6});
  graph.op("MatMul", {"q", "k"}, "a");
  graph.op("MatMul", {"q", "k"}, "b");
  graph.output("a");
  graph.output("b");
  CHECK(copies_in(graph.after({"aten-matmul", "torch-views"})).size() == 2);
}

}  // namespace
}  // namespace dfsim
