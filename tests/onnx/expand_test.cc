// Control flow written out for execution: what runs, with which shapes, and who waits for whom.
#include <catch2/catch.hpp>

#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/expand.h"
#include "graphs/passes/cleanup/prune.h"
#include "opmodel/sol.h"
#include "opmodel/workload.h"
#include "tests/onnx/loop_maker.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

struct Executed {
  Graph graph;
  // MACs of each operator of that type, in the order of execution.
  std::vector<int64_t> macs(const std::string& type) const {
    std::vector<int64_t> all;
    for (size_t i = 0; i < graph.op_count(); ++i) {
      if (graph.op(OpId(i)).op_type == type) {
        all.push_back(op_work(graph, OpId(i))->macs);
      }
    }
    return all;
  }
  size_t count(const std::string& type) const { return macs(type).size(); }
};

Executed executed(ModelMaker& model, const ImportOptions& options = {},
                  size_t most_ops = kMostExpandedOps) {
  const auto imported = model.import(options);
  INFO(imported.status().message());
  REQUIRE(imported.ok());
  CHECK(has_control_flow(imported->graph));
  const auto expanded = expand_control_flow(imported->graph, most_ops);
  INFO(expanded.status().message());
  REQUIRE(expanded.ok());
  auto pruned = prune(*expanded);
  REQUIRE(pruned.ok());
  REQUIRE(make_workload(pruned->graph).ok());
  return {std::move(pruned->graph)};
}

// h = Relu(h w), and every h is collected.
ModelMaker recurrence(int64_t trips) {
  ModelMaker model;
  model.input("h0", {1, 8});
  model.weight("w", {8, 8});
  GraphMaker body = add_loop(&model, trips, "h0", {"last", "all"});
  body.input("before", {1, 8});
  body.node("MatMul", {"before", "w"}, {"product"}, "product");
  body.node("Relu", {"product"}, {"after"}, "relu");
  body.output("after");
  body.output("after");
  model.output("last");
  model.output("all");
  return model;
}

TEST_CASE("a loop becomes its body, once per trip, each after the one before") {
  ModelMaker model = recurrence(3);
  const Executed result = executed(model);
  CHECK(result.macs("MatMul") == std::vector<int64_t>{64, 64, 64});
  CHECK(result.count("Relu") == 3);
  CHECK(result.count("Loop") == 0);
  const auto workload = make_workload(result.graph);
  // product, relu, product, relu, product, relu, and what was collected in one piece.
  REQUIRE(workload->graph.task_count() == 7);
  CHECK(result.graph.op(workload->graph.op(TaskId(2))).name == "product#1");
  for (size_t t = 1; t < 6; ++t) {
    REQUIRE(workload->graph.in_degree(TaskId(t)) == 1);
    CHECK(workload->graph.edges()[workload->graph.in_edge_indices(TaskId(t))[0]].from ==
          TaskId(t - 1));
  }
  CHECK(workload->graph.in_degree(TaskId(6)) == 3);
  CHECK(workload->weight_bytes == 8 * 8 * 4);  // one matrix for all trips
  CHECK(shape_of(result.graph, "all") == "3x1x8");
  CHECK(shape_of(result.graph, "last") == "1x8");
}

TEST_CASE("a loop that never runs passes its state on") {
  ModelMaker model = recurrence(0);
  const Executed result = executed(model);
  CHECK(result.count("MatMul") == 0);
  CHECK(shape_of(result.graph, "all") == "0x1x8");
}

