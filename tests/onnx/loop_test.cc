// Loops whose state grows or whose shapes depend on the trip, and SequenceMap.
#include <catch2/catch.hpp>

#include "graphs/ops/totals.h"
#include "tests/onnx/loop_maker.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

ImportedModel imported_loop(ModelMaker& model, const ImportOptions& options = {}) {
  auto result = model.import(options);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(*result);
}

int64_t macs_of(const ImportedModel& model) {
  const auto totals = graph_totals(model.graph);
  REQUIRE(totals.ok());
  return totals->macs;
}

// The inferred body of the model's only Loop.
const Graph& body_of(const Graph& graph) {
  for (const Op& op : graph.ops()) {
    if (op.op_type == "Loop") {
      return **std::get_if<std::shared_ptr<const Graph>>(op.attributes.find("body"));
    }
  }
  FAIL("no Loop");
  std::abort();
}

TEST_CASE(
    "Loop: a state that grows by a row per trip has its last shape and the work of all trips") {
  ModelMaker model;
  model.input("x", {1, 4});
  model.input("cache", {1, 4});
  model.weight("w", {4, 2});
  GraphMaker body = add_loop(&model, 5, "cache", {"last"});
  body.input("before", {1, 4});
  set_int(body.node("Concat", {"before", "x"}, {"after"}), "axis", 0);
  body.node("MatMul", {"after", "w"}, {"seen"});
  body.output("after");
  model.output("last");
  const ImportedModel result = imported_loop(model);
  CHECK(result.report.unresolved.empty());
  CHECK(shape_of(result.graph, "last") == "6x4");
  CHECK(macs_of(result) == (2 + 3 + 4 + 5 + 6) * 4 * 2);
}

TEST_CASE("Loop: a state that doubles each trip has no known shape") {
  ModelMaker model;
  model.input("x", {1, 4});
  GraphMaker body = add_loop(&model, 5, "x", {"last"});
  body.input("before", {1, 4});
  set_int(body.node("Concat", {"before", "before"}, {"after"}), "axis", 0);
  body.output("after");
  model.output("last");
  const ImportedModel result = imported_loop(model);
  CHECK(shape_of(result.graph, "last") == "?x4");
  REQUIRE(result.report.unresolved.size() == 1);
  CHECK(result.report.unresolved[0].name == "steps");
}

TEST_CASE("Loop: a list that the body fills has as many elements as there are trips") {
  ModelMaker model;
  add_filled_list(&model);
  const ImportedModel result = imported_loop(model);
  CHECK(result.report.unresolved.empty());
  CHECK(shape_of(result.graph, "all") == "6x4");
}

// Each trip slices the first rows of 9, as many as its number: 1 to 5, and 3 in the middle trip.
TEST_CASE("Loop: shapes that depend on the trip are those of the middle trip") {
  ModelMaker model;
  model.input("x", {9, 4});
  model.input("sum", {2});
  model.weight("w", {4, 2});
  model.ints("zero", {0});
  model.ints("one", {1});
  GraphMaker body = add_loop(&model, 5, "sum", {"last"});
  body.input("before", {2});
  body.node("Add", {"steps_i", "one"}, {"end"});
  body.node("Slice", {"x", "zero", "end", "zero"}, {"rows"}, "rows");
  body.node("MatMul", {"rows", "w"}, {"product"});
  body.node("ReduceSum", {"product", "zero"}, {"total"});
  body.node("Add", {"before", "total"}, {"wide"});
  body.node("Squeeze", {"wide", "zero"}, {"after"});
  body.output("after");
  model.output("last");
  const ImportedModel result = imported_loop(model);
  CHECK(result.report.unresolved.empty());
  CHECK(shape_of(result.graph, "last") == "2");
  CHECK(macs_of(result) == (1 + 2 + 3 + 4 + 5) * 4 * 2);
  const Graph& inner = body_of(result.graph);
  CHECK(inner.tensor(find_tensor(inner, "rows")).data_dependent);
  // The number of rows does not reach the sums.
  CHECK_FALSE(inner.tensor(find_tensor(inner, "after")).data_dependent);
  CHECK_FALSE(result.graph.tensor(find_tensor(result.graph, "last")).data_dependent);
}

// Trip i slices row i: one row in each trip.
TEST_CASE("Loop: extents that are the same in all trips do not depend on data") {
  ModelMaker model;
  model.input("x", {9, 4});
  model.input("sum", {1, 2});
  model.weight("w", {4, 2});
  model.ints("zero", {0});
  model.ints("one", {1});
  GraphMaker body = add_loop(&model, 5, "sum", {"last"});
  body.input("before", {1, 2});
  body.node("Unsqueeze", {"steps_i", "zero"}, {"start"});
  body.node("Add", {"start", "one"}, {"end"});
  body.node("Slice", {"x", "start", "end", "zero"}, {"row"});
  body.node("MatMul", {"row", "w"}, {"product"});
  body.node("Add", {"before", "product"}, {"after"});
  body.output("after");
  model.output("last");
  const ImportedModel result = imported_loop(model);
  CHECK(result.report.notes.empty());
  CHECK(macs_of(result) == 5 * 4 * 2);
  const Graph& inner = body_of(result.graph);
  CHECK_FALSE(inner.tensor(find_tensor(inner, "row")).data_dependent);
  CHECK_FALSE(inner.tensor(find_tensor(inner, "product")).data_dependent);
}

