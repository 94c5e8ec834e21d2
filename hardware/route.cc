// Dijkstra's algorithm from each node on the time of a transfer of 1 MiB, with ties decided by
// hops and then by the order of links, so that routes depend on the file alone. Accelerators are
// ends of routes and never on the way.
#include "hardware/route.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>

namespace dfsim::inline hardware {

namespace {

constexpr double kReferenceBytes = 1 << 20;

struct Arc {
  uint32_t to;
  Hop hop;
  double cost;
};

struct Network {
  std::vector<std::vector<Arc>> arcs;
  std::vector<uint8_t> forwards;
};

// The search's knowledge of a node: the best way there so far.
struct Label {
  double cost = std::numeric_limits<double>::infinity();
  uint32_t hops = 0;
  uint32_t from = 0;
  Hop via;
};

std::vector<Label> cheapest_ways(const Network& network, uint32_t source) {
  std::vector<Label> labels(network.arcs.size());
  std::vector<uint8_t> settled(network.arcs.size(), 0);
  labels[source].cost = 0;
  using Entry = std::tuple<double, uint32_t, uint32_t>;  // cost, hops, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  queue.emplace(0, 0, source);
  while (!queue.empty()) {
    const uint32_t node = std::get<2>(queue.top());
    queue.pop();
    if (settled[node] != 0) {
      continue;
    }
    settled[node] = 1;
    if (node != source && network.forwards[node] == 0) {
      continue;
    }
    for (const Arc& arc : network.arcs[node]) {
      const double cost = labels[node].cost + arc.cost;
      const uint32_t hops = labels[node].hops + 1;
      Label& label = labels[arc.to];
      if (std::tie(cost, hops) < std::tie(label.cost, label.hops)) {
        label = {cost, hops, node, arc.hop};
        queue.emplace(cost, hops, arc.to);
      }
    }
  }
  return labels;
}

Route trace_back(const Platform& platform, const std::vector<Label>& labels, uint32_t source,
                 uint32_t target) {
  Route route;
  if (!std::isfinite(labels[target].cost)) {
    return route;
  }
  route.reachable = true;
  for (uint32_t node = target; node != source; node = labels[node].from) {
    const Hop hop = labels[node].via;
    const LinkSpec& link = platform.links[hop.link.index()];
    route.hops.push_back(hop);
    route.latency_ns += link.latency_ns;
    route.ns_per_byte = std::max(route.ns_per_byte, 1e9 / link.bytes_per_s);
  }
  std::reverse(route.hops.begin(), route.hops.end());
  return route;
}

}  // namespace

RouteTable::RouteTable(const Platform& platform) {
  const auto devices = static_cast<uint32_t>(platform.devices.size());
  std::unordered_map<std::string, uint32_t> nodes;
  for (uint32_t d = 0; d < devices; ++d) {
    nodes.emplace(platform.devices[d].name, d);
  }
  host_ = nodes.emplace(platform.host.node, devices).first->second;
  uint32_t node_count = std::max(devices, host_ + 1);
  for (const std::string& name : platform.switches) {
    node_count += nodes.emplace(name, node_count).second ? 1 : 0;
  }
  Network network;
  network.arcs.resize(node_count);
  network.forwards.assign(node_count, 1);
  for (uint32_t d = 0; d < devices; ++d) {
    network.forwards[d] = platform.devices[d].type == DeviceType::kCpu ? 1 : 0;
  }
  for (size_t l = 0; l < platform.links.size(); ++l) {
    const LinkSpec& link = platform.links[l];
    const auto from = nodes.find(link.from);
    const auto to = nodes.find(link.to);
    if (from == nodes.end() || to == nodes.end() || !(link.bytes_per_s > 0)) {
      continue;
    }
    const double cost =
        static_cast<double>(link.latency_ns) + kReferenceBytes * 1e9 / link.bytes_per_s;
    network.arcs[from->second].push_back({to->second, {LinkId(l), false}, cost});
    network.arcs[to->second].push_back({from->second, {LinkId(l), true}, cost});
  }
  ends_ = std::max(devices, host_ + 1);
  if (host_ == devices && network.arcs[host_].empty()) {
    for (uint32_t d = devices; d-- > 0;) {
      host_ = platform.devices[d].type == DeviceType::kCpu ? d : host_;
    }
  }
  routes_.reserve(static_cast<size_t>(ends_) * ends_);
  for (uint32_t source = 0; source < ends_; ++source) {
    const std::vector<Label> labels = cheapest_ways(network, source);
    for (uint32_t target = 0; target < ends_; ++target) {
      routes_.push_back(trace_back(platform, labels, source, target));
    }
  }
}

}  // namespace dfsim::inline hardware
