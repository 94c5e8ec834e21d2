// Strategies find the known partitionings by themselves.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "partition/strategies.h"
#include "tests/partition/check_sharded.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/test_graphs.h"

namespace dfsim {
namespace {

std::set<std::string> names(const Graph& graph, const std::vector<ShardingSeed>& seeds) {
  std::set<std::string> result;
  for (const ShardingSeed& seed : seeds) {
    result.insert(graph.tensor(seed.tensor).name);
  }
  return result;
}

TEST_CASE("tensor parallel finds Megatron's columns") {
  const Graph graph = transformer_layer(2, 4, 8, 4);
  const DeviceMesh mesh = make_mesh({{"tensor", 4}});
  const auto seeds = tensor_parallel_seeds(graph, mesh, 1);
  REQUIRE(seeds.ok());
  CHECK(names(graph, *seeds) == std::set<std::string>{"wq", "wk", "wv", "w1"});
  ShardingPlan plan;
  const ShardedGraph sharded = check_sharding_of(graph, mesh, *seeds, &plan);
  CHECK(sharded.report.communications.size() == 2);
  CHECK(sharded.report.all_macs.value() == sharded.report.source_macs);
}

TEST_CASE("eight devices cannot share four heads, but the MLP can") {
  const Graph graph = transformer_layer(2, 4, 8, 4);
  const auto seeds = tensor_parallel_seeds(graph, make_mesh({{"tensor", 8}}), 1);
  REQUIRE(seeds.ok());
  CHECK(names(graph, *seeds) == std::set<std::string>{"w1"});
}

TEST_CASE("tensor parallel pairs convolutions by channels, and fully connected layers") {
  const Graph graph = small_conv_net(4);
  const DeviceMesh mesh = make_mesh({{"tensor", 4}});
  const auto seeds = tensor_parallel_seeds(graph, mesh, 1);
  REQUIRE(seeds.ok());
  CHECK(names(graph, *seeds) == std::set<std::string>{"c1", "f1"});
  ShardingPlan plan;
  const ShardedGraph sharded = check_sharding_of(graph, mesh, *seeds, &plan);
  CHECK(sharded.report.communications.size() == 2);
}

TEST_CASE("data and tensor parallel on two axes of a mesh") {
  const Graph graph = transformer_layer(4, 4, 8, 4);
  const DeviceMesh mesh = make_mesh({{"data", 2}, {"tensor", 2}});
  auto seeds = data_parallel_seeds(graph, mesh, 1);
  const auto columns = tensor_parallel_seeds(graph, mesh, 2);
  REQUIRE(seeds.ok());
  REQUIRE(columns.ok());
  seeds->insert(seeds->end(), columns->begin(), columns->end());
  ShardingPlan plan;
  const ShardedGraph sharded = check_sharding_of(graph, mesh, *seeds, &plan);
  REQUIRE(sharded.report.communications.size() == 2);
  for (const Communication& entry : sharded.report.communications) {
    CHECK(entry.axes == 2);
    CHECK(entry.bytes == 2 * 4 * 8 * 4);  // half of the batch
  }
  CHECK(sharded.report.all_macs.value() == sharded.report.source_macs);
}

TEST_CASE("strategies that do not fit say so") {
  const Graph layer = transformer_layer(2, 4, 8, 4);
  const DeviceMesh mesh = make_mesh({{"x", 4}});
  CHECK(data_parallel_seeds(layer, mesh, 1).status().message() ==
        "data parallel: the batch of input 'x' is 2, which does not divide by 4 devices; choose "
        "another batch or fewer devices");
  GraphMaker make;
  make.input("a", {4, 8});
  make.op("Relu", {"a"}, "b");
  const Graph plain = make.finish({"b"});
  CHECK(tensor_parallel_seeds(plain, mesh, 1).status().message().find("no weight's columns") !=
        std::string::npos);
}

}  // namespace
}  // namespace dfsim
