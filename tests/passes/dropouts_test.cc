// Dropouts of training: where they are added, and what the backward pass makes of them.
#include "graphs/passes/cleanup/dropouts.h"

#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

std::vector<std::string> dropped_tensors(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops()) {
    if (op.op_type == "Dropout") {
      CHECK(op.op_class == OpClass::kElementwise);
      CHECK(graph.tensor(op.outputs[1]).dtype == DType::kBool);
      names.push_back(graph.tensor(op.inputs[0]).name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Embeddings, one attention of a head, one feed-forward layer; `norm` is the operator.
PassCase transformer() {
  PassCase graph;
  graph.input("ids", {2, 8});
  graph.weight("words", {100, 16});
  graph.weight("g", {16});
  graph.weight("w1", {16, 16});
  graph.weight("w2", {16, 16});
  graph.op("Cast", {"ids"}, "tokens", {{"to", int64_t{7}}});
  graph.op("Gather", {"words", "tokens"}, "embedded");
  graph.op("LayerNormalization", {"embedded", "g"}, "normed");
  graph.op("Transpose", {"normed"}, "turned", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("MatMul", {"normed", "turned"}, "scores");
  graph.op("Softmax", {"scores"}, "weights");
  graph.op("MatMul", {"weights", "normed"}, "context");
  graph.op("MatMul", {"context", "w1"}, "projected");
  graph.op("Add", {"normed", "projected"}, "sum");
  graph.op("Relu", {"sum"}, "active");
  graph.op("MatMul", {"active", "w2"}, "y");
  graph.output("y");
  return graph;
}

TEST_CASE("Dropout: transformers drop embeddings, attention and what residual sums add") {
  const auto added = add_dropouts(transformer().built());
  REQUIRE(added.ok());
  CHECK(dropped_tensors(*added) == Types{"normed", "projected", "weights"});
}

TEST_CASE("Dropout: a network of residual convolutions has none") {
  PassCase graph;
  graph.input("x", {1, 8, 4, 4});
  graph.weight("w", {8, 8, 1, 1});
  graph.weight("f", {8, 10});
  graph.op("Conv", {"x", "w"}, "c");
  graph.op("Add", {"c", "x"}, "s");
  graph.op("GlobalAveragePool", {"s"}, "p");
  graph.op("Flatten", {"p"}, "flat");
  graph.op("MatMul", {"flat", "f"}, "y");
  graph.output("y");
  const auto added = add_dropouts(graph.built());
  REQUIRE(added.ok());
  CHECK(dropped_tensors(*added).empty());
}

TEST_CASE("Dropout: a classifier of several layers drops behind its activations") {
  PassCase graph;
  graph.input("x", {1, 8, 4, 4});
  graph.weight("w", {8, 8, 1, 1});
  graph.weight("f1", {128, 32});
  graph.weight("f2", {32, 10});
  graph.op("Conv", {"x", "w"}, "c");
  graph.op("Relu", {"c"}, "r");
  graph.op("Flatten", {"r"}, "flat");
  graph.op("MatMul", {"flat", "f1"}, "h");
  graph.op("Relu", {"h"}, "a");
  graph.op("MatMul", {"a", "f2"}, "y");
  graph.output("y");
  const auto added = add_dropouts(graph.built());
  REQUIRE(added.ok());
  CHECK(dropped_tensors(*added) == Types{"a"});
}

TEST_CASE("Dropout: those of the model drop again, with a mask; a ratio of 0 stays nothing") {
  for (const double ratio : {0.1, 0.0}) {
    PassCase graph;
    graph.input("x", {4, 8});
    graph.number("ratio", ratio);
    graph.op("Dropout", {"x", "ratio"}, "d");
    graph.op("Relu", {"d"}, "y");
    graph.output("y");
    size_t revived = 0;
    const auto result = revive_dropouts(graph.built(), &revived);
    REQUIRE(result.ok());
    CHECK(revived == (ratio > 0 ? 1 : 0));
    const auto work = op_work(*result, OpId(0));
    REQUIRE(work.ok());
    // Reads 32 numbers and the ratio, writes as many and a mask of one byte each.
    CHECK(work->bytes() == (ratio > 0 ? 32 * 4 * 2 + 4 + 32 : 0));
  }
}

}  // namespace
}  // namespace dfsim
