// Sorts the nodes of a file producers first, subgraphs included, since some writers store them
// in another order. The order among independent nodes stays the file's.
#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graphs/onnx/node_order_internal.h"

namespace dfsim::inline graphs {
namespace {

using Names = std::unordered_set<std::string_view>;

void add_names(const onnx::NodeProto& node, Names* names);

void add_names(const onnx::GraphProto& graph, Names* names) {
  for (const auto& node : graph.node()) {
    add_names(node, names);
  }
  for (const auto& output : graph.output()) {
    names->insert(output.name());
  }
}

// Everything that the node or something inside it reads.
void add_names(const onnx::NodeProto& node, Names* names) {
  names->insert(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      add_names(attribute.g(), names);
    }
    for (const auto& graph : attribute.graphs()) {
      add_names(graph, names);
    }
  }
}

std::vector<int> producers_first(const onnx::GraphProto& graph) {
  std::unordered_map<std::string_view, int> producers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      producers.emplace(output, i);
    }
  }
  std::vector<std::vector<int>> readers(static_cast<size_t>(graph.node_size()));
  std::vector<int> pending(readers.size(), 0);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    Names names;
    add_names(graph.node(i), &names);
    for (const std::string_view name : names) {
      const auto it = name.empty() ? producers.end() : producers.find(name);
      if (it != producers.end() && it->second != i) {
        readers[static_cast<size_t>(it->second)].push_back(i);
        ++pending[static_cast<size_t>(i)];
      }
    }
    if (pending[static_cast<size_t>(i)] == 0) {
      ready.push(i);
    }
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const int reader : readers[static_cast<size_t>(next)]) {
      if (--pending[static_cast<size_t>(reader)] == 0) {
        ready.push(reader);
      }
    }
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (pending[static_cast<size_t>(i)] > 0) {
      order.push_back(i);
    }
  }
  return order;
}

}  // namespace

void sort_nodes(onnx::GraphProto* graph) {
  const std::vector<int> order = producers_first(*graph);
  if (!std::is_sorted(order.begin(), order.end())) {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted;
    for (const int i : order) {
      sorted.Add(std::move(*graph->mutable_node(i)));
    }
    graph->mutable_node()->Swap(&sorted);
  }
  for (auto& node : *graph->mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        sort_nodes(attribute.mutable_g());
      }
      for (auto& inner : *attribute.mutable_graphs()) {
        sort_nodes(&inner);
      }
    }
  }
}

}  // namespace dfsim::inline graphs
