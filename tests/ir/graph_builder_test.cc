// Invariants that GraphBuilder promises of every Graph.
#include "graphs/ir/graph_builder.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "base/rng.h"

namespace dfsim {
namespace {

using Catch::Contains;

// An op of type "Op" whose tensors are created by name; "" is an operand that is left out.
StatusOr<OpId> add(GraphBuilder& builder, const std::string& name,
                   const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const std::string& type = "Op") {
  Op op;
  op.name = name;
  op.op_type = type;
  for (const std::string& input : inputs) {
    op.inputs.push_back(input.empty() ? TensorId() : builder.tensor_by_name(input));
  }
  for (const std::string& output : outputs) {
    op.outputs.push_back(output.empty() ? TensorId() : builder.tensor_by_name(output));
  }
  return builder.add_op(std::move(op));
}

// "t7"; written without operator+, which gcc 12 wrongly warns of.
std::string numbered(const char* stem, size_t number) {
  return std::string(stem).append(std::to_string(number));
}

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops()) {
    names.push_back(op.name);
  }
  return names;
}

TEST_CASE("GraphBuilder: an empty builder gives an empty graph") {
  const auto graph = GraphBuilder().build();
  REQUIRE(graph.ok());
  CHECK(graph->op_count() == 0);
  CHECK(graph->tensor_count() == 0);
  CHECK(graph->inputs().empty());
}

TEST_CASE("GraphBuilder: sorts ops and keeps the file's order among independent ones") {
  GraphBuilder builder;
  builder.mark_input(builder.tensor_by_name("x"));
  REQUIRE(add(builder, "last", {"b", "c"}, {"d"}).ok());
  REQUIRE(add(builder, "right", {"a"}, {"c"}).ok());
  REQUIRE(add(builder, "left", {"a"}, {"b"}).ok());
  REQUIRE(add(builder, "first", {"x"}, {"a"}).ok());
  REQUIRE(add(builder, "alone", {"x"}, {"e"}).ok());
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  CHECK(op_names(*graph) == std::vector<std::string>{"first", "right", "left", "last", "alone"});
  for (size_t i = 0; i < graph->op_count(); ++i) {
    for (const TensorId output : graph->op(OpId(i)).outputs) {
      CHECK(graph->tensor(output).producer == OpId(i));
      for (const OpId consumer : graph->consumers(output)) {
        CHECK(consumer.index() > i);
      }
    }
  }
}

TEST_CASE("GraphBuilder: refuses a tensor with two producers and names both") {
  GraphBuilder builder;
  REQUIRE(add(builder, "one", {}, {"t"}, "Relu").ok());
  const auto second = add(builder, "two", {}, {"t"}, "Tanh");
  REQUIRE_FALSE(second.ok());
  CHECK(second.status().code() == StatusCode::kInvalidInput);
  CHECK_THAT(second.status().message(), Contains("'t' is produced twice: by Relu 'one' and by "
                                                 "Tanh 'two'"));
}

TEST_CASE("GraphBuilder: refuses an op that names an output twice") {
  GraphBuilder builder;
  const auto op = add(builder, "one", {}, {"t", "t"}, "Split");
  REQUIRE_FALSE(op.ok());
  CHECK_THAT(op.status().message(), Contains("by Split 'one' and by Split 'one'"));
}

TEST_CASE("GraphBuilder: inputs and weights have no producer") {
  GraphBuilder builder;
  builder.mark_input(builder.tensor_by_name("x"));
  builder.tensor(builder.tensor_by_name("w")).role = TensorRole::kWeight;
  for (const std::string name : {"x", "w"}) {
    const auto op = add(builder, "writer", {}, {name});
    REQUIRE_FALSE(op.ok());
    CHECK_THAT(op.status().message(), Contains("is a graph input or initializer already"));
  }
}

TEST_CASE("GraphBuilder: refuses cycles and names their ops") {
  struct Case {
    std::string what;
    std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> ops;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"self", {{{"a"}, {"a"}}}, "the graph has a cycle: Op 'op0'; a"},
      {"self through its second output", {{{"b"}, {"a", "b"}}}, "the graph has a cycle: Op 'op0';"},
      {"pair", {{{"b"}, {"a"}}, {{"a"}, {"b"}}}, "Op 'op0' <- Op 'op1'"},
      {"triple", {{{"c"}, {"a"}}, {{"a"}, {"b"}}, {{"b"}, {"c"}}}, "'op0' <- Op 'op2' <- Op 'op1'"},
      {"behind a good op", {{{}, {"x"}}, {{"x", "b"}, {"a"}}, {{"a"}, {"b"}}}, "'op1' <- Op 'op2'"},
      {"in front of a good op", {{{"b"}, {"a"}}, {{"a"}, {"b"}}, {{"b"}, {"z"}}}, "'op0' <- Op"},
  };
  for (const Case& example : cases) {
    INFO(example.what);
    GraphBuilder builder;
    for (size_t i = 0; i < example.ops.size(); ++i) {
      REQUIRE(add(builder, numbered("op", i), example.ops[i].first, example.ops[i].second).ok());
    }
    const auto graph = builder.build();
    REQUIRE_FALSE(graph.ok());
    CHECK_THAT(graph.status().message(), Contains(example.expected));
  }
}

