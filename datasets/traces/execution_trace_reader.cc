// PyTorch's execution trace (ExecutionTraceObserver), schemas 1.0.1 to 1.1.1-chakra: {"schema",
// "nodes": [{id, name, parent or ctrl_deps, inputs, ...}]}.
//
// The format records what called what and in which order, and no times: ids count up as operators
// begin. So every operator without others inside counts as one step of 1 us, one after the other,
// and operators around them last as long as what is inside; a warning says so.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/json/json_value.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

// Of RecordScope: ranges that the program names.
constexpr int64_t kUserScope = 7;
// Nodes of the observer's own: the process and its threads.
constexpr std::string_view kFrame = "[pytorch|profiler|execution_";

struct TraceNode {
  int64_t id = -1;
  int64_t parent = -1;
  int64_t thread = 0;
  NameId name;
  NameId detail;
  int64_t scope = 0;
  bool frame = false;
  std::vector<uint32_t> children;
};

class ExecutionTraceReader {
 public:
  ExecutionTraceReader(const std::string& path, JsonStream stream) : stream_(std::move(stream)) {
    trace_.path = path;
    trace_.format = "pytorch-et";
  }

  StatusOr<Trace> read() {
    while (true) {
      DFSIM_ASSIGN_OR_RETURN(const JsonItem item, stream_.next());
      if (item.kind == JsonItem::Kind::kEnd) {
        break;
      }
      if (item.kind == JsonItem::Kind::kElement) {
        ++trace_.events;
        read_node(item.json);
      }
    }
    link();
    place();
    warn_of_repairs(stream_, &trace_);
    if (trace_.spans.empty()) {
      return nothing_usable(trace_, "nodes");
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  // A number, or the first one of a list.
  static int64_t integer(const JsonValue& object, std::string_view key, int64_t otherwise) {
    int64_t value = otherwise;
    const JsonValue field = object[key];
    (field.is(JsonKind::kArray) ? field.at("/0") : field).get(&value);
    return value;
  }

  // Newer files have {"inputs": {"shapes", "types"}}, older ones "input_shapes", "input_types".
  void read_operands(const JsonValue& object, TraceNode* node) {
    JsonValue shapes = object["inputs"]["shapes"];
    JsonValue types = object["inputs"]["types"];
    if (shapes.is(JsonKind::kMissing) || types.is(JsonKind::kMissing)) {
      shapes = object["input_shapes"];
      types = object["input_types"];
    }
    const std::string text = types.is(JsonKind::kMissing) ? "" : shapes.minified();
    if (text.size() > 2) {
      node->detail = trace_.intern(text + " " + types.minified());
    }
  }

  void read_node(std::string_view json) {
    JsonValue object;
    std::string_view name;
    TraceNode node;
    if (!parser_.parse(json, &object) || !object["name"].get(&name) ||
        (node.id = integer(object, "id", -1)) < 0) {
      trace_.warn("nodes without id and name, left out", trace_.events);
      return;
    }
    node.name = trace_.intern(name);
    node.frame = name.starts_with(kFrame);
    node.parent = integer(object, "parent", integer(object, "ctrl_deps", -1));
    node.thread = integer(object, "tid", 0);
    node.scope = integer(object, "scope", 0);
    object["attrs"].each_element([&node](const JsonValue& attribute) {
      std::string_view key;
      if (attribute["name"].get(&key) && (key == "tid" || key == "scope")) {
        (key == "tid" ? node.thread : node.scope) = integer(attribute, "value", 0);
      }
    });
    read_operands(object, &node);
    if (!index_.try_emplace(node.id, static_cast<uint32_t>(nodes_.size())).second) {
      trace_.warn("nodes with the id of another one, left out", trace_.events);
      return;
    }
    nodes_.push_back(std::move(node));
  }

  void link() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const auto parent = index_.find(nodes_[i].parent);
      if (parent == index_.end() || parent->second == i) {
        roots_.push_back(i);
      } else {
        nodes_[parent->second].children.push_back(i);
      }
    }
    const auto by_id = [this](uint32_t a, uint32_t b) { return nodes_[a].id < nodes_[b].id; };
    std::sort(roots_.begin(), roots_.end(), by_id);
    for (TraceNode& node : nodes_) {
      std::sort(node.children.begin(), node.children.end(), by_id);
    }
  }

  // Depth first, without recursion: files may nest as deep as they like.
  void place() {
    struct Visit {
      uint32_t node;
      double start_us;
      size_t next_child;
    };
    double now_us = 0;
    size_t visited = 0;
    for (const uint32_t root : roots_) {
      std::vector<Visit> stack = {{root, now_us, 0}};
      while (!stack.empty()) {
        Visit& visit = stack.back();
        const TraceNode& node = nodes_[visit.node];
        if (visit.next_child < node.children.size()) {
          const uint32_t child = node.children[visit.next_child++];
          stack.push_back({child, now_us, 0});
          continue;
        }
        if (node.children.empty() && !node.frame) {
          now_us += 1;
          ++steps_;
        }
        add_span(node, visit.start_us, now_us);
        stack.pop_back();
        ++visited;
      }
    }
    if (visited < nodes_.size()) {
      trace_.warn("nodes that are their own ancestors, left out", 0,
                  static_cast<int64_t>(nodes_.size() - visited));
    }
    if (steps_ > 0) {
      trace_.warn("operators without a time, as the format has none: each counts as 1 us", 0,
                  steps_);
    }
  }

  void add_span(const TraceNode& node, double start_us, double end_us) {
    if (node.frame) {
      return;
    }
    Span span;
    span.start_us = start_us;
    span.end_us = end_us;
    span.name = node.name;
    span.detail = node.detail;
    span.track = trace_.track_of("host", fmt::format("thread {}", node.thread));
    span.kind = node.scope == kUserScope ? SpanKind::kAnnotation : SpanKind::kOp;
    trace_.spans.push_back(span);
  }

  JsonStream stream_;
  Trace trace_;
  JsonParser parser_;
  std::vector<TraceNode> nodes_;
  std::vector<uint32_t> roots_;
  std::unordered_map<int64_t, uint32_t> index_;
  int64_t steps_ = 0;
};

// Keys of the top object; objects in other formats may have such keys too.
Sniff sniff_execution_trace(const TraceInput& input) {
  const bool found = input.kind() == TraceInput::Kind::kJson && input.head_has("\"nodes\"") &&
                     input.head_has("\"schema\"") && !input.head_has("\"traceEvents\"");
  return found ? Sniff::kMaybe : Sniff::kNo;
}

StatusOr<Trace> read_execution_trace(TraceInput input) {
  DFSIM_ASSIGN_OR_RETURN(JsonStream stream, input.json("nodes"));
  return ExecutionTraceReader(input.path(), std::move(stream)).read();
}

}  // namespace

TraceReader pytorch_et_trace_reader() {
  return {.name = "pytorch-et",
          .description = "PyTorch execution trace (ExecutionTraceObserver); has no times",
          .sniff = sniff_execution_trace,
          .read = read_execution_trace};
}

}  // namespace dfsim::inline datasets
