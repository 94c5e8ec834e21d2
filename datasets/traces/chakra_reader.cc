// Chakra's execution trace (MLCommons): a stream of messages, each behind its length: one
// GlobalMetadata, then Nodes (et_def.proto); or the same as JSON, {"workload_graph": [...]}.
//
// Nodes have durations and dependencies, and often no start: then each is placed when what it
// depends on has ended and its thread or stream is free, in the order in which that is the case.
#include <fmt/format.h>

#include <queue>
#include <unordered_map>

#include "base/io/proto_wire.h"
#include "base/json/json_value.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

// Of et_def.proto.
enum NodeType : uint64_t { kMetadata = 1, kMemLoad = 2, kMemStore = 3, kSend = 5, kCollective = 7 };
enum NodeField : uint32_t {
  kId = 1,
  kName = 2,
  kType = 3,
  kControlDeps = 4,
  kDataDeps = 5,
  kStart = 6,
  kDuration = 7,
  kInputs = 8,
  kAttribute = 10
};
constexpr double kMaxUs = 1e17;

struct Node {
  uint64_t id = 0;
  uint64_t type = 0;
  std::vector<uint64_t> control;
  std::vector<uint64_t> data;
  double start_us = 0;
  double duration_us = 0;
  NameId name;
  NameId detail;
  bool on_host = true;
  int64_t thread = 0;
  Bytes bytes = -1;
  bool usable() const { return type != kMetadata && duration_us >= 0; }
};

double usable(double us) { return us <= kMaxUs ? us : -1; }

// Where nodes come together, whatever the file looked like.
class ChakraTrace {
 public:
  explicit ChakraTrace(const std::string& path) {
    trace_.path = path;
    trace_.format = "chakra";
  }

  Trace& trace() { return trace_; }

  void add(Node node) {
    ++trace_.events;
    if (!node.usable()) {
      if (node.type != kMetadata) {
        trace_.warn("nodes with a negative or impossible duration, left out", trace_.events);
      }
      return;
    }
    if (!index_.try_emplace(node.id, static_cast<uint32_t>(nodes_.size())).second) {
      trace_.warn("nodes with the id of another one, left out", trace_.events);
      return;
    }
    any_start_ |= node.start_us > 0;
    nodes_.push_back(std::move(node));
  }

  StatusOr<Trace> finish() {
    if (any_start_) {
      for (const Node& node : nodes_) {
        add_span(node, node.start_us);
      }
    } else {
      place();
    }
    if (trace_.spans.empty()) {
      return nothing_usable(trace_, "nodes");
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  TrackId track_of(const Node& node) {
    if (node.on_host) {
      return trace_.track_of("host", fmt::format("thread {}", node.thread));
    }
    const TrackId id = trace_.track_of("device", fmt::format("stream {}", node.thread));
    Track& track = trace_.tracks[id.index()];
    track.kind = TrackKind::kDevice;
    track.device = 0;
    return id;
  }

  void add_span(const Node& node, double start_us) {
    Span span;
    span.start_us = start_us;
    span.end_us = start_us + node.duration_us;
    span.name = node.name;
    span.detail = node.detail;
    span.track = track_of(node);
    span.communication = node.type >= kSend && node.type <= kCollective;
    span.bytes = node.bytes;
    // Ids from 1, so that 0 stays "not said". Work of a device names the operator that calls it
    // among the nodes that it is controlled by.
    span.external = static_cast<int64_t>(node.id) + 1;
    if (node.on_host) {
      span.kind = SpanKind::kOp;
    } else {
      const bool copy = node.type == kMemLoad || node.type == kMemStore;
      span.kind = copy ? SpanKind::kCopy : SpanKind::kKernel;
      span.external = node.control.empty() ? -1 : static_cast<int64_t>(node.control.front()) + 1;
    }
    trace_.spans.push_back(span);
  }

  // List scheduling over the dependencies.
  void place() {
    std::vector<std::vector<uint32_t>> readers(nodes_.size());
    std::vector<uint32_t> waits(nodes_.size(), 0);
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      for (const auto* deps : {&nodes_[i].control, &nodes_[i].data}) {
        for (const uint64_t id : *deps) {
          const auto it = index_.find(id);
          if (it != index_.end()) {
            readers[it->second].push_back(i);
            ++waits[i];
          }
        }
      }
    }
    using Ready = std::tuple<double, uint64_t, uint32_t>;  // time, id, node
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (waits[i] == 0) {
        ready.emplace(0, nodes_[i].id, i);
      }
    }
    std::vector<double> ready_us(nodes_.size(), 0);
    std::unordered_map<TrackId, double> free_us;
    int64_t placed = 0;
    while (!ready.empty()) {
      const auto [time_us, id, i] = ready.top();
      ready.pop();
      double& free = free_us[track_of(nodes_[i])];
      const double start_us = std::max(time_us, free);
      add_span(nodes_[i], start_us);
      free = start_us + nodes_[i].duration_us;
      ++placed;
      for (const uint32_t reader : readers[i]) {
        ready_us[reader] = std::max(ready_us[reader], free);
        if (--waits[reader] == 0) {
          ready.emplace(ready_us[reader], nodes_[reader].id, reader);
        }
      }
    }
    if (placed > 0) {
      trace_.warn("nodes without a start time, placed behind what they depend on", 0, placed);
    }
    if (placed < static_cast<int64_t>(nodes_.size())) {
      trace_.warn("nodes that depend on themselves, left out", 0,
                  static_cast<int64_t>(nodes_.size()) - placed);
    }
  }

