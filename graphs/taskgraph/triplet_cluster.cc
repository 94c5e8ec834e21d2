// Reads TripletRun's cluster JSON as a stream: devices with their speeds, links with bandwidths.
// A link serves both directions; devices without one of their own use the link between their
// computers.
#include "graphs/taskgraph/triplet_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include "base/json/json_events.h"
#include "base/json/json_stream.h"
#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/readers.h"
#include "graphs/taskgraph/triplet_number.h"

namespace dfsim::inline graphs {
namespace {

using taskgraph::CharSource;

class ClusterListener : public JsonListener {
 public:
  Status on_event(const JsonEvent& event) override;
  StatusOr<TripletCluster> finish(const std::string& path);

 private:
  Status on_device(const JsonEvent& event, std::string_view key);
  Status on_link(const JsonEvent& event, std::string_view key);
  Status check_links() const;

  TripletCluster out_;
  std::unordered_set<int64_t> ids_;
  bool has_id_ = false;
};

Status ClusterListener::on_device(const JsonEvent& event, std::string_view key) {
  using Kind = JsonEvent::Kind;
  if (key == "*") {
    if (event.kind == Kind::kBeginObject) {
      out_.devices.emplace_back();
      has_id_ = false;
      return ok_status();
    }
    if (event.kind != Kind::kEndObject) {
      return invalid_input("a device is not an object");
    }
    const TripletCluster::Device& device = out_.devices.back();
    if (!has_id_ || !(device.compute_per_s > 0) || !(device.memory_bytes_per_s > 0)) {
      return invalid_input(fmt::format(
          "device {} lacks an id, 'compute' or 'bw'; expected all three, and rates above 0",
          out_.devices.size() - 1));
    }
    return ids_.insert(device.id).second
               ? ok_status()
               : invalid_input(fmt::format("there are two devices {}", device.id));
  }
  if (!key.starts_with("*/")) {
    return ok_status();  // a field where the list was expected: there may be no element yet
  }
  TripletCluster::Device& device = out_.devices.back();
  if (key == "*/id") {
    DFSIM_ASSIGN_OR_RETURN(device.id, taskgraph::triplet_id(event));
    has_id_ = true;
  } else if (key == "*/compute") {
    DFSIM_ASSIGN_OR_RETURN(device.compute_per_s, taskgraph::triplet_number(event));
  } else if (key == "*/bw") {
    DFSIM_ASSIGN_OR_RETURN(const double kb_per_s, taskgraph::triplet_number(event));
    device.memory_bytes_per_s = kb_per_s * taskgraph::kBytesPerKb;
  } else if (key == "*/RAM") {
    DFSIM_ASSIGN_OR_RETURN(const double kb, taskgraph::triplet_number(event));
    DFSIM_ASSIGN_OR_RETURN(
        device.memory_bytes,
        taskgraph::checked_bytes(std::max(kb, 0.0) * taskgraph::kBytesPerKb, "RAM of a device"));
  } else if (key == "*/loc") {
    DFSIM_ASSIGN_OR_RETURN(device.computer, taskgraph::triplet_id(event));
  }
  return ok_status();
}

Status ClusterListener::on_link(const JsonEvent& event, std::string_view key) {
  using Kind = JsonEvent::Kind;
  if (key == "*") {
    if (event.kind == Kind::kBeginObject) {
      out_.links.push_back({-1, -1, 0, false});
      return ok_status();
    }
    if (event.kind != Kind::kEndObject || out_.links.back().from < 0 || out_.links.back().to < 0) {
      return invalid_input("a link is not an object with 'src' and 'dst'");
    }
    const TripletCluster::Link& link = out_.links.back();
    return link.bytes_per_s > 0
               ? ok_status()
               : invalid_input(fmt::format("link {} has no 'bw' above 0", out_.links.size() - 1));
  }
  if (!key.starts_with("*/")) {
    return ok_status();  // a field where the list was expected: there may be no element yet
  }
  TripletCluster::Link& link = out_.links.back();
  if (key == "*/src") {
    DFSIM_ASSIGN_OR_RETURN(link.from, taskgraph::triplet_id(event));
  } else if (key == "*/dst") {
    DFSIM_ASSIGN_OR_RETURN(link.to, taskgraph::triplet_id(event));
  } else if (key == "*/bw") {
    DFSIM_ASSIGN_OR_RETURN(const double kb_per_s, taskgraph::triplet_number(event));
    link.bytes_per_s = kb_per_s * taskgraph::kBytesPerKb;
  } else if (key == "*/BetweenNode") {
    link.between_computers = event.kind == Kind::kString ? event.text == "true" : event.number != 0;
  }
  return ok_status();
}

Status ClusterListener::on_event(const JsonEvent& event) {
  const std::string_view path = event.path;
  if (path.starts_with("devices/")) {
    return on_device(event, path.substr(8));
  }
  if (path.starts_with("links/")) {
    return on_link(event, path.substr(6));
  }
  return ok_status();
}

Status ClusterListener::check_links() const {
  for (const TripletCluster::Link& link : out_.links) {
    if (!link.between_computers && (!ids_.contains(link.from) || !ids_.contains(link.to))) {
      return invalid_input(fmt::format("a link joins devices {} and {}, which are not both there",
                                       link.from, link.to));
    }
  }
  return ok_status();
}

StatusOr<TripletCluster> ClusterListener::finish(const std::string& path) {
  if (out_.devices.empty()) {
    return invalid_input(
        fmt::format("{}: found no devices, expected a cluster of TripletRun with "
                    "'devices' and 'links'",
                    path));
  }
  if (Status status = check_links(); !status.ok()) {
    return status.with_place(path);
  }
  out_.name = std::filesystem::path(path).stem().string();
  return std::move(out_);
}

StatusOr<TripletCluster> read_cluster(CharSource source, const std::string& path) {
  ClusterListener listener;
  JsonStream stream = taskgraph::json_stream(source, {"devices", "links"});
  DFSIM_RETURN_IF_ERROR(read_json_events(stream, listener));
  return listener.finish(path);
}

}  // namespace

double TripletCluster::bytes_per_s(size_t from, size_t to) const {
  const auto find = [this](int64_t a, int64_t b, bool between) {
    const auto link = std::ranges::find_if(links, [&](const Link& each) {
      return each.between_computers == between &&
             ((each.from == a && each.to == b) || (each.from == b && each.to == a));
    });
    return link == links.end() ? 0.0 : link->bytes_per_s;
  };
  const double own = find(devices[from].id, devices[to].id, false);
  return own > 0 ? own : find(devices[from].computer, devices[to].computer, true);
}

StatusOr<TripletCluster> read_triplet_cluster(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(CharSource source, CharSource::open(path));
  return read_cluster(std::move(source), path);
}

StatusOr<TripletCluster> parse_triplet_cluster(std::string_view content, const std::string& path) {
  return read_cluster(CharSource::of(content, path), path);
}

bool looks_like_triplet_cluster(const std::string& path) {
  auto source = CharSource::open(path);
  if (!source.ok()) {
    return false;
  }
  const std::string_view start = source->prefix();
  const size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{' &&
         start.find("\"devices\"") != std::string_view::npos &&
         start.find("\"compute\"") != std::string_view::npos;
}

}  // namespace dfsim::inline graphs
