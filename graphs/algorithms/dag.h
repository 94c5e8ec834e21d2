// Questions about the structure of graphs: orders, levels, critical path, reachability.
//
// Purpose: one implementation over both graph types of dfsim (Boost.Graph behind it, hidden in the
//   .cc). Nodes are numbered from 0: op ids of a Graph, task ids of an ExecGraph.
// Errors: a cycle, an edge to a node that does not exist or a weight list of the wrong length is
//   kInvalidInput. Results are deterministic.
// Complexity: O(nodes + edges) each, without recursion.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// A directed graph and nothing else. Parallel edges are allowed and harmless.
struct Digraph {
  using Edge = std::pair<uint32_t, uint32_t>;  // from, to

  size_t node_count = 0;
  std::vector<Edge> edges;
};

// One node per op; one edge per producer, tensor and consumer.
Digraph digraph_of(const Graph& graph);
// One node per task; edges in the order of ExecGraph::edges().
Digraph digraph_of(const ExecGraph& graph);

// Every node after all of its predecessors.
StatusOr<std::vector<uint32_t>> topological_order(const Digraph& graph);

// By node: 0 without predecessors, else one more than the highest level among them. Nodes of one
// level don't depend on each other.
StatusOr<std::vector<uint32_t>> levels(const Digraph& graph);

// The heaviest path: the weight of its nodes and edges, and its nodes from first to last.
struct CriticalPath {
  int64_t length = 0;
  std::vector<uint32_t> nodes;
};

// `node_weights` has one entry per node, `edge_weights` one per edge or none at all (no weight).
// Weights must not be negative. Among equally heavy paths the one through smaller numbers wins,
// decided from its end. Error: also a length that does not fit in 63 bits.
StatusOr<CriticalPath> critical_path(const Digraph& graph, std::span<const int64_t> node_weights,
                                     std::span<const int64_t> edge_weights = {});

// By node: whether it is in `starts` or can be reached from there along edges.
StatusOr<std::vector<bool>> reachable_from(const Digraph& graph, std::span<const uint32_t> starts);
// By node: whether it is in `ends` or leads there along edges.
StatusOr<std::vector<bool>> leading_to(const Digraph& graph, std::span<const uint32_t> ends);

}  // namespace dfsim::inline graphs