  Trace trace_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, uint32_t> index_;
  bool any_start_ = false;
};

void read_ids(const ProtoField& field, std::vector<uint64_t>* ids) {
  if (field.wire == ProtoField::kVarint) {
    ids->push_back(field.value);
    return;
  }
  ProtoReader packed(field.bytes);
  uint64_t id = 0;
  while (packed.next_varint(&id)) {
    ids->push_back(id);
  }
}

// {1: name, one of 3..32: value}; whole numbers and truth values are what is asked for.
void read_attribute(std::string_view message, Node* node) {
  ProtoReader reader(message);
  ProtoField field;
  std::string_view name;
  int64_t value = 0;
  while (reader.next(&field)) {
    if (field.is(1, ProtoField::kBytes)) {
      name = field.bytes;
    } else if (field.wire == ProtoField::kVarint) {
      value = field.integer();
    }
  }
  if (name == "is_cpu_op") {
    node->on_host = value != 0;
  } else if (name == "tid") {
    node->thread = value;
  } else if (name == "comm_size") {
    node->bytes = value;
  }
}

// {1: values, 2: shapes, 3: types}
NameId read_inputs(std::string_view message, Trace* trace) {
  ProtoReader reader(message);
  ProtoField field;
  std::string text;
  while (reader.next(&field)) {
    if (field.wire == ProtoField::kBytes && field.number >= 2 && field.number <= 3) {
      text += text.empty() ? "" : " ";
      text += field.bytes;
    }
  }
  return text.empty() ? NameId() : trace->intern(text);
}

bool read_node(std::string_view message, Trace* trace, Node* node) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(&field)) {
    switch (field.number) {
      case kId:
        node->id = field.value;
        break;
      case kName:
        node->name = trace->intern(field.bytes);
        break;
      case kType:
        node->type = field.value;
        break;
      case kControlDeps:
        read_ids(field, &node->control);
        break;
      case kDataDeps:
        read_ids(field, &node->data);
        break;
      case kStart:
        node->start_us = std::max(0.0, usable(static_cast<double>(field.value)));
        break;
      case kDuration:
        node->duration_us = usable(static_cast<double>(field.value));
        break;
      case kInputs:
        node->detail = read_inputs(field.bytes, trace);
        break;
      case kAttribute:
        read_attribute(field.bytes, node);
        break;
      default:
        break;
    }
  }
  return reader.ok() && node->name.valid();
}

// Whether `message` has only fields of these numbers, all of them bytes unless `numbers` says so.
bool looks_like(std::string_view message, uint32_t last_field, bool metadata) {
  ProtoReader reader(message);
  ProtoField field;
  bool named = false;
  while (reader.next(&field)) {
    if (field.number > last_field || (metadata && field.wire != ProtoField::kBytes)) {
      return false;
    }
    named |= field.is(kName, ProtoField::kBytes);
  }
  return reader.ok() && (metadata || named);
}

void read_json_ids(const JsonValue& list, std::vector<uint64_t>* ids) {
  list.each_element([ids](const JsonValue& id) {
    int64_t number = 0;
    if (id.get(&number)) {
      ids->push_back(static_cast<uint64_t>(number));
    }
  });
}

