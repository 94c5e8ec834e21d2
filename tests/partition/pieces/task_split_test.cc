// Operators in pieces: what each piece computes, reads and holds, worked out by hand.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "graphs/ops/factors/factors.h"
#include "opmodel/node_lowering.h"
#include "opmodel/sol.h"
#include "opmodel/workload.h"
#include "partition/pieces/task_split.h"
#include "partition/pieces/tensor_runs.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/test_graphs.h"

namespace dfsim {
namespace {

// Devices of 1 FLOP/ns and 1000 bytes/ns, without launches.
Platform plain_platform(size_t devices, double link_bytes_per_s = 1e9) {
  Platform platform = switched_platform(devices);
  for (DeviceSpec& device : platform.devices) {
    device.peaks = {{DType::kFloat32, 1e9, 1e9}};
    device.memory_bytes_per_s = 1e12;
  }
  for (LinkSpec& link : platform.links) {
    link.bytes_per_s = link_bytes_per_s;
  }
  return platform;
}

// A graph lowered for a platform, as a comparison has it.
struct Lowered {
  Lowered(Graph ops, Platform machine) : graph(std::move(ops)), platform(std::move(machine)) {
    model = make_sol_model();
    auto workload = make_workload(graph);
    REQUIRE(workload.ok());
    auto costs = make_cost_table(workload->rows, workload->weight_bytes, platform, *model);
    REQUIRE(costs.ok());
    auto lowered = lower_for_node(graph, *workload, platform, *costs);
    INFO(lowered.status().message());
    REQUIRE(lowered.ok());
    node = std::move(*lowered);
  }
  LoweredTasks tasks() const {
    return {graph, node.workload.graph, node.costs, node.dispatch_ns, platform};
  }
  OpId op(const std::string& output) const {
    return graph.tensor(tensor_named(graph, output)).producer;
  }
  int factor(const std::string& output, int dim) const {
    return op_factors(graph, op(output)).outputs[0][static_cast<size_t>(dim)].factor;
  }

