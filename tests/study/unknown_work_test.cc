// Parts of a model whose work is not known: what counts as one, and what studies make of it.
#include "study/chain/unknown_work.h"

#include <catch2/catch.hpp>

#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/expand.h"
#include "study/comparison/comparison.h"
#include "study/partitioning/partitioning.h"
#include "study/prediction/prediction.h"
#include "study/validation/validation.h"
#include "tests/onnx/loop_maker.h"
#include "tests/onnx/model_maker.h"

using namespace dfsim;

namespace {

// x[2,8] -> ops in a row, each with the weight it names (or none).
struct UnknownStep {
  const char* op_type;
  const char* domain = "";
  bool declares_output = false;  // as [2,8], as a file with shapes would
};

Graph row_of(const std::vector<UnknownStep>& steps) {
  GraphBuilder builder;
  Tensor x;
  x.name = "x";
  x.dtype = DType::kFloat32;
  x.shape = {2, 8};
  const TensorId input = builder.add_tensor(std::move(x));
  builder.mark_input(input);
  TensorId last = input;
  for (size_t i = 0; i < steps.size(); ++i) {
    Op op;
    op.name = "op" + std::to_string(i);
    op.op_type = steps[i].op_type;
    op.domain = steps[i].domain;
    op.version = 17;
    op.inputs = {last};
    const TensorId out = builder.tensor_by_name("t" + std::to_string(i));
    if (steps[i].declares_output) {
      builder.tensor(out).dtype = DType::kFloat32;
      builder.tensor(out).shape = {2, 8};
    }
    op.outputs = {out};
    DFSIM_CHECK(builder.add_op(std::move(op)).ok());
    last = out;
  }
  builder.mark_output(last);
  DFSIM_CHECK(infer_shapes(builder, {}).ok());
  auto graph = builder.build();
  DFSIM_CHECK(graph.ok());
  return std::move(graph).value();
}

// Imports the model and expands its loops to so many operators at most.
UnknownWork unknown_when_expanded(ModelMaker& model, size_t most_ops) {
  const auto imported = model.import({});
  REQUIRE(imported.ok());
  const auto expanded = expand_control_flow(imported->graph, most_ops);
  REQUIRE(expanded.ok());
  return unknown_work(*expanded, imported->report);
}

ImportReport report_on(const char* op, const char* reason) {
  ImportReport report;
  report.unresolved.push_back({op, "NonZero", reason});
  return report;
}

PolicyOutcome outcome(const char* name, TimeNs makespan_ns, double bound_only_share) {
  PolicyOutcome outcome;
  outcome.name = name;
  outcome.makespan_ns = makespan_ns;
  outcome.bound_only_share = bound_only_share;
  return outcome;
}

Comparison comparison_on(const char* hardware, PolicyOutcome best) {
  Comparison comparison;
  comparison.graph = "model";
  comparison.hardware = hardware;
  comparison.cost_model = "trained";
  comparison.policies.push_back(std::move(best));
  return comparison;
}

}  // namespace

TEST_CASE("Unknown work: a loop whose trips are not known makes every time a lower limit") {
  ImportReport report;
  report.uncounted_loops = {"decoder/steps", "other"};
  const UnknownWork unknown = unknown_work(row_of({{"Relu"}}), report);
  CHECK_FALSE(unknown.complete());
  CHECK(unknown.ops == 0);
  CHECK(unknown.uncounted_loops == 2);
  CHECK(unknown.first.name == "decoder/steps");
  CHECK(unknown.first.reason.find("--trip-count") != std::string::npos);
}