TEST_CASE("GraphBuilder: reports five ops and the length of a long cycle") {
  GraphBuilder builder;
  constexpr size_t kLength = 1000;
  for (size_t i = 0; i < kLength; ++i) {
    REQUIRE(add(builder, numbered("op", i), {numbered("t", (i + 1) % kLength)}, {numbered("t", i)})
                .ok());
  }
  const auto graph = builder.build();
  REQUIRE_FALSE(graph.ok());
  CHECK_THAT(graph.status().message(), Contains("(1000 ops in all)"));
  CHECK(graph.status().message().size() < 400);
}

TEST_CASE("GraphBuilder: makes missing and repeated op names unique and keeps the others") {
  GraphBuilder builder;
  for (const std::string name : {"", "Conv_1", "same", "same", "", "same_1"}) {
    REQUIRE(add(builder, name, {}, {}, "Conv").ok());
  }
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  CHECK(op_names(*graph) ==
        std::vector<std::string>{"Conv_0", "Conv_1", "same", "same_2", "Conv_2", "same_1"});
}

TEST_CASE("GraphBuilder: add_tensor makes names unique; tensor_by_name finds the existing ones") {
  GraphBuilder builder;
  Tensor tensor;
  tensor.name = "t";
  const TensorId first = builder.add_tensor(tensor);
  const TensorId second = builder.add_tensor(tensor);
  const TensorId unnamed = builder.add_tensor(Tensor());
  CHECK(builder.tensor(second).name == "t_1");
  CHECK(builder.tensor(unnamed).name == "tensor");
  CHECK(builder.tensor_by_name("t") == first);
  CHECK(builder.find_tensor("t_1") == second);
  CHECK_FALSE(builder.find_tensor("nothing").valid());
}

TEST_CASE("GraphBuilder: lists each consumer once in ascending order, even if it reads twice") {
  GraphBuilder builder;
  builder.mark_input(builder.tensor_by_name("x"));
  REQUIRE(add(builder, "a", {"x", "x"}, {"p"}).ok());
  REQUIRE(add(builder, "b", {"x", "p", ""}, {"q"}).ok());
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  const auto readers = graph->consumers(graph->inputs()[0]);
  CHECK(std::vector<OpId>(readers.begin(), readers.end()) == std::vector<OpId>{OpId(0), OpId(1)});
}

TEST_CASE("GraphBuilder: numbers symbols densely and shares them by name") {
  GraphBuilder builder;
  CHECK(builder.symbol("batch") == 0);
  CHECK(builder.symbol("seq") == 1);
  CHECK(builder.symbol("batch") == 0);
  CHECK(builder.symbols() == std::vector<std::string>{"batch", "seq"});
}

TEST_CASE("GraphBuilder: constants can be replaced, and survive a copy into a new builder") {
  GraphBuilder builder;
  const TensorId id = builder.tensor_by_name("c");
  CHECK(builder.constant(id) == nullptr);
  builder.set_constant(id, ConstValue{DType::kInt64, {2}, {1, 2}, {}});
  builder.set_constant(id, ConstValue{DType::kInt64, {2}, {3, 4}, {}});
  builder.symbol("n");
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  REQUIRE(graph->constant(id) != nullptr);
  CHECK(graph->constant(id)->ints == std::vector<int64_t>{3, 4});
  GraphBuilder again(*graph);
  CHECK(again.find_tensor("c") == id);
  CHECK(again.symbol("n") == 0);
  CHECK(again.constant(id)->ints[1] == 4);
}

TEST_CASE("GraphBuilder: random graphs are sorted and complete for every order of insertion") {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    const size_t n = 1 + rng.below(60);
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::vector<std::vector<std::string>> inputs(n);
    for (size_t i = 1; i < n; ++i) {
      for (size_t k = 0; k < rng.below(4); ++k) {
        inputs[i].push_back(numbered("t", rng.below(i)));
      }
    }
    for (size_t i = n; i > 1; --i) {
      std::swap(order[i - 1], order[rng.below(i)]);
    }
    GraphBuilder builder;
    for (const size_t i : order) {
      REQUIRE(add(builder, numbered("op", i), inputs[i], {numbered("t", i)}).ok());
    }
    const auto graph = builder.build();
    REQUIRE(graph.ok());
    std::set<std::string> seen;
    for (const Op& op : graph->ops()) {
      for (const TensorId input : op.inputs) {
        CHECK(seen.count(graph->tensor(input).name) == 1);
      }
      seen.insert(graph->tensor(op.outputs[0]).name);
    }
    CHECK(seen.size() == n);
  }
}

}  // namespace
}  // namespace dfsim
