// Whole networks: known partitionings found from a few seeds, and random seeds that must not
// change any result.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "base/rng.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/sharding/check_sharded.h"
#include "tests/partition/test_graphs.h"

namespace dfsim {
namespace {

std::map<std::string, int> communication(const ShardedGraph& sharded) {
  std::map<std::string, int> counts;
  for (const Communication& entry : sharded.report.communications) {
    ++counts[sharded.graph.op(entry.op).op_type];
  }
  return counts;
}

ShardingSeed seed(const Graph& graph, const std::string& name, std::vector<AxisSet> dims) {
  return {tensor_named(graph, name), {std::move(dims)}};
}

TEST_CASE("column, then row: Megatron's layer follows from its first weights") {
  const Graph graph = transformer_layer(2, 4, 8, 4);
  const DeviceMesh mesh = make_mesh({{"tensor", 4}});
  ShardingPlan plan;
  const ShardedGraph sharded =
      check_sharding_of(graph, mesh,
                        {seed(graph, "wq", {0, 1}), seed(graph, "wk", {0, 1}),
                         seed(graph, "wv", {0, 1}), seed(graph, "w1", {0, 1})},
                        &plan);
  // One all-reduce behind attention and one behind the MLP, of the hidden state; nothing else.
  CHECK(communication(sharded) == std::map<std::string, int>{{"AllReduce", 2}});
  for (const Communication& entry : sharded.report.communications) {
    CHECK(entry.bytes == 2 * 4 * 8 * 4);
  }
  const auto text = [&](const std::string& name) {
    return format_sharding(plan.tensors[tensor_named(graph, name).index()], mesh);
  };
  CHECK(text("wo") == "[tensor; -]");
  CHECK(text("w2") == "[tensor; -]");
  CHECK(text("b1") == "[tensor]");
  CHECK(text("b2") == "[-]");
  CHECK(text("q_heads") == "[-; tensor; -; -]");
  CHECK(text("scores") == "[-; tensor; -; -]");
  CHECK(text("y") == "[-; -; -]");
  CHECK(plan.conflicts.empty());
  CHECK(sharded.report.unsplittable.empty());
  // Matrix products are all split; norms and residuals are done by everyone.
  CHECK(sharded.report.all_macs.value() == sharded.report.source_macs);
  const int64_t hidden_elements = 2 * 4 * 8;
  const int64_t repeated = (7 + 7 + 1 + 1 + 1) * hidden_elements;  // two norms, b2, two residuals
  CHECK(sharded.report.all_flops.value() == sharded.report.source_flops + 3 * repeated);
  // wq, wk, wv, wo, w1, w2, b1 in quarters; norms and b2 whole.
  CHECK(sharded.report.weight_bytes == (12 * 64 / 4 + 32 / 4 + 5 * 8) * 4);
}

TEST_CASE("sequence parallel: given the residuals' split, sums are scattered and norms gathered") {
  const Graph graph = transformer_layer(1, 4, 8, 4);
  const DeviceMesh mesh = make_mesh({{"tensor", 4}});
  ShardingPlan plan;
  const ShardedGraph sharded = check_sharding_of(
      graph, mesh,
      {seed(graph, "wq", {0, 1}), seed(graph, "wk", {0, 1}), seed(graph, "wv", {0, 1}),
       seed(graph, "w1", {0, 1}), seed(graph, "x", {0, 1, 0}), seed(graph, "attention", {0, 1, 0}),
       seed(graph, "down", {0, 1, 0})},
      &plan);
  CHECK(communication(sharded) ==
        std::map<std::string, int>{{"AllGather", 2}, {"ReduceScatter", 2}});
  CHECK(sharded.report.all_flops.value() == sharded.report.source_flops);
}

TEST_CASE("data parallel: the batch of the input is all that must be said") {
  const Graph graph = small_conv_net(4);
  const DeviceMesh mesh = make_mesh({{"data", 4}});
  ShardingPlan plan;
  const ShardedGraph sharded =
      check_sharding_of(graph, mesh, {seed(graph, "x", {1, 0, 0, 0})}, &plan);
  CHECK(communication(sharded).empty());
  CHECK(sharded.report.all_flops.value() == sharded.report.source_flops);
  CHECK(sharded.report.replicated.empty());
}

TEST_CASE("spatial split of convolutions: halos of what the windows reach, then a gather") {
  const Graph graph = small_conv_net(1);
  const DeviceMesh mesh = make_mesh({{"space", 2}});
  ShardingPlan plan;
  const ShardedGraph sharded =
      check_sharding_of(graph, mesh, {seed(graph, "x", {0, 0, 1, 0})}, &plan);
  const auto counts = communication(sharded);
  CHECK(counts.at("HaloExchange") == 2);  // the pooling windows do not overlap
  CHECK(counts.at("AllGather") == 1);     // rows of a flattened picture are no run of it
  // conv1 receives a row of 16 from either side, 4 channels; conv2 (stride 2) one row of 8.
  CHECK(sharded.report.communications[0].bytes == 2 * 4 * 16 * 4);
  CHECK(sharded.report.communications[1].bytes == 1 * 8 * 8 * 4);
}

TEST_CASE("conflicting wishes: the heavier operand stays, the loser is named") {
  GraphMaker make;
  make.input("a", {8, 4});
  make.weight("b", {4, 64});
  make.op("MatMul", {"a", "b"}, "y");
  const Graph graph = make.finish({"y"});
  const DeviceMesh mesh = make_mesh({{"x", 2}});
  ShardingPlan plan;
  const ShardedGraph sharded =
      check_sharding_of(graph, mesh, {seed(graph, "a", {1, 0}), seed(graph, "b", {0, 1})}, &plan);
  REQUIRE(plan.conflicts.size() == 1);
  CHECK(plan.conflicts[0].message ==
        "MatMul 'y': input 0 'a' lies as [x; -], the operator needs [-; -]");
  CHECK(communication(sharded) == std::map<std::string, int>{{"AllGather", 1}});
}

TEST_CASE("backward: a given output reaches the weights through what lies between") {
  GraphMaker make;
  make.input("a", {4, 8});
  make.weight("b", {8, 4});
  make.weight("c", {4});
  make.op("MatMul", {"a", "b"}, "product");
  make.op("Add", {"product", "c"}, "sum");
  make.op("Transpose", {"sum"}, "y");
  const Graph graph = make.finish({"y"});
  const DeviceMesh mesh = make_mesh({{"x", 2}});
  ShardingPlan plan;
  const ShardedGraph sharded = check_sharding_of(graph, mesh, {seed(graph, "y", {1, 0})}, &plan);
  CHECK(plan.tensors[tensor_named(graph, "b").index()].dims == std::vector<AxisSet>{0, 1});
  CHECK(plan.tensors[tensor_named(graph, "c").index()].dims == std::vector<AxisSet>{1});
  CHECK(communication(sharded).empty());
  CHECK(sharded.report.all_flops.value() == sharded.report.source_flops);
}

TEST_CASE("operators that cannot be split run whole on every device and are reported") {
  GraphMaker make;
  make.input("a", {4, 8, 8});
  make.op("Relu", {"a"}, "b");
  make.op("Det", {"b"}, "c");
  const Graph graph = make.finish({"c"});
  const DeviceMesh mesh = make_mesh({{"x", 2}});
  const auto plan = propagate_sharding(graph, mesh, {{tensor_named(graph, "a"), {{1, 0, 0}}}});
  REQUIRE(plan.ok());
  const auto sharded = shard_graph(graph, mesh, *plan);
  REQUIRE(sharded.ok());
  REQUIRE(sharded->report.unsplittable.size() == 1);
  CHECK(graph.op(sharded->report.unsplittable[0].op).op_type == "Det");
  CHECK(sharded->report.unsplittable[0].copies == 2);
  CHECK(sharded->report.unsplittable[0].reason == "its operator has no factor rule");
  CHECK(communication(*sharded) == std::map<std::string, int>{{"AllGather", 1}});
}

TEST_CASE("seeds that cannot be kept are refused") {
  const Graph graph = transformer_layer(2, 4, 8, 4);
  const DeviceMesh mesh = make_mesh({{"x", 4}});
  const auto message = [&](const std::vector<ShardingSeed>& seeds) {
    return propagate_sharding(graph, mesh, seeds).status().message();
  };
  CHECK(message({seed(graph, "x", {1, 0, 0})}).find("does not divide by the 4 devices of x") !=
        std::string::npos);
  CHECK(message({seed(graph, "to_rows", {0}), seed(graph, "to_heads", {1})}).find("stays whole") !=
        std::string::npos);
  CHECK(message({seed(graph, "x", {0, 1, 0}), seed(graph, "x", {0, 0, 1})}).find("two given") !=
        std::string::npos);
  CHECK(message({{tensor_named(graph, "y"), {{0, 0, 0}, 1, Reduction::kSum}}}).find("partial") !=
        std::string::npos);
}

// Seeds of random cuts on random tensors of a graph.
std::vector<ShardingSeed> random_seeds(const Graph& graph, const DeviceMesh& mesh, Rng& rng) {
  std::vector<ShardingSeed> seeds;
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensor(TensorId(t));
    if (tensor.role == TensorRole::kConstant || rng.below(4) != 0) {
      continue;
    }
    TensorSharding sharding = replicated(tensor.shape);
    for (size_t a = 0; a < mesh.axes().size() && !sharding.dims.empty(); ++a) {
      const size_t dim = rng.below(sharding.dims.size() + 1);
      if (dim < sharding.dims.size()) {
        TensorSharding next = sharding;
        next.dims[dim] |= AxisSet{1} << a;
        sharding = check_sharding(next, tensor.shape, mesh, "").ok() ? next : sharding;
      }
    }
    seeds.push_back({TensorId(t), std::move(sharding)});
  }
  return seeds;
}

TEST_CASE("whatever is asked for, the result stays the same") {
  const std::vector<Graph> graphs = {transformer_layer(4, 4, 8, 4), small_conv_net(4)};
  const std::vector<DeviceMesh> meshes = {make_mesh({{"x", 2}}), make_mesh({{"x", 4}}),
                                          make_mesh({{"x", 2}, {"y", 2}}),
                                          make_mesh({{"x", 2}, {"y", 2}, {"z", 2}})};
  constexpr int kRuns = 15;
  for (size_t g = 0; g < graphs.size(); ++g) {
    for (size_t m = 0; m < meshes.size(); ++m) {
      for (int run = 0; run < kRuns; ++run) {
        INFO("graph " << g << ", mesh " << m << ", run " << run);
        Rng rng(1000 * g + 100 * m + static_cast<size_t>(run));
        ShardingPlan plan;
        const auto seeds = random_seeds(graphs[g], meshes[m], rng);
        const ShardedGraph sharded = check_sharding_of(graphs[g], meshes[m], seeds, &plan);
        // Products are done once, but for those that all devices along an axis repeat.
        CHECK(sharded.report.all_macs.value() >= sharded.report.source_macs);
      }
    }
  }
}

}  // namespace
}  // namespace dfsim
