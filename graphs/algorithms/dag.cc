// Adapts dfsim's graphs to Boost.Graph and back. Boost stays in this file: callers see plain
// vectors indexed by node. Every function checks its edges first, since a reader may call it
// with a graph that is not a DAG.
#include "graphs/algorithms/dag.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/topological_sort.hpp>

#include "base/units.h"

namespace dfsim::inline graphs {
namespace {

using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property,
                                               boost::no_property, boost::no_property, uint32_t>;

Status check_edges(const Digraph& graph) {
  for (const auto& [from, to] : graph.edges) {
    if (from >= graph.node_count || to >= graph.node_count) {
      return invalid_input(fmt::format("an edge joins node {} to node {}, but there are {}", from,
                                       to, graph.node_count));
    }
  }
  return ok_status();
}

Csr csr_of(const std::vector<Digraph::Edge>& edges, size_t nodes) {
  return Csr(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), nodes);
}

// Visits what follows from `starts` along `edges`.
StatusOr<std::vector<bool>> reach(const std::vector<Digraph::Edge>& edges, size_t nodes,
                                  std::span<const uint32_t> starts) {
  const Csr csr = csr_of(edges, nodes);
  std::vector<boost::default_color_type> colors(nodes, boost::white_color);
  const auto color_map = boost::make_iterator_property_map(
      colors.begin(), boost::get(boost::vertex_index, csr), boost::white_color);
  boost::queue<uint32_t> queue;
  for (const uint32_t start : starts) {
    if (start >= nodes) {
      return invalid_input(fmt::format("node {} is asked for, but there are {}", start, nodes));
    }
    if (colors[start] == boost::white_color) {
      boost::breadth_first_visit(csr, start, queue, boost::default_bfs_visitor(), color_map);
    }
  }
  std::vector<bool> reached(nodes);
  std::transform(colors.begin(), colors.end(), reached.begin(),
                 [](auto color) { return color != boost::white_color; });
  return reached;
}

// Indices of edges in the order of their target; `offsets` has one entry per node and one more.
std::vector<uint32_t> incoming_edges(const Digraph& graph, std::vector<uint32_t>* offsets) {
  offsets->assign(graph.node_count + 1, 0);
  for (const auto& edge : graph.edges) {
    ++(*offsets)[edge.second + 1];
  }
  for (size_t i = 0; i < graph.node_count; ++i) {
    (*offsets)[i + 1] += (*offsets)[i];
  }
  std::vector<uint32_t> cursor(offsets->begin(), offsets->end() - 1);
  std::vector<uint32_t> incoming(graph.edges.size());
  for (uint32_t e = 0; e < graph.edges.size(); ++e) {
    incoming[cursor[graph.edges[e].second]++] = e;
  }
  return incoming;
}

Status check_weights(const char* what, std::span<const int64_t> weights, size_t expected) {
  if (weights.size() != expected) {
    return invalid_input(
        fmt::format("{} {} weights are given; expected {}", weights.size(), what, expected));
  }
  const auto negative =
      std::find_if(weights.begin(), weights.end(), [](int64_t w) { return w < 0; });
  if (negative != weights.end()) {
    return invalid_input(fmt::format("the weight of {} {} is {}; expected 0 or more", what,
                                     negative - weights.begin(), *negative));
  }
  return ok_status();
}

}  // namespace

Digraph digraph_of(const Graph& graph) {
  Digraph digraph{graph.op_count(), {}};
  for (size_t i = 0; i < graph.op_count(); ++i) {
    for (const TensorId output : graph.op(OpId(i)).outputs) {
      if (!output.valid()) {
        continue;
      }
      for (const OpId consumer : graph.consumers(output)) {
        digraph.edges.emplace_back(static_cast<uint32_t>(i), consumer.value());
      }
    }
  }
  return digraph;
}

Digraph digraph_of(const ExecGraph& graph) {
  Digraph digraph{graph.task_count(), {}};
  digraph.edges.reserve(graph.edge_count());
  for (const Edge& edge : graph.edges()) {
    digraph.edges.emplace_back(edge.from.value(), edge.to.value());
  }
  return digraph;
}