// The state's values end the loop, so its limit of seven trips is an assumption, and the user may
// know better.
TEST_CASE("Loop: a condition that data decide may end it before its limit, which is noted") {
  ModelMaker model;
  model.input("x", {1, 4});
  model.weight("w", {4, 4});
  model.weight("enough", {});
  auto* count = model.weight("most", {});
  count->set_data_type(onnx::TensorProto::INT64);
  count->add_int64_data(7);
  auto* node = model.node("Loop", {"most", "", "x"}, {"last"}, "steps");
  GraphMaker body(set_graph(node, "body"));
  body.input("i", {}, onnx::TensorProto::INT64);
  body.input("go", {}, onnx::TensorProto::BOOL);
  body.input("before", {1, 4});
  body.node("MatMul", {"before", "w"}, {"after"});
  set_int(body.node("ReduceMax", {"after"}, {"largest"}), "keepdims", 0);
  body.node("Less", {"largest", "enough"}, {"again"});
  body.output("again");
  body.output("after");
  model.output("last");
  const ImportedModel result = imported_loop(model);
  CHECK(macs_of(result) == 7 * 4 * 4);
  CHECK(result.report.uncounted_loops.empty());
  REQUIRE(result.report.notes.size() == 1);
  CHECK(result.report.notes[0] ==
        "Loop 'steps' may end before its limit, all trips of which are assumed; use --trip-count "
        "NAME=N");
  const ImportedModel told = imported_loop(model, {.trip_counts = {{"steps", 2}}});
  CHECK(told.report.notes.empty());
  CHECK(macs_of(told) == 2 * 4 * 4);
}

TEST_CASE("Loop: nested loops that all grow are imported in bounded time") {
  ModelMaker model;
  model.input("x", {1, 4});
  GraphMaker inner(&model.graph());
  std::string state = "x";
  for (int depth = 0; depth < 40; ++depth) {
    const std::string name = std::string("loop").append(std::to_string(depth));
    const std::string last = name + "_last";
    GraphMaker body = add_loop(&inner, 3, state, {last}, name);
    inner.output(last);
    state = name + "_before";
    body.input(state, {1, 4});
    inner = body;
  }
  set_int(inner.node("Concat", {state, state}, {"twice"}), "axis", 0);
  inner.output("twice");
  const ImportedModel result = imported_loop(model);
  CHECK_FALSE(result.report.unresolved.empty());
}

TEST_CASE("Loop: a slice of the body whose extent depends on data is noted by its name") {
  ModelMaker model;  // as EmbeddingBag: rows from one offset to another
  model.input("table", {64, 4});
  model.input("offset", {1}, onnx::TensorProto::INT64);
  model.input("state", {1, 4});
  GraphMaker body = add_loop(&model, 3, "state", {"last"});
  body.input("before", {1, 4});
  body.node("Slice", {"table", "offset", "offset"}, {"rows"}, "bag");
  set_int(body.node("ReduceSum", {"rows"}, {"sum"}), "keepdims", 1);
  body.node("Add", {"before", "sum"}, {"after"});
  body.output("after");
  model.output("last");
  const ImportedModel result = imported_loop(model);
  CHECK(std::any_of(result.report.notes.begin(), result.report.notes.end(),
                    [](const std::string& note) {
                      return note.find("'Slice bag'") != std::string::npos &&
                             note.find("the most possible is assumed") != std::string::npos;
                    }));
}

TEST_CASE("FlexAttention: counts the work of its subgraphs") {
  ModelMaker model(25);
  auto* preview = model.model().add_opset_import();
  preview->set_domain("ai.onnx.preview");
  preview->set_version(1);
  model.input("q", {1, 2, 3, 8});
  model.input("k", {1, 2, 5, 8});
  model.input("v", {1, 2, 5, 4});
  auto* node = model.node("FlexAttention", {"q", "k", "v"}, {"y"}, "flex");
  node->set_domain("ai.onnx.preview");
  GraphMaker body(set_graph(node, "score_mod"));
  body.input("scores", {1, 2, 3, 5});
  body.node("Relu", {"scores"}, {"kept"});
  body.output("kept");
  model.output("y");
  const ImportedModel result = imported_loop(model);
  CHECK(result.report.unresolved.empty());
  CHECK(shape_of(result.graph, "y") == "1x2x3x4");
  const int64_t scores = 2 * 3 * 5;
  CHECK(macs_of(result) == scores * (8 + 4));
  CHECK(graph_totals(result.graph)->flops == 2 * macs_of(result) + 7 * scores + scores);
}

TEST_CASE("SequenceMap: runs its body once for each element") {
  ModelMaker model;
  model.input("a", {2, 4});
  model.weight("w", {4, 3});
  model.node("SequenceConstruct", {"a", "a", "a"}, {"list"});
  auto* map = model.node("SequenceMap", {"list", "w"}, {"mapped"}, "map");
  GraphMaker body(set_graph(map, "body"));
  body.input("element", {2, 4});
  body.input("weight", {4, 3});
  body.node("MatMul", {"element", "weight"}, {"product"});
  body.output("product");
  set_int(model.node("ConcatFromSequence", {"mapped"}, {"all"}), "axis", 0);
  model.output("all");
  const ImportedModel result = imported_loop(model);
  CHECK(result.report.unresolved.empty());
  CHECK(shape_of(result.graph, "all") == "6x3");
  CHECK(macs_of(result) == 3 * 2 * 4 * 3);
}

}  // namespace
}  // namespace dfsim
