// Calls of a model's own functions, replaced by their nodes. A few lines of nested functions may
// stand for any number of nodes, so CallSizes counts them, function by function, before the first
// node is made.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "graphs/onnx/graph_reader_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMaxCallDepth = 64;
constexpr size_t kMaxInlinedNodes = 1'000'000;

// Puts the call's attributes where the function's nodes refer to them; one that the call leaves out
// is left out in the node, too.
void bind_attributes(const onnx::NodeProto* call, onnx::NodeProto* node) {
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size(); i-- > 0;) {
    auto* attribute = attributes->Mutable(i);
    if (attribute->has_g()) {
      for (auto& inner : *attribute->mutable_g()->mutable_node()) {
        bind_attributes(call, &inner);
      }
    }
    if (attribute->ref_attr_name().empty()) {
      continue;
    }
    const onnx::AttributeProto* actual = nullptr;
    for (const auto& candidate : call->attribute()) {
      actual = candidate.name() == attribute->ref_attr_name() ? &candidate : actual;
    }
    if (actual == nullptr) {
      attributes->DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = attribute->name();
    *attribute = *actual;
    attribute->set_name(name);
  }
}

Status too_many_calls() {
  return invalid_input(
      fmt::format("calls of functions nest over {} deep or give over {} nodes; are they recursive?",
                  kMaxCallDepth, kMaxInlinedNodes));
}

Status at_call(const Status& status, const onnx::FunctionProto& function,
               const onnx::NodeProto& node) {
  return status.with_place(fmt::format("function {} called by '{}'", printable(function.name(), 40),
                                       printable(node.name())));
}

// The nodes and the levels of calls that calls become.
struct CallSize {
  size_t nodes = 0;
  int levels = 0;
};

// O(nodes of the main graph and of the functions), however often each is called.
class CallSizes {
 public:
  explicit CallSizes(const ModelScope& scope) : scope_(scope) {}

  // All calls of `nodes`, which are inside `depth` calls.
  StatusOr<CallSize> of_nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                              int depth) {
    CallSize total;
    for (const auto& node : nodes) {
      const auto it = scope_.functions.find({canonical_domain(node.domain()), node.op_type()});
      if (it != scope_.functions.end()) {
        const auto call = of_function(*it->second, depth + 1);
        if (!call.ok()) {
          // The outermost call is what the user can find.
          return depth == 0 ? at_call(call.status(), *it->second, node) : call.status();
        }
        DFSIM_RETURN_IF_ERROR(add(*call, &total));
      }
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) {
          DFSIM_ASSIGN_OR_RETURN(const CallSize body, of_nodes(attribute.g().node(), depth));
          DFSIM_RETURN_IF_ERROR(add(body, &total));
        }
      }
    }
    return total;
  }

 private:
  static Status add(const CallSize& part, CallSize* total) {
    total->nodes += part.nodes;
    total->levels = std::max(total->levels, part.levels);
    return total->nodes > kMaxInlinedNodes ? too_many_calls() : ok_status();
  }

  // A call that is the `depth`th of its chain.
  StatusOr<CallSize> of_function(const onnx::FunctionProto& function, int depth) {
    const auto known = sizes_.find(&function);
    const int levels = known != sizes_.end() ? known->second.levels : 1;
    if (depth - 1 + levels > kMaxCallDepth) {
      return too_many_calls();
    }
    if (known != sizes_.end()) {
      return known->second;
    }
    DFSIM_ASSIGN_OR_RETURN(CallSize size, of_nodes(function.node(), depth));
    size.nodes += static_cast<size_t>(function.node_size()) + 1;
    size.levels += 1;
    sizes_.emplace(&function, size);
    return size;
  }

  const ModelScope& scope_;
  std::unordered_map<const onnx::FunctionProto*, CallSize> sizes_;
};

}  // namespace

Status GraphReader::check_calls(const onnx::GraphProto& graph) const {
  return CallSizes(scope_).of_nodes(graph.node(), 0).status();
}

Status GraphReader::inline_function(const onnx::NodeProto& node,
                                    const onnx::FunctionProto& function) {
  Frame frame;
  frame.depth = frame_ != nullptr ? frame_->depth + 1 : 1;
  *inlined_nodes_ += static_cast<size_t>(function.node_size()) + 1;
  if (frame.depth > kMaxCallDepth || *inlined_nodes_ > kMaxInlinedNodes) {
    return too_many_calls();
  }
  const std::string label =
      node.name().empty() ? fmt::format("{}_{}", function.name(), calls_++) : node.name();
  frame.prefix = (frame_ != nullptr ? frame_->prefix : "") + label + "/";
  for (int i = 0; i < function.input_size() && i < node.input_size(); ++i) {
    frame.names.emplace(function.input(i), node.input(i).empty() ? "" : scoped_name(node.input(i)));
  }
  for (int i = function.input_size(); i-- > node.input_size();) {
    frame.names.emplace(function.input(i), "");  // left out by the call
  }
  for (int i = 0; i < function.output_size() && i < node.output_size(); ++i) {
    if (!node.output(i).empty()) {
      frame.names.emplace(function.output(i), scoped_name(node.output(i)));
    }
  }
  Opsets opsets;
  for (const auto& entry : function.opset_import()) {
    opsets[canonical_domain(entry.domain())] = static_cast<int>(entry.version());
  }
  frame.opsets = &opsets;
  const Frame* outer = frame_;
  for (const auto& inner : function.node()) {
    onnx::NodeProto bound = inner;
    bind_attributes(&node, &bound);
    // A formal input that the call leaves out is left out in the nodes that read it.
    for (std::string& input : *bound.mutable_input()) {
      const auto it = frame.names.find(input);
      input = it != frame.names.end() && it->second.empty() ? "" : input;
    }
    frame_ = &frame;
    const Status status = add_node(bound);
    frame_ = outer;
    if (!status.ok()) {
      return frame.depth == 1 ? at_call(status, function, node) : status;
    }
  }
  return ok_status();
}

}  // namespace dfsim::inline graphs
