// If, Loop, Scan and sequences: shapes that come out, and the work of what is inside.
#include <algorithm>
#include <catch2/catch.hpp>

#include "graphs/ops/totals.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

GraphTotals totals_of(const ImportedModel& model) {
  auto totals = graph_totals(model.graph);
  INFO(totals.status().message());
  REQUIRE(totals.ok());
  return std::move(*totals);
}

ImportedModel imported(ModelMaker& model, const ImportOptions& options = {}) {
  auto result = model.import(options);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(*result);
}

// y = c ? x . w : Relu(x).
void add_choice(ModelMaker* model) {
  auto* node = model->node("If", {"c"}, {"y"}, "choice");
  GraphMaker then_branch(set_graph(node, "then_branch"));
  then_branch.node("MatMul", {"x", "w"}, {"t"}, "product");
  then_branch.output("t");
  GraphMaker else_branch(set_graph(node, "else_branch"));
  else_branch.node("Relu", {"x"}, {"e"}, "relu");
  else_branch.output("e");
  model->output("y");
}

// The same with x 2x4 and w 4x8: 64 MACs, or 8 FLOPs.
void two_branches(ModelMaker* model) {
  model->input("x", {2, 4});
  model->input("c", {}, onnx::TensorProto::BOOL);
  model->weight("w", {4, 8});
  add_choice(model);
}

TEST_CASE("If: an unknown condition costs the larger branch and leaves a note") {
  ModelMaker model;
  two_branches(&model);
  const ImportedModel result = imported(model);
  CHECK(result.report.unresolved.empty());
  CHECK(totals_of(result).macs == 64);
  CHECK(shape_of(result.graph, "y") == "2x8");  // the larger on every axis
  REQUIRE(result.report.notes.size() == 1);
  CHECK(result.report.notes[0].find("which branch of If 'choice'") != std::string::npos);
}

TEST_CASE("If: the user can choose the branch") {
  ModelMaker model;
  two_branches(&model);
  const ImportedModel taken = imported(model, {.branch = true});
  CHECK(totals_of(taken).macs == 64);
  CHECK(taken.report.notes.empty());
  const ImportedModel other = imported(model, {.branch = false});
  CHECK(totals_of(other).macs == 0);
  CHECK(totals_of(other).flops == 8);
  CHECK(shape_of(other.graph, "y") == "2x4");
}

TEST_CASE(
    "If: a condition on how much data there is assumes the most, and the user may say otherwise") {
  ModelMaker model;
  model.input("x", {2, 4});
  model.weight("w", {4, 8});
  auto* least = model.weight("k", {});
  least->set_data_type(onnx::TensorProto::INT64);
  least->add_int64_data(10);
  model.node("NonZero", {"x"}, {"found"});  // 2 x at most 8
  model.node("Size", {"found"}, {"count"});
  model.node("Greater", {"count", "k"}, {"c"});
  add_choice(&model);
  const ImportedModel assumed = imported(model);
  CHECK(totals_of(assumed).macs == 64);
  const auto has_note = [](const ImportedModel& result) {
    return std::any_of(result.report.notes.begin(), result.report.notes.end(),
                       [](const std::string& note) {
                         return note.find("which branch of If 'choice'") != std::string::npos;
                       });
  };
  CHECK(has_note(assumed));
  const ImportedModel other = imported(model, {.branch = false});
  CHECK(totals_of(other).macs == 0);
  CHECK_FALSE(has_note(other));
}

TEST_CASE("If: a constant condition decides, whatever branch the user chooses") {
  ModelMaker model;
  model.input("x", {2, 4});
  auto* condition = model.weight("c", {});
  condition->set_data_type(onnx::TensorProto::BOOL);
  condition->add_int32_data(0);
  auto* node = model.node("If", {"c"}, {"y"}, "choice");
  GraphMaker then_branch(set_graph(node, "then_branch"));
  then_branch.node("Sigmoid", {"x"}, {"t"});
  then_branch.output("t");
  GraphMaker else_branch(set_graph(node, "else_branch"));
  else_branch.node("Relu", {"x"}, {"e"});
  else_branch.output("e");
  model.output("y");
  const ImportedModel result = imported(model, {.branch = true});
  CHECK(totals_of(result).flops == 8);
  CHECK(result.report.notes.empty());
}

// h, all = Loop(trips, true, x): h <- h . w, and Relu(h) is collected; 2x4 . 4x4 = 32 MACs a trip.
void counted_loop(ModelMaker* model, bool known) {
  model->input("x", {2, 4});
  model->weight("w", {4, 4});
  if (known) {
    auto* trips = model->weight("n", {});
    trips->set_data_type(onnx::TensorProto::INT64);
    trips->add_int64_data(5);
  } else {
    model->input("n", {}, onnx::TensorProto::INT64);
  }
  auto* node = model->node("Loop", {"n", "", "x"}, {"h", "all"}, "steps");
  GraphMaker body(set_graph(node, "body"));
  body.input("i", {}, onnx::TensorProto::INT64);
  body.input("go", {}, onnx::TensorProto::BOOL);
  body.input("state", {2, 4});
  body.node("Identity", {"go"}, {"go_on"});
  body.node("MatMul", {"state", "w"}, {"next"}, "product");
  body.node("Relu", {"next"}, {"seen"}, "relu");
  body.output("go_on");
  body.output("next");
  body.output("seen");
  model->output("h");
  model->output("all");
}

