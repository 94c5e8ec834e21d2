// Fused projections taken apart, and padded vocabularies.
#include "graphs/passes/layout/split_weights.h"

#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

int64_t split_macs_of(const Graph& graph) {
  const auto totals = graph_totals(graph);
  REQUIRE(totals.ok());
  return totals->macs;
}

std::vector<std::string> shapes_of(const Graph& graph, const std::string& type) {
  std::vector<std::string> shapes;
  for (const Op& op : graph.ops()) {
    if (op.op_type == type) {
      shapes.push_back(format_shape(graph.tensor(op.outputs[0]).shape));
    }
  }
  return shapes;
}

TEST_CASE("split_fused_weights: queries, keys and values become products of their own") {
  PassCase graph;
  graph.input("x", {2, 8, 16});
  graph.weight("w", {16, 48});
  graph.weight("b", {48});
  graph.op("MatMul", {"x", "w"}, "m");
  graph.op("Add", {"b", "m"}, "qkv");
  graph.split("qkv", {"q", "k", "v"}, 2);
  for (const char* name : {"q", "k", "v"}) {
    graph.output(name);
  }
  const Graph before = graph.built();
  const auto after = split_fused_weights(before);
  REQUIRE(after.ok());
  CHECK(shapes_of(*after, "MatMul") == Types(3, "2x8x16"));
  CHECK(shapes_of(*after, "Add") == Types(3, "2x8x16"));
  CHECK(shapes_of(*after, "Split").empty());
  CHECK(split_macs_of(*after) == split_macs_of(before));
  CHECK(graph_totals(*after)->parameters == graph_totals(before)->parameters);
}

TEST_CASE("split_fused_weights: follows the reshape behind a product of matrices") {
  PassCase graph;
  graph.input("x", {16, 16});
  graph.weight("w", {16, 48});
  graph.weight("b", {48});
  graph.ints("shape", {2, 8, 48});
  graph.op("Gemm", {"x", "w", "b"}, "m");
  graph.op("Reshape", {"m", "shape"}, "qkv");
  graph.split("qkv", {"q", "k", "v"}, 2);
  for (const char* name : {"q", "k", "v"}) {
    graph.output(name);
  }
  const auto after = split_fused_weights(graph.built());
  REQUIRE(after.ok());
  CHECK(shapes_of(*after, "Gemm") == Types(3, "16x16"));
  CHECK(shapes_of(*after, "Reshape") == Types(3, "2x8x16"));
}

TEST_CASE("split_fused_weights: leaves a result that another operator reads") {
  PassCase graph;
  graph.input("x", {8, 16});
  graph.weight("w", {16, 32});
  graph.op("MatMul", {"x", "w"}, "m");
  graph.split("m", {"a", "b"}, 1);
  graph.op("Relu", {"m"}, "r");
  graph.output("a");
  graph.output("b");
  graph.output("r");
  const auto after = split_fused_weights(graph.built());
  REQUIRE(after.ok());
  CHECK(shapes_of(*after, "MatMul") == Types{"8x32"});
}

TEST_CASE("pad_vocabulary: embedding, projection and what follows get the multiple") {
  PassCase graph;
  graph.input("ids", {2, 8});
  graph.weight("words", {100, 16});
  graph.weight("head", {16, 100});
  graph.weight("other", {16, 16});
  graph.op("Cast", {"ids"}, "tokens", {{"to", int64_t{7}}});
  graph.op("Gather", {"words", "tokens"}, "x");
  graph.op("MatMul", {"x", "other"}, "h");
  graph.op("MatMul", {"h", "head"}, "logits");
  graph.op("Softmax", {"logits"}, "p");
  graph.output("p");
  size_t padded = 0;
  const auto after = pad_vocabulary(graph.built(), 64, 64, &padded);
  REQUIRE(after.ok());
  CHECK(padded == 1);
  CHECK(shapes_of(*after, "MatMul") == Types{"2x8x16", "2x8x128"});
  CHECK(shapes_of(*after, "Softmax") == Types{"2x8x128"});
  CHECK(graph_totals(*after)->parameters == 128 * 16 * 2 + 16 * 16);
  const auto small = pad_vocabulary(graph.built(), 4096, 64, &padded);
  REQUIRE(small.ok());
  CHECK(padded == 0);
}

}  // namespace
}  // namespace dfsim
