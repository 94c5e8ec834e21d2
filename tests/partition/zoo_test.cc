// The networks of the zoo, sharded: shapes, arithmetic and communication of real graphs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "graphs/onnx/importer.h"
#include "graphs/passes/cleanup/prune.h"
#include "partition/plans/strategies.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/sharding/check_sharded.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

Graph zoo(const std::string& name, int64_t batch) {
  ImportOptions options;
  options.batch = batch;
  auto model = import_onnx(DFSIM_SOURCE_DIR "/graphs/zoo/" + name + ".onnx", options);
  INFO(model.status().message());
  REQUIRE(model.ok());
  auto pruned = prune(model->graph);
  REQUIRE(pruned.ok());
  return std::move(pruned->graph);
}

// Shards and checks what holds of any sharded graph without running it.
ShardedGraph shard(const Graph& graph, const DeviceMesh& mesh,
                   const std::vector<ShardingSeed>& seeds) {
  const auto plan = propagate_sharding(graph, mesh, seeds);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  auto sharded = shard_graph(graph, mesh, *plan);
  INFO(sharded.status().message());
  REQUIRE(sharded.ok());
  check_shapes(sharded->graph);
  CHECK(sharded->report.all_macs.value() >= sharded->report.source_macs);
  CHECK(sharded->report.all_flops.value() >= sharded->report.source_flops);
  return std::move(sharded).value();
}

size_t zoo_count(const ShardedGraph& sharded, const std::string& type) {
  const auto& list = sharded.report.communications;
  return static_cast<size_t>(std::count_if(list.begin(), list.end(), [&](const auto& entry) {
    return sharded.graph.op(entry.op).op_type == type;
  }));
}

TEST_CASE("every network of the zoo shards by its batch and by its columns") {
  const DeviceMesh mesh = make_mesh({{"data", 2}, {"tensor", 2}});
  size_t networks = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(DFSIM_SOURCE_DIR "/graphs/zoo")) {
    if (entry.path().extension() != ".onnx") {
      continue;
    }
    ++networks;
    const std::string name = entry.path().stem().string();
    INFO(name);
    const Graph graph = zoo(name, 2);
    auto seeds = data_parallel_seeds(graph, mesh, 1);
    if (!seeds.ok()) {
      CHECK(name == "lstm");  // its 35 steps come before the batch
      continue;
    }
    shard(graph, mesh, *seeds);
    const auto columns = tensor_parallel_seeds(graph, mesh, 2);
    if (columns.ok()) {
      seeds->insert(seeds->end(), columns->begin(), columns->end());
      shard(graph, mesh, *seeds);
    }
  }
  CHECK(networks == 20);
}

TEST_CASE("bert_large over eight devices: two all-reduces per layer and nothing else") {
  const Graph graph = zoo("bert_large", 1);
  const DeviceMesh mesh = make_mesh({{"tensor", 8}});
  const auto seeds = tensor_parallel_seeds(graph, mesh, 1);
  REQUIRE(seeds.ok());
  CHECK(seeds->size() == 4 * 24);
  const ShardedGraph sharded = shard(graph, mesh, *seeds);
  CHECK(zoo_count(sharded, "AllReduce") == 2 * 24);
  CHECK(sharded.report.communications.size() == 2 * 24);
}

TEST_CASE("resnet50 by its batch needs no communication and repeats no work") {
  const Graph graph = zoo("resnet50", 8);
  const DeviceMesh mesh = make_mesh({{"data", 8}});
  const auto seeds = data_parallel_seeds(graph, mesh, 1);
  REQUIRE(seeds.ok());
  const ShardedGraph sharded = shard(graph, mesh, *seeds);
  CHECK(sharded.report.communications.empty());
  CHECK(sharded.report.all_flops.value() == sharded.report.source_flops);
}

}  // namespace
}  // namespace dfsim
