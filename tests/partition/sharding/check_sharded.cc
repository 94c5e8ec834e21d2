#include "tests/partition/sharding/check_sharded.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"
#include "tests/partition/reference/reference_executor.h"

namespace dfsim {
void check_shapes(const Graph& graph) {
  GraphBuilder builder(graph);
  const auto unresolved = infer_shapes(builder, {});
  INFO(unresolved.status().message());
  REQUIRE(unresolved.ok());
  REQUIRE(unresolved->empty());
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensor(TensorId(t));
    INFO(tensor.name << ": " << format_shape(tensor.shape) << " becomes "
                     << format_shape(builder.tensor(TensorId(t)).shape));
    REQUIRE(builder.tensor(TensorId(t)).shape == tensor.shape);
    REQUIRE(builder.tensor(TensorId(t)).dtype == tensor.dtype);
  }
}

bool nearly_equal(const RefTensor& a, const RefTensor& b) {
  constexpr double kTolerance = 1e-9;  // of sums in another order; integers are exact
  if (a.extents != b.extents) {
    return false;
  }
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (!(std::abs(a.values[i] - b.values[i]) <=
          kTolerance * std::max(1.0, std::abs(b.values[i])))) {
      return false;
    }
  }
  return true;
}

ShardedGraph check_sharding_of(const Graph& graph, const DeviceMesh& mesh,
                               const std::vector<ShardingSeed>& seeds, ShardingPlan* plan) {
  auto planned = propagate_sharding(graph, mesh, seeds);
  INFO(planned.status().message());
  REQUIRE(planned.ok());
  *plan = std::move(planned).value();
  for (const ShardingSeed& seed : seeds) {
    REQUIRE(plan->tensors[seed.tensor.index()] == seed.sharding);
  }
  auto sharded = shard_graph(graph, mesh, *plan);
  INFO(sharded.status().message());
  REQUIRE(sharded.ok());
  check_shapes(sharded->graph);
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    if (sharded->local[t].valid()) {
      const Tensor& shard = sharded->graph.tensor(sharded->local[t]);
      REQUIRE(shard.bytes().value() * mesh.size(plan->tensors[t].used()) ==
              graph.tensor(TensorId(t)).bytes().value());
    }
  }
  const std::vector<RefTensor> feeds = make_feeds(graph, 1);
  const std::vector<RefTensor> expected = run_reference(graph, feeds);
  bool agree = false;
  const auto outputs = run_sharded(graph, mesh, *plan, *sharded, feeds, &agree);
  REQUIRE(agree);
  for (size_t o = 0; o < outputs.size(); ++o) {
    INFO("output " << graph.tensor(graph.outputs()[o]).name);
    REQUIRE(nearly_equal(outputs[o], expected[graph.outputs()[o].index()]));
  }
  return std::move(sharded).value();
}

}  // namespace dfsim
