// Strategies find the known partitionings without hints.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "partition/plans/strategies.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/sharding/check_sharded.h"
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

TEST_CASE("Tensor parallel: finds Megatron's columns") {
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

// As --precision mixed-bf16 casts both weights in each step, and int8 dequantises them.
TEST_CASE("Tensor parallel: cuts weights that are cast or dequantised before they are read") {
  for (const bool quantised : {false, true}) {
    GraphMaker make;
    make.input("x", {2, 4, 8});
    for (const auto& [name, dims] :
         {std::pair<std::string, Dims>("w1", {8, 32}), {"w2", {32, 8}}}) {
      make.weight(name, dims, quantised ? DType::kInt8 : DType::kFloat32);
      make.weight("scale_" + name, {});
      if (quantised) {
        make.op("DequantizeLinear", {name, "scale_" + name}, "read_" + name);
      } else {
        make.op("Cast", {name}, "read_" + name, {{"to", int64_t{1}}});
      }
    }
    make.op("MatMul", {"x", "read_w1"}, "up");
    make.op("Relu", {"up"}, "active");
    make.op("MatMul", {"active", "read_w2"}, "y");
    const Graph graph = make.finish({"y"});
    const DeviceMesh mesh = make_mesh({{"tensor", 4}});
    const auto seeds = tensor_parallel_seeds(graph, mesh, 1);
    INFO(seeds.status().message());
    REQUIRE(seeds.ok());
    ShardingPlan plan;
    const ShardedGraph sharded = check_sharding_of(graph, mesh, *seeds, &plan);
    CHECK(sharded.report.communications.size() == 1);
    CHECK(sharded.report.all_macs.value() == sharded.report.source_macs);
    CHECK_FALSE(plan.tensors[tensor_named(graph, "w1").index()].dims[1] == 0);
    CHECK_FALSE(plan.tensors[tensor_named(graph, "w2").index()].dims[0] == 0);
  }
}

TEST_CASE("Tensor parallel: eight devices cannot share four heads, but can share the MLP") {
  const Graph graph = transformer_layer(2, 4, 8, 4);
  const auto seeds = tensor_parallel_seeds(graph, make_mesh({{"tensor", 8}}), 1);
  REQUIRE(seeds.ok());
  CHECK(names(graph, *seeds) == std::set<std::string>{"w1"});
  std::vector<std::string> kept_whole;
  REQUIRE(tensor_parallel_seeds(graph, make_mesh({{"tensor", 8}}), 1, &kept_whole).ok());
  REQUIRE(kept_whole.size() == 1);
  CHECK(kept_whole[0].find("4 (") == 0);
}

TEST_CASE("Tensor parallel: pairs convolutions by channels, and fully connected layers") {
  const Graph graph = small_conv_net(4);
  const DeviceMesh mesh = make_mesh({{"tensor", 4}});
  const auto seeds = tensor_parallel_seeds(graph, mesh, 1);
  REQUIRE(seeds.ok());
  CHECK(names(graph, *seeds) == std::set<std::string>{"c1", "f1"});
  ShardingPlan plan;
  const ShardedGraph sharded = check_sharding_of(graph, mesh, *seeds, &plan);
  CHECK(sharded.report.communications.size() == 2);
}

// An embedding of `rows` words, and a projection back to them.
Graph language_model(int64_t rows) {
  GraphMaker make;
  make.input("ids", {2, 4}, DType::kInt64);
  make.weight("words", {rows, 8});
  make.op("Gather", {"words", "ids"}, "rows");
  make.op("Relu", {"rows"}, "x");
  make.weight("projection", {8, rows});
  make.op("MatMul", {"x", "projection"}, "logits");
  return make.finish({"logits"});
}

TEST_CASE("Tensor parallel: cuts vocabularies by rows, with one all-reduce and logits left cut") {
  const Graph graph = language_model(kLeastVocabulary);
  const DeviceMesh mesh = make_mesh({{"tensor", 4}});
  std::vector<std::string> kept_whole;
  const auto seeds = tensor_parallel_seeds(graph, mesh, 1, &kept_whole);
  REQUIRE(seeds.ok());
  CHECK(names(graph, *seeds) == std::set<std::string>{"words", "projection"});
  CHECK(kept_whole.empty());
  ShardingPlan plan;
  const ShardedGraph sharded = check_sharding_of(graph, mesh, *seeds, &plan);
  REQUIRE(sharded.report.communications.size() == 1);
  CHECK(sharded.graph.op(sharded.report.communications[0].op).op_type == "AllReduce");
  CHECK(sharded.report.weight_bytes == 2 * kLeastVocabulary * 8 * 4 / 4);
  CHECK(plan.tensors[tensor_named(graph, "logits").index()].dims == std::vector<AxisSet>{0, 0, 1});
}

TEST_CASE("Tensor parallel: keeps a vocabulary that does not divide whole and reports it") {
  const Graph graph = language_model(50257);
  std::vector<std::string> kept_whole;
  const auto seeds = tensor_parallel_seeds(graph, make_mesh({{"tensor", 8}}), 1, &kept_whole);
  REQUIRE_FALSE(seeds.ok());
  REQUIRE(kept_whole.size() == 1);
  CHECK(kept_whole[0].find("50257 (rows of Gather") == 0);
  CHECK(kept_whole[0].find("does not divide by 8 devices: kept whole on each") !=
        std::string::npos);
  CHECK(seeds.status().message().find(kept_whole[0]) != std::string::npos);
}

TEST_CASE("Strategies on a mesh: data and tensor parallel use two axes") {
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

TEST_CASE("Strategies: those that do not fit give the reason") {
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
