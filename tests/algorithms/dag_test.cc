// Orders, levels, critical path and reachability: hand cases, and random ones against brute force.
#include "graphs/algorithms/dag.h"

#include <catch2/catch.hpp>

#include "base/rng.h"
#include "graphs/ir/graph_builder.h"

namespace dfsim {
namespace {

using Catch::Contains;
using Nodes = std::vector<uint32_t>;
using Weights = std::vector<int64_t>;

//   0 -> 1 -> 3 -> 5,  0 -> 2 -> 3,  4 alone
const Digraph kDiamond = {6, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 5}}};

TEST_CASE("topological_order: puts the start of every edge before its end") {
  const auto order = topological_order(kDiamond);
  REQUIRE(order.ok());
  REQUIRE(order->size() == 6);
  Nodes position(6);
  for (uint32_t i = 0; i < 6; ++i) {
    position[(*order)[i]] = i;
  }
  for (const auto& [from, to] : kDiamond.edges) {
    CHECK(position[from] < position[to]);
  }
  CHECK(topological_order({})->empty());
}

TEST_CASE("levels: gives the longest distance from a source") {
  CHECK(*levels(kDiamond) == Nodes{0, 1, 1, 2, 0, 3});
}

TEST_CASE("critical_path: finds the longest path with and without edge weights") {
  const Weights nodes = {1, 5, 2, 3, 11, 4};
  const auto plain = critical_path(kDiamond, nodes);
  REQUIRE(plain.ok());
  CHECK(plain->length == 1 + 5 + 3 + 4);
  CHECK(plain->nodes == Nodes{0, 1, 3, 5});
  const Weights edges = {0, 10, 0, 0, 0};
  const auto weighted = critical_path(kDiamond, nodes, edges);
  REQUIRE(weighted.ok());
  CHECK(weighted->length == 1 + 10 + 2 + 3 + 4);
  CHECK(weighted->nodes == Nodes{0, 2, 3, 5});
  const auto lonely = critical_path(kDiamond, Weights{1, 1, 1, 1, 100, 1});
  CHECK(lonely->nodes == Nodes{4});
  CHECK(critical_path({}, {})->length == 0);
}

TEST_CASE(
    "critical_path: prefers smaller numbers among equally long paths, also with zero weights") {
  CHECK(critical_path(kDiamond, Weights(6, 1))->nodes == Nodes{0, 1, 3, 5});
  const auto zero = critical_path({2, {{0, 1}}}, Weights{0, 0});
  CHECK(zero->length == 0);
  CHECK(zero->nodes.size() == 1);
}

TEST_CASE("reachable_from, leading_to: mark every node that a path connects") {
  CHECK(*reachable_from(kDiamond, Nodes{1}) ==
        std::vector<bool>{false, true, false, true, false, true});
  CHECK(*reachable_from(kDiamond, Nodes{2, 4, 2}) ==
        std::vector<bool>{false, false, true, true, true, true});
  CHECK(*leading_to(kDiamond, Nodes{2}) ==
        std::vector<bool>{true, false, true, false, false, false});
  CHECK(*leading_to(kDiamond, Nodes{}) == std::vector<bool>(6, false));
}

TEST_CASE("DAG algorithms: report cycles and missing nodes as errors") {
  const Digraph cycle = {3, {{0, 1}, {1, 2}, {2, 1}}};
  const Digraph self = {1, {{0, 0}}};
  const Digraph loose = {2, {{0, 2}}};
  for (const Digraph* graph : {&cycle, &self}) {
    CHECK_THAT(topological_order(*graph).status().message(), Contains("cycle"));
    CHECK_FALSE(levels(*graph).ok());
    CHECK_FALSE(critical_path(*graph, Weights(graph->node_count, 1)).ok());
  }
  CHECK(reachable_from(cycle, Nodes{1}).ok());  // cycles don't matter here
  CHECK_THAT(topological_order(loose).status().message(), Contains("node 0 to node 2"));
  CHECK_THAT(reachable_from(kDiamond, Nodes{6}).status().message(), Contains("node 6"));
  CHECK_THAT(critical_path(kDiamond, Weights(5, 1)).status().message(), Contains("expected 6"));
  CHECK_THAT(critical_path(kDiamond, Weights(6, 1), Weights(2, 1)).status().message(),
             Contains("2 edge weights"));
  CHECK_THAT(critical_path(kDiamond, Weights{1, 1, -4, 1, 1, 1}).status().message(),
             Contains("node 2 is -4"));
  CHECK_THAT(critical_path(kDiamond, Weights(6, INT64_MAX)).status().message(),
             Contains("63 bits"));
}

