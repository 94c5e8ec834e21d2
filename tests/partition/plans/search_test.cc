// The search finds what people found.
#include "partition/plans/search.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <set>
#include <string>

#include "hardware/platform_loader.h"
#include "opmodel/cached_model.h"
#include "opmodel/sol.h"
#include "partition/plans/strategies.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/sharding/check_sharded.h"
#include "tests/partition/test_graphs.h"

namespace dfsim {
namespace {

Platform dgx() {
  auto platform =
      load_platform(std::string(DFSIM_SOURCE_DIR) + "/hardware/platforms/nodes/dgx-a100.yaml");
  REQUIRE(platform.ok());
  return std::move(platform).value();
}

struct Found {
  ShardSearch search;
  ShardingPlan plan;
  ShardedGraph sharded;
};

Found find(const Graph& graph, const Platform& platform, const DeviceMesh& mesh,
           Bytes capacity = 0) {
  const auto model = make_sol_model();
  auto search = search_sharding(graph, mesh, platform, *model, capacity);
  INFO(search.status().message());
  REQUIRE(search.ok());
  auto plan = propagate_sharding(graph, mesh, search->seeds, search->splits);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  auto sharded = shard_graph(graph, mesh, *plan);
  REQUIRE(sharded.ok());
  return {std::move(*search), std::move(*plan), std::move(*sharded)};
}

// "-t": dimension by dimension, t where it is cut.
std::string cuts(const Graph& graph, const ShardingPlan& plan, const std::string& name) {
  std::string text;
  for (const AxisSet axes : plan.tensors[tensor_named(graph, name).index()].dims) {
    text += axes == 0 ? '-' : 't';
  }
  return text;
}

size_t count(const ShardedGraph& sharded, const std::string& type) {
  const auto& list = sharded.report.communications;
  return static_cast<size_t>(std::count_if(list.begin(), list.end(), [&](const auto& entry) {
    return sharded.graph.op(entry.op).op_type == type;
  }));
}

double brute_force_search(const CostNetwork& network) {
  double combinations = 1;
  for (const auto& costs : network.costs()) {
    combinations *= static_cast<double>(costs.size());
  }
  REQUIRE(combinations < 2e6);
  std::vector<uint32_t> choice(network.costs().size(), 0);
  double best = std::numeric_limits<double>::infinity();
  while (true) {
    best = std::min(best, network.cost(choice));
    size_t v = 0;
    while (v < choice.size() && ++choice[v] == network.costs()[v].size()) {
      choice[v++] = 0;
    }
    if (v == choice.size()) {
      return best;
    }
  }
}

TEST_CASE("small graphs: the search equals brute force over all splits and cuts") {
  const Platform platform = switched_platform(2, 1000);
  Platform fast = platform;
  for (DeviceSpec& device : fast.devices) {
    device.peaks = {{DType::kFloat32, 1e12, 0}};
    device.memory_bytes_per_s = 1e11;
    device.launch_overhead_ns = 500;
  }
  const auto mesh = DeviceMesh::make(fast, {{"t", 2}});
  REQUIRE(mesh.ok());
  const auto model = make_sol_model();
  for (const int64_t size : {8, 64, 512}) {
    GraphMaker make;
    make.input("x", {size, size});
    make.weight("w1", {size, size});
    make.op("MatMul", {"x", "w1"}, "h");
    make.op("Relu", {"h"}, "r");
    make.op("Add", {"r", "x"}, "y");
    const Graph graph = make.finish({"y"});
    const auto network = sharding_network(graph, *mesh, fast, *model);
    REQUIRE(network.ok());
    const auto search = search_sharding(graph, *mesh, fast, *model, 0);
    REQUIRE(search.ok());
    CHECK(search->exact);
    CHECK(search->cost_ns == Approx(brute_force_search(*network)));
  }
}

TEST_CASE("Megatron's split of a transformer layer, without being told") {
  const Platform platform = dgx();
  const auto mesh = DeviceMesh::make(platform, {{"t", 8}});
  REQUIRE(mesh.ok());
  // One token: nothing but weights can be shared out.
  const Graph graph = transformer_layer(1, 1, 8192, 64);
  const Found found = find(graph, platform, *mesh);
  for (const char* name : {"wq", "wk", "wv", "w1"}) {
    INFO(name);
    CHECK(cuts(graph, found.plan, name) == "-t");  // by columns
  }
  for (const char* name : {"wo", "w2"}) {
    INFO(name);
    CHECK(cuts(graph, found.plan, name) == "t-");  // by rows
  }
  // The result may stay cut, so that the last reduction need not reach every device whole.
  CHECK(count(found.sharded, "AllReduce") + count(found.sharded, "ReduceScatter") == 2);
  CHECK(found.sharded.report.communications.size() == 2);
  CHECK(found.sharded.report.all_macs.value() == found.sharded.report.source_macs);
}

TEST_CASE("memory that does not hold the weights makes the search cut them") {
  const Platform platform = dgx();
  const auto mesh = DeviceMesh::make(platform, {{"t", 8}});
  REQUIRE(mesh.ok());
  const Graph graph = transformer_layer(8, 64, 1024, 16);
  const Found free = find(graph, platform, *mesh);
  CHECK(free.sharded.report.communications.empty());  // by the batch
  const Bytes weights = free.sharded.report.weight_bytes;
  const Found tight = find(graph, platform, *mesh, weights / 4);
  CHECK(tight.sharded.report.weight_bytes <= weights / 4);
  const auto model = make_sol_model();
  const auto never = search_sharding(graph, *mesh, platform, *model, weights / 100);
  CHECK(never.status().message().find("use more devices or a pipeline") != std::string::npos);
}

TEST_CASE("AlexNet-like: convolutions by the batch, fully connected layers by their weights") {
  const Platform platform = dgx();
  const auto mesh = DeviceMesh::make(platform, {{"t", 8}});
  REQUIRE(mesh.ok());
  GraphMaker make;
  make.input("x", {32, 3, 64, 64});
  make.weight("c1", {64, 3, 5, 5});
  make.weight("c2", {192, 64, 3, 3});
  make.weight("f1", {12288, 4096});
  make.weight("f2", {4096, 4096});
  make.weight("f3", {4096, 1000});
  make.op("Conv", {"x", "c1"}, "a1",
          {{"strides", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>{2, 2, 2, 2}}});
  make.op("Relu", {"a1"}, "r1");
  make.op("MaxPool", {"r1"}, "p1",
          {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  make.op("Conv", {"p1", "c2"}, "a2", {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  make.op("Relu", {"a2"}, "r2");
  make.op("MaxPool", {"r2"}, "p2",
          {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  make.op("Flatten", {"p2"}, "flat");
  make.op("MatMul", {"flat", "f1"}, "h1");
  make.op("Relu", {"h1"}, "g1");
  make.op("MatMul", {"g1", "f2"}, "h2");
  make.op("Relu", {"h2"}, "g2");
  make.op("MatMul", {"g2", "f3"}, "y");
  const Graph graph = make.finish({"y"});
  const Found found = find(graph, platform, *mesh);
  CHECK(cuts(graph, found.plan, "a1") == "t---");
  CHECK(cuts(graph, found.plan, "a2") == "t---");
  CHECK(cuts(graph, found.plan, "c1") == "----");
  CHECK(cuts(graph, found.plan, "c2") == "----");
  CHECK(cuts(graph, found.plan, "f1") != "--");
  CHECK(cuts(graph, found.plan, "f2") != "--");
}

}  // namespace
}  // namespace dfsim