  Graph graph;
  Platform platform;
  std::unique_ptr<CostModel> model;
  NodeWorkload node;
};

SplitTasks split(const Lowered& lowered, const std::vector<TaskCut>& splits) {
  auto pieces = split_tasks(lowered.tasks(), splits, *lowered.model);
  INFO(pieces.status().message());
  REQUIRE(pieces.ok());
  return std::move(*pieces);
}

// x [8, 16] -> y = x w1 [8, 32] -> r = relu(y) -> z = r w2 [8, 4].
Graph two_products() {
  GraphMaker make;
  make.input("x", {8, 16});
  make.weight("w1", {16, 32});
  make.weight("w2", {32, 4});
  make.op("MatMul", {"x", "w1"}, "y");
  make.op("Relu", {"y"}, "r");
  make.op("MatMul", {"r", "w2"}, "z");
  return make.finish({"z"});
}

// Bytes from each producing task to each reading one, by name.
using Traffic = std::map<std::pair<std::string, std::string>, Bytes>;
Traffic traffic_of(const ExecGraph& graph) {
  Traffic traffic;
  for (const Edge& edge : graph.edges()) {
    traffic[{graph.name(edge.from), graph.name(edge.to)}] += graph.edge_bytes(edge);
  }
  return traffic;
}

std::string name_of(const Lowered& lowered, const std::string& output) {
  return lowered.graph.op(lowered.op(output)).name;
}

TEST_CASE("even_bounds: cuts into runs that differ by one at most") {
  CHECK(even_bounds(10, 4) == std::vector<int64_t>{0, 3, 6, 8, 10});
  CHECK(even_bounds(8, 2) == std::vector<int64_t>{0, 4, 8});
  CHECK(even_bounds(3, 8) == std::vector<int64_t>{0, 1, 2, 3});
}

TEST_CASE("TensorRuns: go through views whose runs stay in one piece") {
  const TensorRuns rows = {0, {0, 2, 8}};
  const auto merged = through_view(rows, Shape::of({8, 4, 5}), Shape::of({32, 5}));
  REQUIRE(merged.has_value());
  CHECK(*merged == TensorRuns{0, {0, 8, 32}});
  const auto behind_one = through_view(rows, Shape::of({8, 4, 5}), Shape::of({1, 8, 20}));
  REQUIRE(behind_one.has_value());
  CHECK(*behind_one == TensorRuns{1, {0, 2, 8}});
  CHECK_FALSE(through_view({1, {0, 2, 4}}, Shape::of({8, 4, 5}), Shape::of({32, 5})).has_value());
  CHECK_FALSE(through_view(rows, Shape::of({8, 6}), Shape::of({3, 16})).has_value());
  CHECK(common_share(rows, 1, {0, {0, 4, 8}}, 0) == Approx(0.25));  // 2..8 and 0..4: 2 of 8
  CHECK(common_share(rows, 0, {0, {0, 4, 8}}, 1) == 0);
  CHECK(common_share(rows, 0, {1, {0, 1, 4}}, 1) == Approx(0.25 * 0.75));
}

TEST_CASE("split_tasks: pieces along the same rows read only their own") {
  const Lowered lowered(two_products(), plain_platform(2));
  const SplitTasks pieces = split(lowered, {{lowered.op("y"), lowered.factor("y", 0), 2},
                                            {lowered.op("r"), lowered.factor("r", 0), 2},
                                            {lowered.op("z"), lowered.factor("z", 0), 2}});
  REQUIRE(pieces.tasks.task_count() == 6);
  const std::string y = name_of(lowered, "y");
  const std::string r = name_of(lowered, "r");
  const std::string z = name_of(lowered, "z");
  const Bytes half = 4 * 32 * 4;
  CHECK(traffic_of(pieces.tasks) == Traffic{{{y + "#1", r + "#1"}, half},
                                            {{y + "#2", r + "#2"}, half},
                                            {{r + "#1", z + "#1"}, half},
                                            {{r + "#2", z + "#2"}, half}});
  // Half of the rows: half of the arithmetic, all of the weight.
  for (size_t t = 0; t < pieces.tasks.task_count(); ++t) {
    const TaskId id(t);
    if (pieces.tasks.name(id).starts_with(y)) {
      CHECK(pieces.costs.time_ns(pieces.tasks.cost_row(id), DeviceId(0)) == 2 * 4 * 16 * 32);
      CHECK(pieces.tasks.resident_bytes(id) == 16 * 32 * 4);
    }
  }
}

TEST_CASE("split_tasks: a reader of the whole tensor reads every piece") {
  const Lowered lowered(two_products(), plain_platform(2));
  const SplitTasks pieces = split(lowered, {{lowered.op("y"), lowered.factor("y", 1), 4}});
  const std::string y = name_of(lowered, "y");
  const std::string r = name_of(lowered, "r");
  const Traffic traffic = traffic_of(pieces.tasks);
  CHECK(traffic.size() == 5);
  for (const char* piece : {"#1", "#2", "#3", "#4"}) {
    CHECK(traffic.at({y + piece, r}) == 8 * 8 * 4);
  }
  // Columns: the weight is cut with them.
  CHECK(pieces.tasks.resident_bytes(TaskId(0)) == 16 * 8 * 4);
}

TEST_CASE("split_tasks: cuts along different dimensions exchange what both have") {
  const Lowered lowered(two_products(), plain_platform(2));
  const SplitTasks pieces = split(lowered, {{lowered.op("y"), lowered.factor("y", 1), 2},
                                            {lowered.op("r"), lowered.factor("r", 0), 2}});
  const std::string y = name_of(lowered, "y");
  const std::string r = name_of(lowered, "r");
  const Traffic traffic = traffic_of(pieces.tasks);
  for (const char* from : {"#1", "#2"}) {
    for (const char* to : {"#1", "#2"}) {
      CHECK(traffic.at({y + from, r + to}) == 8 * 32 * 4 / 4);
    }
  }
}

TEST_CASE("split_tasks: refuses what cannot be cut so") {
  const Lowered lowered(two_products(), plain_platform(2));
  const auto refused = [&](const TaskCut& one) {
    const auto pieces = split_tasks(lowered.tasks(), {one}, *lowered.model);
    return pieces.ok() ? std::string() : pieces.status().message();
  };
  CHECK(refused({lowered.op("y"), 99, 2}).find("cannot be cut into 2 pieces") != std::string::npos);
  CHECK(refused({lowered.op("y"), lowered.factor("y", 0), 9}).find("9 pieces") !=
        std::string::npos);
}

// 134 MFLOP: 134 ms at 1 FLOP/ns.
Graph large_product() {
  GraphMaker make;
  make.input("x", {1024, 64});
  make.weight("w", {64, 1024});
  make.op("MatMul", {"x", "w"}, "y");
  make.op("Relu", {"y"}, "r");
  return make.finish({"r"});
}

TEST_CASE("choose_splits: cuts a product where links are fast, and what follows it") {
  const Lowered fast(large_product(), plain_platform(4, 1e12));
  const auto chosen = choose_splits(fast.tasks(), SplitRule::kWorthIt, 4, *fast.model);
  REQUIRE(chosen.ok());
  REQUIRE(chosen->size() == 2);
  CHECK((*chosen)[0].op == fast.op("y"));
  CHECK((*chosen)[0].pieces == 4);
  CHECK((*chosen)[1].op == fast.op("r"));
  // Slow links eat the gain.
  const Lowered slow(large_product(), plain_platform(4, 1e6));
  const auto none = choose_splits(slow.tasks(), SplitRule::kWorthIt, 4, *slow.model);
  REQUIRE(none.ok());
  CHECK(none->empty());
  // A single device cannot share.
  const Lowered alone(large_product(), plain_platform(1));
  CHECK(choose_splits(alone.tasks(), SplitRule::kWorthIt, 4, *alone.model)->empty());
}

TEST_CASE("choose_splits: the batch reaches every operator of a network") {
  const Lowered lowered(small_conv_net(8), plain_platform(2));
  const auto chosen = choose_splits(lowered.tasks(), SplitRule::kBatch, 2, *lowered.model);
  REQUIRE(chosen.ok());
  size_t tasks = 0;
  for (size_t t = 0; t < lowered.node.workload.graph.task_count(); ++t) {
    tasks += lowered.node.workload.graph.op(TaskId(t)).valid() ? 1 : 0;
  }
  CHECK(chosen->size() == tasks);
  const SplitTasks pieces = split(lowered, *chosen);
  CHECK(pieces.tasks.task_count() == 2 * tasks);
  // Two independent halves: no data from a #1 to a #2.
  for (const auto& [ends, bytes] : traffic_of(pieces.tasks)) {
    CHECK(ends.first.substr(ends.first.rfind('#')) == ends.second.substr(ends.second.rfind('#')));
  }
}

TEST_CASE("split_tasks: work and data are conserved on random cuts of a network") {
  const Lowered lowered(small_conv_net(6), plain_platform(3));
  const CostTable& whole = lowered.node.costs;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::vector<TaskCut> splits;
    uint32_t state = seed;
    for (size_t i = 0; i < lowered.graph.op_count(); ++i) {
      const OpId id(i);
      const FactorMap map = op_factors(lowered.graph, id);
      state = state * 1664525 + 1013904223;
      const int pieces = 2 + static_cast<int>(state >> 28) % 3;
      for (size_t f = 0; f < map.factors.size(); ++f) {
        const TaskCut one = {id, static_cast<int>(f), pieces};
        if ((state >> 20) % 2 == 0 && split_tasks(lowered.tasks(), {one}, *lowered.model).ok()) {
          splits.push_back(one);
          break;
        }
      }
    }
    const SplitTasks pieces = split(lowered, splits);
    std::map<OpId, TimeNs> times;
    std::map<OpId, std::set<TaskId>> readers;
    for (size_t t = 0; t < pieces.tasks.task_count(); ++t) {
      const TaskId id(t);
      times[pieces.tasks.op(id)] += pieces.costs.time_ns(pieces.tasks.cost_row(id), DeviceId(0));
    }
    for (size_t t = 0; t < lowered.node.workload.graph.task_count(); ++t) {
      const TaskId id(t);
      const OpId op = lowered.node.workload.graph.op(id);
      const TimeNs alone = whole.time_ns(lowered.node.workload.graph.cost_row(id), DeviceId(0));
      CAPTURE(seed, lowered.graph.op(op).name);
      // Products take as long in pieces; others may read shared operands more than once.
      CHECK(times[op] >= alone - 8);
    }
  }
}

}  // namespace
}  // namespace dfsim