TEST_CASE("DAG algorithms: handle a path of a million nodes without a deep stack") {
  constexpr uint32_t kNodes = 1'000'000;
  Digraph path{kNodes, {}};
  for (uint32_t i = 0; i + 1 < kNodes; ++i) {
    path.edges.emplace_back(i, i + 1);
  }
  CHECK(levels(path)->back() == kNodes - 1);
  CHECK(critical_path(path, Weights(kNodes, 2))->length == 2 * int64_t{kNodes});
  CHECK(reachable_from(path, Nodes{0})->back());
}

TEST_CASE("DAG algorithms: agree with brute force on random graphs") {
  Rng rng(11);
  for (int round = 0; round < 100; ++round) {
    const auto n = static_cast<uint32_t>(1 + rng.below(12));
    Digraph graph{n, {}};
    std::vector<std::vector<int64_t>> longest(n, std::vector<int64_t>(n, -1));
    Weights weights;
    for (uint32_t i = 0; i < n; ++i) {
      weights.push_back(static_cast<int64_t>(rng.below(10)));
      longest[i][i] = 0;
    }
    for (uint32_t to = 1; to < n; ++to) {
      for (uint32_t from = 0; from < to; ++from) {
        if (rng.below(3) == 0) {
          graph.edges.emplace_back(from, to);
        }
      }
    }
    // longest[a][b]: heaviest path from a to b without the weight of a; -1 when there is none.
    for (uint32_t to = 0; to < n; ++to) {
      for (const auto& [from, target] : graph.edges) {
        for (uint32_t a = 0; target == to && a < n; ++a) {
          if (longest[a][from] >= 0) {
            longest[a][to] = std::max(longest[a][to], longest[a][from] + weights[to]);
          }
        }
      }
    }
    int64_t best = 0;
    for (uint32_t a = 0; a < n; ++a) {
      const auto reached = reachable_from(graph, Nodes{a});
      for (uint32_t b = 0; b < n; ++b) {
        CHECK((*reached)[b] == (longest[a][b] >= 0));
        CHECK((*leading_to(graph, Nodes{b}))[a] == (longest[a][b] >= 0));
        best = std::max(best, longest[a][b] >= 0 ? weights[a] + longest[a][b] : 0);
      }
    }
    const auto path = critical_path(graph, weights);
    REQUIRE(path.ok());
    CHECK(path->length == best);
    int64_t sum = 0;
    for (const uint32_t node : path->nodes) {
      sum += weights[node];
    }
    CHECK(sum == best);
  }
}

TEST_CASE("digraph_of: converts both types of graph") {
  GraphBuilder builder;
  const auto add = [&](const char* in, const char* out) {
    Op op;
    op.op_type = "Op";
    op.inputs = {builder.tensor_by_name(in)};
    op.outputs = {builder.tensor_by_name(out), TensorId()};
    REQUIRE(builder.add_op(std::move(op)).ok());
  };
  add("x", "a");
  add("a", "b");
  add("a", "c");
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  CHECK(*levels(digraph_of(*graph)) == Nodes{0, 1, 1});

  ExecGraphBuilder tasks;
  const TaskId first = tasks.add_task({});
  const TaskId second = tasks.add_task({});
  tasks.add_edge(tasks.add_data(first, 5), second);
  const auto exec = tasks.build();
  REQUIRE(exec.ok());
  const Digraph digraph = digraph_of(*exec);
  CHECK(digraph.node_count == 2);
  CHECK(digraph.edges == std::vector<Digraph::Edge>{{0, 1}});
}

}  // namespace
}  // namespace dfsim