StatusOr<std::vector<uint32_t>> topological_order(const Digraph& graph) {
  DFSIM_RETURN_IF_ERROR(check_edges(graph));
  std::vector<uint32_t> order;
  order.reserve(graph.node_count);
  Csr csr = csr_of(graph.edges, graph.node_count);
  try {
    boost::topological_sort(csr, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    return invalid_input("the graph has a cycle; expected none");
  }
  std::reverse(order.begin(), order.end());  // Boost writes the last node first
  return order;
}

StatusOr<std::vector<uint32_t>> levels(const Digraph& graph) {
  DFSIM_ASSIGN_OR_RETURN(const auto order, topological_order(graph));
  std::vector<uint32_t> offsets;
  const std::vector<uint32_t> incoming = incoming_edges(graph, &offsets);
  std::vector<uint32_t> level(graph.node_count, 0);
  for (const uint32_t node : order) {
    for (uint32_t i = offsets[node]; i < offsets[node + 1]; ++i) {
      level[node] = std::max(level[node], level[graph.edges[incoming[i]].first] + 1);
    }
  }
  return level;
}

StatusOr<CriticalPath> critical_path(const Digraph& graph, std::span<const int64_t> node_weights,
                                     std::span<const int64_t> edge_weights) {
  DFSIM_RETURN_IF_ERROR(check_weights("node", node_weights, graph.node_count));
  DFSIM_RETURN_IF_ERROR(
      check_weights("edge", edge_weights, edge_weights.empty() ? 0 : graph.edges.size()));
  DFSIM_ASSIGN_OR_RETURN(const auto order, topological_order(graph));
  std::vector<uint32_t> offsets;
  const std::vector<uint32_t> incoming = incoming_edges(graph, &offsets);
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<int64_t> length(graph.node_count, 0);
  std::vector<uint32_t> before(graph.node_count, kNone);
  for (const uint32_t node : order) {
    int64_t longest = 0;
    for (uint32_t i = offsets[node]; i < offsets[node + 1]; ++i) {
      const uint32_t edge = incoming[i];
      const uint32_t from = graph.edges[edge].first;
      const Count sum = Count(length[from]) + Count(edge_weights.empty() ? 0 : edge_weights[edge]);
      if (sum.overflowed()) {
        return invalid_input("the longest path does not fit in 63 bits");
      }
      if (before[node] == kNone || sum.value() > longest ||
          (sum.value() == longest && from < before[node])) {
        longest = sum.value();
        before[node] = from;
      }
    }
    const Count total = Count(longest) + Count(node_weights[node]);
    if (total.overflowed()) {
      return invalid_input("the longest path does not fit in 63 bits");
    }
    length[node] = total.value();
  }
  CriticalPath path;
  if (graph.node_count == 0) {
    return path;
  }
  const auto last = std::max_element(length.begin(), length.end());
  path.length = *last;
  for (auto node = static_cast<uint32_t>(last - length.begin()); node != kNone;
       node = before[node]) {
    path.nodes.push_back(node);
  }
  std::reverse(path.nodes.begin(), path.nodes.end());
  return path;
}

StatusOr<std::vector<bool>> reachable_from(const Digraph& graph, std::span<const uint32_t> starts) {
  DFSIM_RETURN_IF_ERROR(check_edges(graph));
  return reach(graph.edges, graph.node_count, starts);
}

StatusOr<std::vector<bool>> leading_to(const Digraph& graph, std::span<const uint32_t> ends) {
  DFSIM_RETURN_IF_ERROR(check_edges(graph));
  std::vector<Digraph::Edge> reversed;
  reversed.reserve(graph.edges.size());
  for (const auto& [from, to] : graph.edges) {
    reversed.emplace_back(to, from);
  }
  return reach(reversed, graph.node_count, ends);
}

}  // namespace dfsim::inline graphs
