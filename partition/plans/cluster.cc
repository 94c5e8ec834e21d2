// Cuts a cluster into nodes of equal size with the switches that are theirs alone, and leaves
// nodes out or repeats the last one with its devices, switches and links.
#include "partition/plans/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "partition/plans/parallel_degrees.h"
#include "partition/sharding/device_mesh.h"

namespace dfsim::inline partition {
namespace {

constexpr int64_t kMaxDevices = 65536;

// The devices and switches of one node, by name.
struct Node {
  std::set<std::string> names;
};

bool belongs(const Node& node, const std::string& name) { return node.names.count(name) > 0; }

// Switches that are linked to devices of the node and to nothing else are the node's own.
void add_switches(const Platform& platform, Node* node) {
  std::vector<std::string> own;
  for (const std::string& name : platform.switches) {
    bool any = false;
    bool only = true;
    for (const LinkSpec& link : platform.links) {
      if (link.from == name || link.to == name) {
        any = true;
        only = only && belongs(*node, link.from == name ? link.to : link.from);
      }
    }
    if (any && only) {
      own.push_back(name);
    }
  }
  node->names.insert(own.begin(), own.end());
}

// "node7" in the name becomes "node12", otherwise ".12" goes behind it.
std::string renamed(const std::string& name, int64_t from, int64_t to) {
  const std::string old = std::to_string(from);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t at = name.find(old); at != std::string::npos; at = name.find(old, at + 1)) {
    const size_t end = at + old.size();
    if ((at == 0 || !is_digit(name[at - 1])) && (end == name.size() || !is_digit(name[end]))) {
      return name.substr(0, at) + std::to_string(to) + name.substr(end);
    }
  }
  return fmt::format("{}.{}", name, to);
}

}  // namespace

StatusOr<Platform> resize_cluster(const Platform& platform, int64_t nodes) {
  const std::vector<DeviceId> devices = compute_devices(platform);
  const auto count = static_cast<int64_t>(devices.size());
  const int64_t size = node_size(platform, count);
  const int64_t there = count / size;
  if (there < 2 || platform.devices.size() != devices.size()) {
    return invalid_input(fmt::format(
        "--nodes {}: '{}' is not a cluster of equal nodes, so dfsim cannot repeat a node; expected "
        "hardware such as 8xdgx-a100",
        nodes, printable(platform.name)));
  }
  if (nodes < 1 || nodes > kMaxDevices / size) {
    return invalid_input(fmt::format("--nodes {}: expected 1 to {} nodes of {} devices", nodes,
                                     kMaxDevices / size, size));
  }
  const auto node_of = [&](int64_t n) {
    Node node;
    for (int64_t d = n * size; d < (n + 1) * size; ++d) {
      node.names.insert(platform.devices[static_cast<size_t>(d)].name);
    }
    add_switches(platform, &node);
    return node;
  };
  Platform result = platform;
  result.name = fmt::format("{} with {} nodes", platform.name, nodes);
  for (int64_t n = there; n-- > nodes;) {
    const Node node = node_of(n);
    const auto gone = [&](const std::string& name) { return belongs(node, name); };
    std::erase_if(result.devices, [&](const DeviceSpec& d) { return gone(d.name); });
    std::erase_if(result.switches, gone);
    std::erase_if(result.links,
                  [&](const LinkSpec& link) { return gone(link.from) || gone(link.to); });
  }
  const Node last = node_of(there - 1);
  for (int64_t n = there; n < nodes; ++n) {
    const auto name_of = [&](const std::string& name) {
      return belongs(last, name) ? renamed(name, there - 1, n) : name;
    };
    for (const DeviceSpec& device : platform.devices) {
      if (belongs(last, device.name)) {
        result.devices.push_back(device);
        result.devices.back().name = name_of(device.name);
      }
    }
    for (const std::string& name : platform.switches) {
      if (belongs(last, name)) {
        result.switches.push_back(name_of(name));
      }
    }
    for (const LinkSpec& link : platform.links) {
      if (belongs(last, link.from) || belongs(last, link.to)) {
        result.links.push_back(link);
        result.links.back().name = renamed(link.name, there - 1, n);
        result.links.back().from = name_of(link.from);
        result.links.back().to = name_of(link.to);
      }
    }
  }
  return result;
}

}  // namespace dfsim::inline partition