TEST_CASE("UnknownWork: a loop that is not written out makes every time a lower limit") {
  ModelMaker model;  // h = Relu(h)
  model.input("h0", {1, 8});
  GraphMaker body = add_loop(&model, 100'000, "h0", {"last"});
  body.input("before", {1, 8});
  body.node("Relu", {"before"}, {"after"}, "relu");
  body.output("after");
  model.output("last");

  const UnknownWork unknown = unknown_when_expanded(model, 10);
  CHECK_FALSE(unknown.complete());
  CHECK(unknown.ops == 0);
  CHECK(unknown.whole_loops == 1);
  CHECK(unknown.first.op_type == "Loop");
  CHECK(unknown.first.reason.find("100000 trips") != std::string::npos);
  CHECK_FALSE(unknown.assumes_most);
  CHECK(unknown_when_expanded(model, 1'000'000).complete());
}

TEST_CASE("UnknownWork: a whole loop over slices of unknown length is not a sure limit") {
  ModelMaker model;
  model.input("table", {64, 4});
  model.input("offset", {1}, onnx::TensorProto::INT64);
  model.input("state", {1, 4});
  GraphMaker body = add_loop(&model, 100'000, "state", {"last"});
  body.input("before", {1, 4});
  body.node("Slice", {"table", "offset", "offset"}, {"rows"}, "bag");
  body.node("ReduceSum", {"rows"}, {"sum"});
  body.node("Add", {"before", "sum"}, {"after"});
  body.output("after");
  model.output("last");

  const UnknownWork unknown = unknown_when_expanded(model, 10);
  CHECK(unknown.whole_loops == 1);
  CHECK(unknown.assumes_most);
}

TEST_CASE("UnknownWork: a graph with known operators and shapes is complete") {
  const UnknownWork unknown = unknown_work(row_of({{"Relu"}, {"Sigmoid"}}), {});
  CHECK(unknown.complete());
  CHECK(unknown.of == 2);
}

TEST_CASE("UnknownWork: operators on extents that depend on data count as large as they can be") {
  const Graph graph = row_of({{"Relu"}, {"NonZero"}, {"Transpose"}});
  CHECK_FALSE(has_largest_sizes(graph, OpId(0)));
  CHECK(has_largest_sizes(graph, OpId(1)));  // what it writes
  CHECK(has_largest_sizes(graph, OpId(2)));
  CHECK(unknown_work(graph, {}).complete());
}

TEST_CASE("UnknownWork: an operator of unknown shape makes those behind it unknown, too") {
  const Graph graph = row_of({{"Relu"}, {"Acme", "acme"}, {"Relu"}, {"Sigmoid"}});
  const UnknownWork unknown = unknown_work(graph, report_on("op1", "it depends on data"));
  CHECK(unknown.ops == 3);
  CHECK(unknown.of == 4);
  CHECK(unknown.first.name == "op1");
  CHECK(unknown.first.op_type == "Acme");
  CHECK(unknown.first.reason == "it depends on data");
}

TEST_CASE("UnknownWork: tells causes that depend on data from those that need a size") {
  const Graph graph = row_of({{"Relu"}, {"Acme", "acme"}, {"Relu"}});
  ImportReport report = report_on("op1", std::string(kDependsOnValues).c_str());
  report.unresolved[0].extents = {"frames"};
  const UnknownWork unknown = unknown_work(graph, report);
  CHECK(unknown.depends_on_values);
  CHECK(unknown.first.extents == std::vector<std::string>{"frames"});
  CHECK_FALSE(unknown_work(graph, report_on("op1", "its input is not known")).depends_on_values);
}

TEST_CASE(
    "UnknownWork: shapes that the file declares do not tell the work of an unknown operator") {
  const Graph graph = row_of({{"Relu"}, {"Acme", "acme", true}, {"Relu"}});
  const UnknownWork unknown = unknown_work(graph, {});
  CHECK(unknown.ops == 1);
  CHECK(unknown.of == 3);
  CHECK(unknown.first.reason.find("acme::Acme") != std::string::npos);
}

TEST_CASE("Prediction: a part of a model, or many bare bounds, make it a limit") {
  Prediction prediction;
  CHECK_FALSE(prediction.is_limit());
  prediction.bound_only_share = 0.10;
  CHECK_FALSE(prediction.is_limit());
  prediction.bound_only_share = 0.11;
  CHECK(prediction.is_limit());
  prediction.bound_only_share = 0;
  prediction.unknown = {1, 20, {"pad", "Pad", "why"}};
  CHECK(prediction.is_limit());
}

TEST_CASE("Machines: estimates come first, a lower limit is never the best") {
  const auto ranks = rank_machines({comparison_on("bound", outcome("heft", 10, 1.0)),
                                    comparison_on("slow", outcome("heft", 40, 0.05)),
                                    comparison_on("fast", outcome("heft", 20, 0.0))});
  REQUIRE(ranks.size() == 3);
  CHECK(ranks[0].hardware == "fast");
  CHECK(ranks[0].ratio_to_best == 1.0);
  CHECK(ranks[1].hardware == "slow");
  CHECK(ranks[1].ratio_to_best == 2.0);
  CHECK(ranks[2].hardware == "bound");
  CHECK(ranks[2].ratio_to_best == 0.0);
}

TEST_CASE("Machines: neither one machine nor task graphs make a ranking") {
  CHECK(rank_machines({comparison_on("alone", outcome("heft", 10, 0))}).empty());
  Comparison tasks = comparison_on("3 processors", outcome("heft", 10, 0));
  tasks.cost_model.clear();
  CHECK(rank_machines({tasks, tasks}).empty());
}

TEST_CASE("Comparison: a part of a model has a best policy only where the caller accepts that") {
  Comparison comparison = comparison_on("gpu", outcome("heft", 10, 0));
  CHECK(comparison.names_best());
  comparison.unknown = {1, 2, {}};
  CHECK_FALSE(comparison.names_best());
  comparison.allow_incomplete = true;
  CHECK(comparison.names_best());
}

TEST_CASE("Partitioning: a plan with bounds ranks behind estimates, and a part has no best plan") {
  PlanOutcome limit;
  limit.name = "a";
  limit.makespan_ns = 10;
  limit.bound_only_share = 0.5;
  PlanOutcome estimate;
  estimate.name = "b";
  estimate.makespan_ns = 20;
  Partitioning partitioning;
  partitioning.plans = {limit, estimate};
  rank_plans(&partitioning.plans);
  REQUIRE(partitioning.best() != nullptr);
  CHECK(partitioning.best()->name == "b");
  partitioning.unknown = {1, 2, {}};
  CHECK(partitioning.best() == nullptr);
  partitioning.allow_incomplete = true;
  CHECK(partitioning.best() != nullptr);
}

TEST_CASE("Validation: a prediction of a part has no error and counts in no statistic") {
  ValidatedRun whole;
  whole.network = "whole";
  whole.measured_ns = 100;
  whole.predicted_ns = 110;
  whole.interval = {90, 130};
  ValidatedRun part = whole;
  part.network = "part";
  part.predicted_ns = 1;
  part.unknown = {3, 4, {}};
  const ValidationSummary summary = summarize({whole, part});
  CHECK(summary.incomplete == 1);
  CHECK(summary.runs == 1);
  CHECK(summary.networks == 1);
  CHECK(summary.mean == Approx(0.1));
  CHECK(summary.median == Approx(0.1));
  CHECK(summary.inside == Approx(1.0));
  CHECK(summary.worst_run.starts_with("whole"));
}