TEST_CASE("a loop that would be too long stays one operator, and costs its work") {
  ModelMaker model = recurrence(1000);
  CHECK(executed(model).count("MatMul") == 1000);
  const Executed kept = executed(model, {}, 500);
  CHECK(kept.macs("Loop") == std::vector<int64_t>{64'000});
  const auto workload = make_workload(kept.graph);
  DeviceSpec device;
  device.peaks = {{DType::kFloat32, 1e9, 0}};
  device.memory_bytes_per_s = 1e9;
  std::vector<OpCost> costs(workload->rows.size());
  REQUIRE(make_sol_model()->predict(workload->rows, device, costs).ok());
  // 1000 times 8x8 weights, two rows of 8 and what Relu reads and writes, at a byte a nanosecond.
  CHECK(costs[0].time_ns == 1000 * (256 + 4 * 32));
}

TEST_CASE("trips that absurd counts name are not written out") {
  ModelMaker model = recurrence(int64_t{1} << 39);
  CHECK(executed(model).count("Loop") == 1);
}

TEST_CASE("every trip has its own shapes") {
  ModelMaker model;
  model.input("x", {1, 4});
  model.input("cache", {1, 4});
  model.weight("w", {4, 2});
  GraphMaker body = add_loop(&model, 4, "cache", {"last", "seen_in_all"});
  body.input("before", {1, 4});
  set_int(body.node("Concat", {"before", "x"}, {"after"}), "axis", 0);
  body.node("MatMul", {"after", "w"}, {"seen"});
  body.node("ReduceSum", {"seen"}, {"sum"});
  body.output("after");
  body.output("sum");
  model.output("last");
  model.output("seen_in_all");
  const Executed result = executed(model);
  CHECK(result.macs("MatMul") == std::vector<int64_t>{2 * 8, 3 * 8, 4 * 8, 5 * 8});
  CHECK(shape_of(result.graph, "last") == "5x4");
}

TEST_CASE("loops in loops, and counters that fold") {
  ModelMaker model;
  model.input("x", {1, 8});
  model.weight("w", {8, 8});
  GraphMaker outer = add_loop(&model, 2, "x", {"y"}, "outer");
  outer.input("h", {1, 8});
  GraphMaker inner = add_loop(&outer, 3, "h", {"h_next"}, "inner");
  inner.input("g", {1, 8});
  inner.node("MatMul", {"g", "w"}, {"product"}, "product");
  set_int(inner.node("Cast", {"inner_i"}, {"number"}), "to", onnx::TensorProto::FLOAT);
  inner.node("Add", {"product", "number"}, {"g_next"});
  inner.output("g_next");
  outer.output("h_next");
  model.output("y");
  const Executed result = executed(model);
  CHECK(result.count("MatMul") == 6);
  CHECK(result.count("Add") == 6);
  CHECK(result.count("Cast") == 0);
  bool found = false;
  for (const Op& op : result.graph.ops()) {
    found |= op.name == "product#1#2";
  }
  CHECK(found);
}

TEST_CASE("an If gives way to the branch that counts") {
  for (const auto& [branch, macs] : std::vector<std::pair<std::optional<bool>, int64_t>>{
           {std::nullopt, 8 * 32}, {true, 8 * 16}, {false, 8 * 32}}) {
    ModelMaker model;
    model.input("x", {1, 8});
    model.input("choose", {}, onnx::TensorProto::BOOL);
    model.weight("narrow", {8, 16});
    model.weight("wide", {8, 32});
    auto* node = model.node("If", {"choose"}, {"y"}, "choice");
    GraphMaker then_branch(set_graph(node, "then_branch"));
    then_branch.node("MatMul", {"x", "narrow"}, {"a"});
    then_branch.output("a");
    GraphMaker else_branch(set_graph(node, "else_branch"));
    else_branch.node("MatMul", {"x", "wide"}, {"b"});
    else_branch.output("b");
    model.output("y");
    const Executed result = executed(model, {.branch = branch});
    CHECK(result.macs("MatMul") == std::vector<int64_t>{macs});
    CHECK(result.count("If") == 0);
  }
}

TEST_CASE("a Scan reads rows where they are and stacks its results") {
  ModelMaker model;
  model.input("sum", {4});
  model.input("rows", {3, 4});
  auto* node = model.node("Scan", {"sum", "rows"}, {"total", "sums"}, "scan");
  set_int(node, "num_scan_inputs", 1);
  GraphMaker body(set_graph(node, "body"));
  body.input("before", {4});
  body.input("row", {4});
  body.node("Add", {"before", "row"}, {"after"}, "add");
  body.output("after");
  body.output("after");
  model.output("total");
  model.output("sums");
  const Executed result = executed(model);
  CHECK(result.count("Add") == 3);
  CHECK(result.count("Gather") == 0);
  CHECK(result.count("ConcatFromSequence") == 1);
  CHECK(shape_of(result.graph, "sums") == "3x4");
  CHECK(make_workload(result.graph)->graph.task_count() == 4);
}

TEST_CASE("who joins a list that a loop filled waits for its elements") {
  ModelMaker model;
  add_filled_list(&model);
  const auto workload = make_workload(executed(model).graph);
  REQUIRE(workload->graph.task_count() == 4);
  CHECK(workload->graph.in_degree(TaskId(3)) == 3);
}

}  // namespace
}  // namespace dfsim