// Keys differ from writer to writer in case and underscores.
void read_json_field(std::string_view key, const JsonValue& value, Trace* trace, Node* node) {
  int64_t number = 0;
  double real = 0;
  std::string_view text;
  if (key == "Id" || key == "id") {
    node->id = value.get(&number) ? static_cast<uint64_t>(number) : 0;
  } else if ((key == "Name" || key == "name") && value.get(&text)) {
    node->name = trace->intern(text);
  } else if ((key == "NodeType" || key == "type") && value.get(&number)) {
    node->type = static_cast<uint64_t>(number);
  } else if ((key == "runtime" || key == "duration_micros") && value.get(&real)) {
    node->duration_us = usable(real);
  } else if (key == "start_time_micros" && value.get(&real)) {
    node->start_us = std::max(0.0, usable(real));
  } else if (key == "is_cpu_op") {
    bool on_host = true;
    node->on_host = !value.get(&on_host) || on_host;
  } else if (key == "tid" && value.get(&number)) {
    node->thread = number;
  } else if (key == "comm_size" && value.get(&number)) {
    node->bytes = number;
  } else if (key == "ctrlDeps" || key == "ctrl_deps") {
    read_json_ids(value, &node->control);
  } else if (key == "dataDeps" || key == "data_deps") {
    read_json_ids(value, &node->data);
  }
}

bool is_chakra_trace(std::string_view content) {
  ProtoReader stream(content);
  std::string_view message;
  if (!stream.next_delimited(&message) || !looks_like(message, 2, true)) {
    return false;
  }
  // A cut first node is still one: then there is nothing else that it could be.
  return !stream.next_delimited(&message) || looks_like(message, kAttribute, false);
}

StatusOr<Trace> read_chakra_trace(const std::string& path, std::string_view content) {
  ChakraTrace result(path);
  ProtoReader stream(content);
  std::string_view message;
  bool first = true;
  while (stream.next_delimited(&message)) {
    Node node;
    if (first) {
      first = false;  // the metadata
    } else if (read_node(message, &result.trace(), &node)) {
      result.add(std::move(node));
    } else {
      ++result.trace().events;
      result.trace().warn("messages that are no nodes, left out", result.trace().events);
    }
  }
  if (!stream.ok()) {
    result.trace().warn_of_file("the file is cut off: it ends inside a node");
  }
  return result.finish();
}

StatusOr<Trace> read_chakra_json(const std::string& path, JsonStream stream) {
  ChakraTrace result(path);
  JsonParser parser;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const JsonItem item, stream.next());
    if (item.kind == JsonItem::Kind::kEnd) {
      break;
    }
    JsonValue object;
    Node node;
    if (item.kind != JsonItem::Kind::kElement) {
      continue;
    }
    if (parser.parse(item.json, &object)) {
      object.each_member([&](std::string_view key, const JsonValue& value) {
        read_json_field(key, value, &result.trace(), &node);
      });
    }
    if (node.name.valid()) {
      result.add(std::move(node));
    } else {
      result.trace().warn("nodes without a name, left out", ++result.trace().events);
    }
  }
  warn_of_repairs(stream, &result.trace());
  return result.finish();
}

// A protobuf file is told by its wire types alone, which other formats may have as well.
Sniff sniff_chakra(const TraceInput& input) {
  if (input.kind() == TraceInput::Kind::kJson) {
    return input.head_has("\"workload_graph\"") ? Sniff::kYes : Sniff::kNo;
  }
  const bool found = input.kind() == TraceInput::Kind::kBinary && is_chakra_trace(input.content());
  return found ? Sniff::kMaybe : Sniff::kNo;
}

StatusOr<Trace> read_chakra(TraceInput input) {
  if (input.kind() != TraceInput::Kind::kJson) {
    return read_chakra_trace(input.path(), input.content());
  }
  DFSIM_ASSIGN_OR_RETURN(JsonStream stream, input.json("workload_graph"));
  return read_chakra_json(input.path(), std::move(stream));
}

}  // namespace

TraceReader chakra_trace_reader() {
  return {.name = "chakra",
          .description = "Chakra execution trace, protobuf or JSON",
          .sniff = sniff_chakra,
          .read = read_chakra};
}

}  // namespace dfsim::inline datasets