TEST_CASE("Loop: counts its body once per trip and stacks its scan outputs") {
  ModelMaker model;
  counted_loop(&model, true);
  const ImportedModel result = imported(model);
  CHECK(result.report.unresolved.empty());
  CHECK(shape_of(result.graph, "h") == "2x4");
  CHECK(shape_of(result.graph, "all") == "5x2x4");
  const GraphTotals totals = totals_of(result);
  CHECK(totals.macs == 5 * 32);
  CHECK(totals.flops == 5 * (2 * 32 + 8));
}

TEST_CASE("Trip counts: are assumed or given, and an unknown loop is refused") {
  ModelMaker model;
  counted_loop(&model, false);
  const ImportedModel assumed = imported(model);
  CHECK(totals_of(assumed).macs == 32);
  REQUIRE(assumed.report.notes.size() == 1);
  CHECK(assumed.report.notes[0].find("--trip-count") != std::string::npos);
  const ImportedModel given = imported(model, {.trip_counts = {{"steps", 7}}});
  CHECK(totals_of(given).macs == 7 * 32);
  CHECK(shape_of(given.graph, "all") == "7x2x4");
  CHECK(given.report.notes.empty());
  const ImportedModel never = imported(model, {.trip_counts = {{"steps", 0}}});
  CHECK(totals_of(never).macs == 0);
  CHECK(shape_of(never.graph, "h") == "2x4");
  const auto wrong = model.import({.trip_counts = {{"step", 7}}});
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.status().message().find("'steps'") != std::string::npos);
}

TEST_CASE("Loop: trips times the work of the body must fit in 63 bits") {
  ModelMaker model;
  counted_loop(&model, false);
  const auto result = model.import({.trip_counts = {{"steps", INT64_MAX}}});
  REQUIRE((!result.ok() || !graph_totals(result->graph).ok()));
}

TEST_CASE("Scan: runs its body along the axis that it splits") {
  ModelMaker model;
  model.input("h0", {4});
  model.input("xs", {6, 4});
  auto* node = model.node("Scan", {"h0", "xs"}, {"h", "ys"}, "scan");
  set_int(node, "num_scan_inputs", 1);
  GraphMaker body(set_graph(node, "body"));
  body.input("h_in", {4});
  body.input("x", {4});
  body.node("Add", {"h_in", "x"}, {"h_out"});
  body.node("Relu", {"h_out"}, {"y"});
  body.output("h_out");
  body.output("y");
  model.output("h");
  model.output("ys");
  const ImportedModel result = imported(model);
  CHECK(result.report.unresolved.empty());
  CHECK(shape_of(result.graph, "h") == "4");
  CHECK(shape_of(result.graph, "ys") == "6x4");
  CHECK(totals_of(result).flops == 6 * 8);
}

TEST_CASE("Scan: refuses a node without an input to split") {
  ModelMaker model;
  model.input("h0", {4});
  auto* node = model.node("Scan", {"h0"}, {"h"}, "scan");
  set_int(node, "num_scan_inputs", 2);
  GraphMaker body(set_graph(node, "body"));
  body.input("h_in", {4});
  body.output("h_in");
  model.output("h");
  CHECK_FALSE(model.import().ok());
}

TEST_CASE("Lists of tensors: can be made, measured, split and joined") {
  ModelMaker model;
  model.input("a", {2, 4});
  model.input("b", {2, 4});
  model.node("SequenceConstruct", {"a", "b"}, {"list"});
  model.node("SequenceLength", {"list"}, {"n"});
  model.node("SequenceInsert", {"list", "a"}, {"longer"});
  auto* stacked = model.node("ConcatFromSequence", {"longer"}, {"stacked"});
  set_int(stacked, "axis", 0);
  set_int(stacked, "new_axis", 1);
  auto* joined = model.node("ConcatFromSequence", {"list"}, {"joined"});
  set_int(joined, "axis", 1);
  auto* parts = model.node("SplitToSequence", {"joined"}, {"parts"});
  set_int(parts, "axis", 1);
  set_int(parts, "keepdims", 0);
  model.ints("at", {0});
  model.node("SequenceAt", {"parts", "at"}, {"part"});
  for (const char* name : {"n", "stacked", "joined", "part"}) {
    model.output(name);
  }
  const ImportedModel result = imported(model);
  CHECK(result.report.unresolved.empty());
  const ConstValue* length = result.graph.constant(find_tensor(result.graph, "n"));
  REQUIRE(length != nullptr);
  CHECK(length->as_int(0) == 2);
  CHECK(shape_of(result.graph, "stacked") == "3x2x4");
  CHECK(shape_of(result.graph, "joined") == "2x8");
  CHECK(shape_of(result.graph, "part") == "2");
}

}  // namespace
}  // namespace dfsim
