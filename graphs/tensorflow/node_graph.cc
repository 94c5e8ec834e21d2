// Nodes of a graph or function with their inputs resolved from text ("name:2", "^name") to
// indices, and the order in which to translate them. Identity nodes are skipped when an input is
// resolved.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <queue>
#include <unordered_set>

#include "base/text.h"
#include "graphs/tensorflow/node_graph_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int32_t kMostOutputs = 1 << 20;

Status node_error(const tf::NodeDef& node, const std::string& message) {
  return invalid_input(
      fmt::format("{} '{}': {}", printable(node.op(), 40), printable(node.name()), message));
}

std::optional<int32_t> parse_index(std::string_view text) {
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 && value < kMostOutputs ? std::optional(value) : std::nullopt;
}

}  // namespace

bool is_identity_op(std::string_view op) {
  static const std::unordered_set<std::string_view> kOps = {"Identity",
                                                            "StopGradient",
                                                            "PreventGradient",
                                                            "CheckNumerics",
                                                            "Snapshot",
                                                            "EnsureShape",
                                                            "ReadVariableOp",
                                                            "CopyHost",
                                                            "Copy",
                                                            "DebugIdentity",
                                                            "RefIdentity",
                                                            "Switch",
                                                            "RefSwitch",
                                                            "Enter",
                                                            "RefEnter",
                                                            "Exit",
                                                            "NextIteration",
                                                            "PlaceholderWithDefault",
                                                            "_Retval",
                                                            "OptimizationBarrier",
                                                            "ReadVariableXlaSplitND",
                                                            "CheckNumericsV2",
                                                            "LoopCond"};
  return kOps.contains(op);
}

StatusOr<NodeGraph> NodeGraph::of_graph(const TfSource& source) {
  NodeGraph graph;
  DFSIM_RETURN_IF_ERROR(graph.add_nodes(source.graph().node()));
  DFSIM_RETURN_IF_ERROR(graph.resolve_inputs(source, /*in_function=*/false));
  DFSIM_RETURN_IF_ERROR(graph.find_frames());
  return graph;
}

StatusOr<NodeGraph> NodeGraph::of_function(const TfSource& source,
                                           const tf::FunctionDef& function) {
  NodeGraph graph;
  const auto place = [&] {
    return fmt::format("function '{}'", printable(function.signature().name()));
  };
  for (const tf::OpDef::ArgDef& argument : function.signature().input_arg()) {
    graph.arguments_.emplace(argument.name(), static_cast<int32_t>(graph.arguments_.size()));
  }
  for (const Status& status :
       {graph.add_nodes(function.node_def()), graph.resolve_inputs(source, /*in_function=*/true)}) {
    if (!status.ok()) {
      return status.with_place(place());
    }
  }
  for (const tf::OpDef::ArgDef& result : function.signature().output_arg()) {
    const auto it = function.ret().find(result.name());
    if (it == function.ret().end()) {
      return invalid_input(
          fmt::format("{}: nothing is returned as '{}'", place(), printable(result.name())));
    }
    auto returned = graph.resolve(source, it->second, /*in_function=*/true);
    if (!returned.ok()) {
      return returned.status().with_place(place());
    }
    graph.returns_.push_back(*returned);
  }
  std::vector<int32_t> controls;
  for (const auto& [key, node] : function.control_ret()) {
    if (const auto it = graph.by_name_.find(node); it != graph.by_name_.end()) {
      controls.push_back(it->second);
    }
  }
  std::sort(controls.begin(), controls.end());
  graph.control_returns_ = std::move(controls);
  const Status frames = graph.find_frames();
  return frames.ok() ? StatusOr<NodeGraph>(std::move(graph)) : frames.with_place(place());
}

Status NodeGraph::add_nodes(const google::protobuf::RepeatedPtrField<tf::NodeDef>& nodes) {
  nodes_.reserve(static_cast<size_t>(nodes.size()));
  for (const tf::NodeDef& def : nodes) {
    if (def.name().empty()) {
      return node_error(def, "has no name; expected one");
    }
    if (!by_name_.emplace(def.name(), static_cast<int32_t>(nodes_.size())).second) {
      return node_error(def, "another node has the same name");
    }
    nodes_.push_back({&def, {}, {}});
  }
  return ok_status();
}

StatusOr<Source> NodeGraph::resolve(const TfSource& source, const std::string& text,
                                    bool in_function) const {
  const std::vector<std::string> parts = split(text, ':');
  const auto not_found = [&] {
    return invalid_input(fmt::format("reads '{}', which no node produces", printable(text)));
  };
  if (in_function) {
    if (const auto it = arguments_.find(parts[0]); it != arguments_.end()) {
      return Source{Source::kArgument, it->second};
    }
  }
  const auto it = by_name_.find(parts[0]);
  if (it == by_name_.end()) {
    return not_found();
  }
  if (parts.size() == 1) {
    return Source{it->second, 0};
  }
  const auto index = parse_index(parts.back());
  if (!index || parts.size() > 3 || (parts.size() == 3 && !in_function)) {
    return not_found();
  }
  if (parts.size() == 2) {
    return Source{it->second, *index};
  }
  const int flat = source.flat_output(*node(it->second).def, parts[1], *index);
  return flat < kMostOutputs ? StatusOr<Source>(Source{it->second, flat}) : not_found();
}

