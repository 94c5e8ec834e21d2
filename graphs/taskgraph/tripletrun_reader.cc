// The graphs of TripletRun (https://github.com/lanhin/TripletRun): nodes with what they compute and
// the data they produce, and edges with what they send, in KB.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json/json_events.h"
#include "base/json/json_stream.h"
#include "base/text.h"
#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/readers.h"
#include "graphs/taskgraph/triplet_number.h"

namespace dfsim::inline graphs::taskgraph {
namespace {

// Demands are kept as whole thousandths while the graph is put together.
constexpr double kPerDemand = 1000;

class TripletListener : public JsonListener {
 public:
  explicit TripletListener(const CharSource& source) : source_(source) {}

  Status on_event(const JsonEvent& event) override;
  StatusOr<TaskGraph> assemble();

 private:
  struct Node {
    int64_t id = -1;
    double compute = -1;
    double data_kb = 0;
  };
  struct Arc {
    int64_t from = -1;
    int64_t to = -1;
    double weight_kb = -1;  // negative = not given
  };

  Status on_node(const JsonEvent& event, std::string_view key);
  Status on_edge(const JsonEvent& event, std::string_view key);
  StatusOr<std::vector<uint32_t>> ends_of_arcs() const;
  Status add_all(Assembler& assembler) const;

