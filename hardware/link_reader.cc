// Reads links and switches and expands patterns in their ends ("gpu*") to one link each. At the
// end every node must have a route to every other one, or transfers would have no time.
#include "hardware/link_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "hardware/builtin_files.h"
#include "hardware/yaml/yaml_units.h"

namespace dfsim::inline hardware {
namespace {

// Everything a link can end at.
std::vector<std::string> node_names(const Platform& platform) {
  std::vector<std::string> names;
  for (const DeviceSpec& device : platform.devices) {
    names.push_back(device.name);
  }
  names.insert(names.end(), platform.switches.begin(), platform.switches.end());
  if (std::find(names.begin(), names.end(), platform.host.node) == names.end()) {
    names.push_back(platform.host.node);
  }
  return names;
}

class LinkReader {
 public:
  LinkReader(YamlFields& list, const SourceTable& sources, Platform* platform)
      : list_(list), sources_(sources), platform_(platform), nodes_(node_names(*platform)) {}

  void read(const YamlNode& node) {
    YamlFields fields(node, list_.file(), "a link");
    LinkSpec link;
    read_name(fields, "name", &link.name, Need::kOptional);
    fields.text("from", &link.from, Need::kRequired);
    fields.text("to", &link.to, Need::kRequired);
    double gb_per_s = 0;
    fields.number("bandwidth_gb_per_s", kBandwidthRange, &gb_per_s, Need::kRequired);
    link.bytes_per_s = gb_per_s * kGiga;
    read_time_us(fields, "latency_us", &link.latency_ns, Need::kRequired);
    size_t index = 0;
    if (fields.choice("duplex", {"full", "half"}, &index)) {
      link.full_duplex = index == 0;
    }
    if (fields.choice("sharing", {"fair", "fifo"}, &index)) {
      link.sharing = index == 0 ? LinkSharing::kFair : LinkSharing::kFifo;
    }
    link.source = read_source(fields, sources_);
    if (fields.finish().ok()) {
      expand(fields, link);
    }
    list_.error(fields.finish());
  }

 private:
  // The nodes that `pattern` stands for: itself, or with a '*' at its end all that start so.
  std::vector<std::string> ends(YamlFields& fields, std::string_view key,
                                const std::string& pattern) const {
    std::vector<std::string> found;
    const bool is_glob = pattern.ends_with('*');
    const std::string_view prefix = std::string_view(pattern).substr(0, pattern.size() - 1);
    for (const std::string& node : nodes_) {
      if (is_glob ? node.starts_with(prefix) : node == pattern) {
        found.push_back(node);
      }
    }
    if (found.empty()) {
      fields.error(key, unknown_name_message("end of a link", pattern, nodes_) +
                            "; name a device, a switch or the host");
    }
    return found;
  }
  void expand(YamlFields& fields, const LinkSpec& link) {
    const std::vector<std::string> from = ends(fields, "from", link.from);
    const std::vector<std::string> to = ends(fields, "to", link.to);
    const bool several = link.from.ends_with('*') || link.to.ends_with('*');
    if (link.from.ends_with('*') && link.to.ends_with('*')) {
      fields.error("to", "found '*' at both ends, expected it at one; write one link per pair");
      return;
    }
    for (const std::string& a : from) {
      for (const std::string& b : to) {
        LinkSpec one = link;
        one.from = a;
        one.to = b;
        const std::string& varying = link.from.ends_with('*') ? a : b;
        if (link.name.empty()) {
          one.name = fmt::format("{}-{}", a, b);
        } else if (several) {
          one.name = link.name + "-" + varying;
        }
        add(fields, std::move(one));
      }
    }
  }
  void add(YamlFields& fields, LinkSpec link) {
    if (link.from == link.to) {
      fields.error("to",
                   fmt::format("found '{}' at both ends, expected two nodes; change one", link.to));
    } else if (!names_.insert(link.name).second) {
      fields.error("name", fmt::format("found a second link '{}', expected each name once; rename "
                                       "one",
                                       link.name));
    } else if (platform_->links.size() >= kMaxLinks) {
      fields.error("from", fmt::format("found more than {} links, expected at most that; give a "
                                       "smaller platform",
                                       kMaxLinks));
    } else {
      platform_->links.push_back(std::move(link));
    }
  }

  YamlFields& list_;
  const SourceTable& sources_;
  Platform* platform_;
  std::vector<std::string> nodes_;
  std::unordered_set<std::string> names_;
};

void read_switches(YamlFields& fields, Platform* platform) {
  std::vector<std::string> switches;
  if (!fields.texts("switches", &switches)) {
    return;
  }
  for (const std::string& name : switches) {
    const bool is_device =
        std::any_of(platform->devices.begin(), platform->devices.end(),
                    [&name](const DeviceSpec& device) { return device.name == name; });
    if (is_device || name == "host") {
      fields.error("switches", fmt::format("found the switch '{}', which is a device or the host "
                                           "too, expected each name once; rename one",
                                           printable(name)));
    }
    check_name(fields, "switches", name);
  }
  platform->switches = std::move(switches);
}

}  // namespace

void read_links(YamlFields& fields, const SourceTable& sources, Platform* platform) {
  read_switches(fields, platform);
  const YamlNode* links = fields.list("links");
  if (links == nullptr) {
    return;
  }
  LinkReader reader(fields, sources, platform);
  for (const YamlNode& link : links->items) {
    reader.read(link);
    // The first error is the one reported; a file of only errors should not be read to its end.
    if (fields.failed()) {
      return;
    }
  }
}

void check_connected(YamlFields& fields, const Platform& platform) {
  if (platform.devices.size() < 2 && platform.links.empty()) {
    return;
  }
  const std::vector<std::string> nodes = node_names(platform);
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < nodes.size(); ++i) {
    index.emplace(nodes[i], i);
  }
  std::vector<size_t> parent(nodes.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto root = [&parent](size_t node) {
    while (parent[node] != node) {
      parent[node] = parent[parent[node]];
      node = parent[node];
    }
    return node;
  };
  for (const LinkSpec& link : platform.links) {
    parent[root(index.at(link.from))] = root(index.at(link.to));
  }
  for (size_t i = 1; i < nodes.size(); ++i) {
    if (root(i) != root(0)) {
      fields.error("links", fmt::format("found no route from '{}' to '{}', expected every node to "
                                        "be connected; add a link",
                                        nodes[0], nodes[i]));
      return;
    }
  }
}

}  // namespace dfsim::inline hardware