Status NodeGraph::resolve_inputs(const TfSource& source, bool in_function) {
  for (TfNode& node : nodes_) {
    for (const std::string& input : node.def->input()) {
      if (input.starts_with('^')) {
        const auto it = by_name_.find(std::string_view(input).substr(1));
        if (it != by_name_.end()) {
          node.controls.push_back(it->second);
        } else if (!arguments_.contains(std::string_view(input).substr(1))) {
          return node_error(*node.def,
                            fmt::format("waits for '{}', which does not exist", printable(input)));
        }
        continue;
      }
      auto resolved = resolve(source, input, in_function);
      if (!resolved.ok()) {
        return node_error(*node.def, resolved.status().message());
      }
      node.inputs.push_back(*resolved);
    }
  }
  return ok_status();
}

std::optional<Source> NodeGraph::find(const std::string& tensor) const {
  const size_t colon = tensor.rfind(':');
  const auto it = by_name_.find(std::string_view(tensor).substr(0, colon));
  if (it == by_name_.end()) {
    return std::nullopt;
  }
  const auto index = colon == std::string::npos
                         ? std::optional<int32_t>(0)
                         : parse_index(std::string_view(tensor).substr(colon + 1));
  return index ? std::optional(Source{it->second, *index}) : std::nullopt;
}

Source NodeGraph::skip_identities(Source source) const {
  constexpr int kMostSteps = 10'000;
  for (int step = 0; step < kMostSteps && !source.is_argument(); ++step) {
    const TfNode& at = node(source.node);
    if (!is_identity_op(at.def->op()) || at.inputs.empty() || at.inputs[0] == source) {
      break;
    }
    source = at.inputs[0];
  }
  return source;
}

std::vector<Source> NodeGraph::dependencies(int32_t index, std::optional<bool> branch,
                                            const LoopFrame* body) const {
  const TfNode& at = node(index);
  const std::string& type = at.def->op();
  const bool enter = type == "Enter" || type == "RefEnter";
  const LoopFrame* merged = frame_of_merge(index);
  if (body != nullptr && (merged == body || enter)) {
    return {};  // comes from outside of the trip
  }
  if (const LoopFrame* frame = frame_of_exit(index); frame != nullptr && frame != body) {
    std::vector<Source> outside;
    for (const auto* list : {&frame->enters, &frame->constant_enters}) {
      for (const int32_t node_index : *list) {
        outside.push_back(node(node_index).inputs[0]);
      }
    }
    return outside;
  }
  if (type == "Merge" && !at.inputs.empty()) {
    bool certain = false;
    return {at.inputs[static_cast<size_t>(merge_choice(index, branch, &certain))]};
  }
  if ((type == "Switch" || type == "RefSwitch") && !at.inputs.empty()) {
    return {at.inputs[0]};
  }
  return at.inputs;
}

StatusOr<std::vector<int32_t>> NodeGraph::schedule(const std::vector<Source>& roots,
                                                   std::optional<bool> branch,
                                                   const LoopFrame* body) const {
  std::vector<bool> needed(size(), false);
  std::vector<int32_t> work;
  const auto need = [&](Source source) {
    if (!source.is_argument() && !needed[static_cast<size_t>(source.node)]) {
      needed[static_cast<size_t>(source.node)] = true;
      work.push_back(source.node);
    }
  };
  std::for_each(roots.begin(), roots.end(), need);
  std::vector<std::vector<int32_t>> readers(size());
  std::vector<uint32_t> pending(size(), 0);
  size_t count = 0;
  while (!work.empty()) {
    const int32_t current = work.back();
    work.pop_back();
    ++count;
    for (const Source source : dependencies(current, branch, body)) {
      need(source);
      if (!source.is_argument()) {
        readers[static_cast<size_t>(source.node)].push_back(current);
        ++pending[static_cast<size_t>(current)];
      }
    }
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (size_t i = 0; i < size(); ++i) {
    if (needed[i] && pending[i] == 0) {
      ready.push(static_cast<int32_t>(i));
    }
  }
  std::vector<int32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const int32_t reader : readers[static_cast<size_t>(order.back())]) {
      if (--pending[static_cast<size_t>(reader)] == 0) {
        ready.push(reader);
      }
    }
  }
  if (order.size() != count) {
    for (size_t i = 0; i < size(); ++i) {
      if (needed[i] && pending[i] > 0) {
        return node_error(*nodes_[i].def,
                          "is part of a cycle that is not a loop; a dataflow graph must have none");
      }
    }
  }
  return order;
}

}  // namespace dfsim::inline graphs