  const CharSource& source_;
  std::vector<Node> nodes_;
  std::vector<Arc> arcs_;
  std::unordered_map<int64_t, uint32_t> ids_;
};

Status TripletListener::on_node(const JsonEvent& event, std::string_view key) {
  using Kind = JsonEvent::Kind;
  if (key == "*") {
    if (event.kind == Kind::kBeginObject) {
      nodes_.emplace_back();
      return ok_status();
    }
    if (event.kind != Kind::kEndObject || nodes_.back().id < 0 || !(nodes_.back().compute >= 0)) {
      return invalid_input(fmt::format(
          "'{}' is not an object with an 'id' and a 'comDmd' of 0 or more", printable(event.path)));
    }
    const Node& node = nodes_.back();
    return ids_.try_emplace(node.id, static_cast<uint32_t>(nodes_.size() - 1)).second
               ? ok_status()
               : invalid_input(fmt::format("there are two nodes {}", node.id));
  }
  if (key == "*/id") {
    DFSIM_ASSIGN_OR_RETURN(nodes_.back().id, triplet_id(event));
  } else if (key == "*/comDmd") {
    DFSIM_ASSIGN_OR_RETURN(nodes_.back().compute, triplet_number(event));
  } else if (key == "*/dataDmd") {
    DFSIM_ASSIGN_OR_RETURN(const double data_kb, triplet_number(event));
    nodes_.back().data_kb = std::max(data_kb, 0.0);
  }
  return ok_status();
}

Status TripletListener::on_edge(const JsonEvent& event, std::string_view key) {
  using Kind = JsonEvent::Kind;
  if (key == "*") {
    if (event.kind == Kind::kBeginObject) {
      arcs_.emplace_back();
      return ok_status();
    }
    return event.kind == Kind::kEndObject && arcs_.back().from >= 0 && arcs_.back().to >= 0
               ? ok_status()
               : invalid_input(fmt::format("'{}' is not an object with 'src' and 'dst'",
                                           printable(event.path)));
  }
  if (key == "*/src") {
    DFSIM_ASSIGN_OR_RETURN(arcs_.back().from, triplet_id(event));
  } else if (key == "*/dst") {
    DFSIM_ASSIGN_OR_RETURN(arcs_.back().to, triplet_id(event));
  } else if (key == "*/weight") {
    DFSIM_ASSIGN_OR_RETURN(arcs_.back().weight_kb, triplet_number(event));
  }
  return ok_status();
}

Status TripletListener::on_event(const JsonEvent& event) {
  const std::string_view path = event.path;
  if (path.starts_with("nodes/")) {
    return on_node(event, path.substr(6));
  }
  return path.starts_with("edges/") ? on_edge(event, path.substr(6)) : ok_status();
}

// The positions of (from, to) of each edge.
StatusOr<std::vector<uint32_t>> TripletListener::ends_of_arcs() const {
  std::vector<uint32_t> ends;
  for (const Arc& arc : arcs_) {
    for (const int64_t id : {arc.from, arc.to}) {
      const auto found = ids_.find(id);
      if (found == ids_.end()) {
        return invalid_input(fmt::format("an edge joins nodes {} and {}, but there is no node {}",
                                         arc.from, arc.to, id));
      }
      ends.push_back(found->second);
    }
  }
  return ends;
}

// Where an edge has no weight, a node sends its data, all of its inputs together at most what the
// reader's own dataDmd is: so TripletRun has it.
Status TripletListener::add_all(Assembler& assembler) const {
  for (const Node& node : nodes_) {
    DFSIM_ASSIGN_OR_RETURN(const TimeNs compute,
                           checked_ns(node.compute, kPerDemand, "comDmd of a node"));
    DFSIM_ASSIGN_OR_RETURN(const TimeNs data,
                           checked_ns(node.data_kb, kPerDemand, "dataDmd of a node"));
    assembler.add_task(fmt::format("{}", node.id), std::vector<TimeNs>{compute, data});
  }
  DFSIM_ASSIGN_OR_RETURN(const std::vector<uint32_t> ends, ends_of_arcs());
  std::vector<double> offered(nodes_.size(), 0.0);  // by reader: what its producers have
  for (size_t e = 0; e < arcs_.size(); ++e) {
    offered[ends[2 * e + 1]] += nodes_[ends[2 * e]].data_kb;
  }
  for (size_t e = 0; e < arcs_.size(); ++e) {
    const Node& from = nodes_[ends[2 * e]];
    const Node& to = nodes_[ends[2 * e + 1]];
    const double total = offered[ends[2 * e + 1]];
    const double kb = arcs_[e].weight_kb >= 0 ? arcs_[e].weight_kb
                      : total > to.data_kb    ? from.data_kb * (to.data_kb / total)
                                              : from.data_kb;
    DFSIM_ASSIGN_OR_RETURN(const Bytes bytes,
                           checked_bytes(kb * kBytesPerKb, "the weight of an edge"));
    assembler.add_edge(TaskId(ends[2 * e]), TaskId(ends[2 * e + 1]), bytes);
  }
  return ok_status();
}

StatusOr<TaskGraph> TripletListener::assemble() {
  constexpr size_t kDemands = 2;
  Assembler assembler(kDemands);
  assembler.reserve(nodes_.size(), arcs_.size());
  if (Status status = add_all(assembler); !status.ok()) {
    return status.with_place(source_.path());
  }
  TaskGraph out;
  out.format = "tripletrun";
  out.comm = CommKind::kBytes;
  out.has_unit = true;
  DFSIM_RETURN_IF_ERROR(assembler.finish(source_.path(), out));
  // The rows hold demands. A processor that is not known does 10^9 of comDmd per second.
  const std::vector<TimeNs> rows = std::move(out.times_ns);
  out.times_ns.clear();
  for (size_t row = 0; row < rows.size() / kDemands; ++row) {
    const auto compute = static_cast<double>(rows[row * kDemands]) / kPerDemand;
    const auto data_kb = static_cast<double>(rows[row * kDemands + 1]) / kPerDemand;
    out.times_ns.push_back(static_cast<TimeNs>(compute + 0.5));
    out.demands.push_back({compute, data_kb * kBytesPerKb});
  }
  return out;
}

bool starts_like_triplet(std::string_view start) {
  return start.front() == '{' && start.find("\"nodes\"") != std::string_view::npos &&
         start.find("\"comDmd\"") != std::string_view::npos;
}

StatusOr<TaskGraph> read_triplet_graph(CharSource source) {
  TripletListener listener(source);
  JsonStream stream = json_stream(source, {"nodes", "edges"});
  DFSIM_RETURN_IF_ERROR(read_json_events(stream, listener));
  return listener.assemble();
}

}  // namespace

TaskGraphFormat tripletrun_format() {
  return {.name = "tripletrun",
          .looks_like = "TripletRun (JSON with \"nodes\" and \"comDmd\")",
          .sniff = starts_like_triplet,
          .read = read_triplet_graph};
}

}  // namespace dfsim::inline graphs::taskgraph
