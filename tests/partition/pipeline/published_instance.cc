#include "tests/partition/pipeline/published_instance.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace dfsim {
namespace {

using InstanceJson = nlohmann::json;

// Flags are written as true and false, or as 1 and 0.
bool flag(const InstanceJson& value) {
  return value.is_boolean() ? value.get<bool>() : value.get<int>() != 0;
}

// Colours that reach each other become one.
void join_cycles(std::map<int, int>* colour_of, std::map<int, std::set<int>> reach) {
  for (bool grown = true; grown;) {
    grown = false;
    for (auto& [colour, there] : reach) {
      const size_t before = there.size();
      for (const int other : std::set<int>(there)) {
        if (const auto found = reach.find(other); found != reach.end()) {
          there.insert(found->second.begin(), found->second.end());
        }
      }
      grown = grown || there.size() != before;
    }
  }
  for (auto& [id, colour] : *colour_of) {
    const int own = colour;
    for (const int other : reach[own]) {
      colour = reach[other].count(own) > 0 ? std::min(colour, other) : colour;
    }
  }
}

class InstanceReader {
 public:
  explicit InstanceReader(const std::string& path)
      : json_(InstanceJson::parse(std::ifstream(path))) {}

  PublishedInstance run() {
    read_colours();
    order_edges();
    index_colours();
    PublishedInstance instance;
    add_nodes(&instance.graph);
    add_results(&instance.graph);
    instance.limits.devices = json_["maxFPGAs"];
    instance.limits.cpus = json_["maxCPUs"];
    instance.limits.capacity = json_["maxSizePerFPGA"];
    return instance;
  }

 private:
  void read_colours() {
    for (const InstanceJson& node : json_["nodes"]) {
      const int id = node["id"];
      const int colour = node.value("colorClass", 1000000 + id);
      colour_of_[id] = colour;
      by_colour_[colour].push_back(node);
      backward_[id] = flag(node["isBackwardNode"]);
    }
    for (const auto& [colour, nodes] : by_colour_) {
      orphan_[colour] = std::all_of(nodes.begin(), nodes.end(), [&](const InstanceJson& node) {
        return backward_[node["id"]];
      });
    }
  }

  // Which of both ends comes first, by node; twice the same where the edge says nothing.
  std::pair<int, int> ordered(const InstanceJson& edge) {
    const int from = edge["sourceId"];
    const int to = edge["destId"];
    const bool lonely = orphan_[colour_of_[from]] || orphan_[colour_of_[to]];
    return !backward_[from] && (!backward_[to] || orphan_[colour_of_[to]]) ? std::pair(from, to)
           : backward_[from] && backward_[to] && lonely                    ? std::pair(to, from)
                                                                           : std::pair(from, from);
  }

  // Edges between colours, after those that reach each other have become one.
  void order_edges() {
    std::vector<std::pair<int, int>> order;
    std::map<int, std::set<int>> reach;
    for (const InstanceJson& edge : json_["edges"]) {
      order.push_back(ordered(edge));
      reach[colour_of_[order.back().first]].insert(colour_of_[order.back().second]);
    }
    join_cycles(&colour_of_, reach);
    by_colour_.clear();
    for (const InstanceJson& node : json_["nodes"]) {
      by_colour_[colour_of_[node["id"]]].push_back(node);
    }
    for (const auto& [colour, nodes] : by_colour_) {
      degree_[colour] = 0;
    }
    for (const auto& [from, to] : order) {
      const int a = colour_of_[from];
      const int b = colour_of_[to];
      if (a != b && next_[a].insert(b).second) {
        ++degree_[b];
      }
    }
  }

  // Numbers colours in a topological order, the smallest colour first.
  void index_colours() {
    std::set<int> ready;
    for (const auto& [colour, count] : degree_) {
      if (count == 0) {
        ready.insert(colour);
      }
    }
    while (!ready.empty()) {
      const int colour = *ready.begin();
      ready.erase(ready.begin());
      index_.emplace(colour, index_.size());
      for (const int other : next_[colour]) {
        if (--degree_[other] == 0) {
          ready.insert(other);
        }
      }
    }
    REQUIRE(index_.size() == by_colour_.size());  // no cycle of colours
  }

  void add_nodes(StageGraph* graph) {
    graph->nodes.resize(index_.size());
    for (const auto& [colour, nodes] : by_colour_) {
      StageNode& node = graph->nodes[index_[colour]];
      for (const InstanceJson& part : nodes) {
        node.time += part["fpgaLatency"].get<double>();
        node.cpu_time += part["cpuLatency"].get<double>();
        node.bytes += part["size"].get<double>();
        node.cpu_only = node.cpu_only || !flag(part["supportedOnFpga"]);
      }
      for (const int other : next_[colour]) {
        graph->edges.emplace_back(index_[colour], index_[other]);
      }
    }
  }

  void add_results(StageGraph* graph) {
    std::map<int, StageResult> results;  // by the node that makes it
    for (const InstanceJson& edge : json_["edges"]) {
      StageResult& result = results[edge["sourceId"]];
      result.source = index_[colour_of_[edge["sourceId"]]];
      result.cost = edge["cost"];
      result.readers.push_back(index_[colour_of_[edge["destId"]]]);
    }
    for (auto& [id, result] : results) {
      graph->results.push_back(std::move(result));
    }
  }

  InstanceJson json_;
  std::map<int, int> colour_of_;
  std::map<int, std::vector<InstanceJson>> by_colour_;
  std::map<int, bool> backward_;
  std::map<int, bool> orphan_;  // colours of backward nodes alone
  std::map<int, std::set<int>> next_;
  std::map<int, int> degree_;
  std::map<int, uint32_t> index_;
};

}  // namespace

PublishedInstance read_published(const std::string& path) { return InstanceReader(path).run(); }

}  // namespace dfsim
