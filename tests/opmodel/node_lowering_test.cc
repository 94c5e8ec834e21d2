#include "opmodel/node_lowering.h"

#include <catch2/catch.hpp>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/prune.h"
#include "opmodel/sol.h"
#include "tests/opmodel/graph_parts.h"

namespace dfsim {
namespace {

DeviceSpec device(const std::string& name, DeviceType type, double flops_per_s) {
  DeviceSpec spec;
  spec.name = name;
  spec.type = type;
  spec.peaks = {{DType::kFloat32, flops_per_s, 0}};
  spec.memory_bytes_per_s = flops_per_s / 10;
  spec.memory_bytes = Bytes{1} << 30;
  return spec;
}

// Two GPUs and a CPU in the middle of the list, so that order decides nothing.
Platform node() {
  Platform platform;
  platform.name = "node";
  platform.devices = {device("gpu0", DeviceType::kGpu, 1e13), device("cpu", DeviceType::kCpu, 1e12),
                      device("gpu1", DeviceType::kGpu, 2e13)};
  platform.runtime.dispatch_ns = 50;
  platform.runtime.view_dispatch_ns = 5;
  return platform;
}

struct Lowered {
  PruneResult pruned;
  Workload workload;
  NodeWorkload node;
};

Lowered lowered(GraphBuilder& builder, const Platform& platform) {
  REQUIRE(infer_shapes(builder, {}).ok());
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  Lowered result{std::move(prune(*graph)).value(), {}, {}};
  result.workload = std::move(make_workload(result.pruned.graph)).value();
  const auto costs = make_cost_table(result.workload.rows, result.workload.weight_bytes, platform,
                                     *make_sol_model());
  REQUIRE(costs.ok());
  auto node = lower_for_node(result.pruned.graph, result.workload, platform, *costs);
  INFO(node.status().message());
  REQUIRE(node.ok());
  result.node = std::move(*node);
  return result;
}

std::vector<std::string> runs_on(const NodeWorkload& node, TaskId task, const Platform& platform) {
  std::vector<std::string> names;
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    if (node.costs.feasible(node.workload.graph.cost_row(task), DeviceId(d))) {
      names.push_back(platform.devices[d].name);
    }
  }
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE(
    "Node lowering: inputs come from the host's memory and outputs return, also through views") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {2, 3});
  const TensorId y = tensor(builder, "y", TensorRole::kActivation, {2, 3});
  builder.mark_input(x);
  builder.mark_input(y);
  const TensorId flat = op(builder, "Flatten", {y}, "flat");
  builder.mark_output(op(builder, "Add", {x, flat}, "sum"));
  const Platform platform = node();
  const Lowered result = lowered(builder, platform);
  const ExecGraph& graph = result.node.workload.graph;
  REQUIRE(graph.task_count() == 4);
  const TaskId sum = result.node.task_of.at(0);
  CHECK(graph.name(sum) == "sum");
  CHECK(runs_on(result.node, sum, platform) == Names{"gpu0", "cpu", "gpu1"});
  Names around;
  for (size_t t = 0; t < 4; ++t) {
    if (TaskId(t) != sum) {
      around.push_back(graph.name(TaskId(t)));
      CHECK(runs_on(result.node, TaskId(t), platform) == Names{"cpu"});
      CHECK(result.node.dispatch_ns[t] == 0);
      CHECK_FALSE(graph.op(TaskId(t)).valid());
    }
  }
  CHECK(around == Names{"input x", "input y", "output of sum"});
  REQUIRE(graph.in_degree(sum) == 2);
  REQUIRE(graph.out_degree(sum) == 1);
  for (const Edge& edge : graph.edges()) {
    CHECK(graph.edge_bytes(edge) == 24);
  }
  CHECK(result.node.dispatch_ns[sum.index()] == 55);

  // Nothing is copied where there is no accelerator, or no CPU, or one device only.
  for (const std::vector<size_t>& kept :
       std::vector<std::vector<size_t>>{{1, 1}, {0, 2}, {0}, {1}}) {
    Platform other = platform;
    other.devices.clear();
    for (const size_t d : kept) {
      other.devices.push_back(platform.devices[d]);
    }
    GraphBuilder again(result.pruned.graph);
    CHECK(lowered(again, other).node.workload.graph.task_count() == 1);
  }
}

TEST_CASE("Node lowering: keeps ops off devices that cannot run them") {
  GraphBuilder builder;
  const TensorId words = tensor(builder, "words", TensorRole::kActivation, {4}, DType::kString);
  builder.mark_input(words);
  builder.mark_output(op(builder, "Identity", {words}, "same"));
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {1 << 20, 100});
  builder.mark_input(x);
  builder.mark_output(op(builder, "Relu", {x}, "large"));  // 2 x 400 MiB
  Platform platform = node();
  platform.devices[0].memory_bytes = Bytes{1} << 29;
  const Lowered result = lowered(builder, platform);
  const ExecGraph& graph = result.node.workload.graph;
  for (const TaskId task : result.node.task_of) {
    CHECK(runs_on(result.node, task, platform) ==
          (graph.name(task) == "large" ? Names{"cpu", "gpu1"} : Names{"cpu"}));
  }
  // Nowhere at all: the reason is given device by device.
  for (DeviceSpec& spec : platform.devices) {
    spec.memory_bytes = Bytes{1} << 29;
  }
  const auto costs = make_cost_table(result.workload.rows, result.workload.weight_bytes, platform,
                                     *make_sol_model());
  const auto none = lower_for_node(result.pruned.graph, result.workload, platform, *costs);
  CHECK(none.status().code() == StatusCode::kInvalidInput);
  CHECK(none.status().message().find("no device of 'node' can run a Relu (gpu0: its operands of") !=
        std::string::npos);
}

TEST_CASE("Node lowering: places readers of a large parameter together on the fastest device") {
  for (const bool small_gpu : {false, true}) {
    GraphBuilder builder;
    const TensorId ids = tensor(builder, "ids", TensorRole::kActivation, {4}, DType::kInt64);
    builder.mark_input(ids);
    const TensorId table = tensor(builder, "table", TensorRole::kWeight, {1024, 1024});
    const TensorId bias = tensor(builder, "bias", TensorRole::kWeight, {1024});
    const TensorId embedded = op(builder, "Gather", {table, ids}, "embedded");
    const TensorId middle = op(builder, "Add", {embedded, bias}, "middle");
    const TensorId logits = op(builder, "MatMul", {middle, table}, "logits");
    builder.mark_output(op(builder, "Add", {logits, bias}, "out"));
    Platform platform = node();
    platform.devices[2].memory_bytes = small_gpu ? Bytes{4} << 20 : Bytes{1} << 30;
    const Lowered result = lowered(builder, platform);
    const ExecGraph& graph = result.node.workload.graph;
    for (const TaskId task : result.node.task_of) {
      const std::string name = graph.name(task);
      INFO(name << " " << small_gpu);
      // The bias is small: taken to be everywhere.
      const bool shared = name == "embedded" || name == "logits";
      CHECK(runs_on(result.node, task, platform) == (!shared     ? Names{"gpu0", "cpu", "gpu1"}
                                                     : small_gpu ? Names{"gpu0"}
                                                                 : Names{"gpu1"}));
    }
  }
}

}  // namespace
}  // namespace dfsim
