// Calls of a model's own functions, replaced by their nodes.
#include <fmt/format.h>

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

}  // namespace

Status GraphReader::inline_function(const onnx::NodeProto& node,
                                    const onnx::FunctionProto& function) {
  const auto place = [&] {
    return fmt::format("function {} called by '{}'", printable(function.name(), 40),
                       printable(node.name()));
  };
  Frame frame;
  frame.depth = frame_ != nullptr ? frame_->depth + 1 : 1;
  *inlined_nodes_ += static_cast<size_t>(function.node_size()) + 1;
  if (frame.depth > kMaxCallDepth || *inlined_nodes_ > kMaxInlinedNodes) {
    return invalid_input(fmt::format(
        "calls of functions nest over {} deep or give over {} nodes; are they recursive?",
        kMaxCallDepth, kMaxInlinedNodes));
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
      // The outermost call is what the user can find.
      return frame.depth == 1 ? status.with_place(place()) : status;
    }
  }
  return ok_status();
}

}  // namespace dfsim::inline graphs
