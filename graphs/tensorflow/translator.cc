// Translates nodes in the order of node_graph.h, each by its rule in rules/. Control flow,
// variables, calls and padding that becomes a convolution's own are handled here, because they
// concern several nodes. A node without a rule becomes an operator that stays unresolved, with
// the reason.
#include "graphs/tensorflow/translator_internal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/ops/values/stored_constant.h"
#include "graphs/tensorflow/control/roots_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMaxTranslatedDepth = 64;
constexpr size_t kMaxVisitedNodes = 1'000'000;

int64_t use_key(Source source) { return (int64_t{source.node} << 32) | source.output; }

bool is_variable_op(const std::string& type) {
  return type == "VarHandleOp" || type == "VariableV2" || type == "Variable" ||
         type == "TemporaryVariable" || type == "AutoReloadVariable";
}

bool takes_pads(const std::string& type) {
  return type == "Conv2D" || type == "DepthwiseConv2dNative" || type == "Conv3D";
}

// Calls by TensorFlow's own names say nothing: their nodes are named without them.
bool is_plain_call_name(const std::string& name) {
  return name.find("PartitionedCall") != std::string::npos;
}

}  // namespace

void add_effects(const NodeGraph& function, std::vector<Source>* roots) {
  for (const int32_t update : function.control_returns()) {
    roots->push_back({update, Source::kNoOutput});
  }
}

void Translator::preset(int32_t node, std::vector<ValueId> outputs) {
  values_[node] = std::move(outputs);
}

ValueId Translator::value(Source source) const {
  if (source.is_argument()) {
    const auto i = static_cast<size_t>(source.output);
    return i < arguments_.size() ? arguments_[i] : kNoValue;
  }
  const auto it = values_.find(source.node);
  const auto i = static_cast<size_t>(source.output);
  return it != values_.end() && i < it->second.size() ? it->second[i] : kNoValue;
}

SourceUse Translator::use(Source source) const {
  const auto it = uses_.find(use_key(source));
  return it != uses_.end() ? it->second : SourceUse();
}

size_t Translator::output_count(int32_t node) const {
  constexpr int32_t kMost = 64;
  int32_t count = 1;
  for (int32_t i = 1; i < kMost; ++i) {
    count = use({node, i}).count > 0 ? i + 1 : count;
  }
  return static_cast<size_t>(count);
}

Status Translator::run(const std::vector<Source>& roots) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<int32_t> order,
                         graph_.schedule(roots, shared_.options.branch, body_));
  shared_.visited_nodes += order.size();
  if (shared_.visited_nodes > kMaxVisitedNodes) {
    return invalid_input(fmt::format("calls of functions give over {} nodes; are they recursive?",
                                     kMaxVisitedNodes));
  }
  const auto count = [&](Source source, int32_t reader) {
    SourceUse& seen = uses_[use_key(source)];
    ++seen.count;
    seen.reader = reader;
  };
  for (const Source root : roots) {
    if (root.output != Source::kNoOutput) {
      count(root, -1);
    }
  }
  for (const int32_t node : order) {
    for (const Source source : graph_.dependencies(node, shared_.options.branch, body_)) {
      count(source, node);
    }
  }
  for (const int32_t node : order) {
    if (values_.contains(node)) {
      continue;  // preset
    }
    DFSIM_RETURN_IF_ERROR(translate(node));
    DFSIM_RETURN_IF_ERROR(emitter_.status());
    note_update(node);
  }
  return ok_status();
}

// Those of the main graph are among the roots already.
void Translator::note_update(int32_t node) {
  if (depth_ == 0 || &emitter_ != shared_.outermost || !changes_variable(graph_.op(node))) {
    return;
  }
  if (const ValueId result = value({node, 0}); result != kNoValue) {
    shared_.updates.push_back(result);
  }
}

std::vector<ValueId> Translator::inputs_of(int32_t node) const {
  std::vector<ValueId> inputs;
  for (const Source source : graph_.node(node).inputs) {
    inputs.push_back(value(source));
  }
  return inputs;
}

Status Translator::translate(int32_t node) {
  const std::string& type = graph_.op(node);
  if (type == "Const" || type == "HostConst") {
    add_constant(node);
    return ok_status();
  }
  if (is_variable_op(type)) {
    add_variable(node);
    return ok_status();
  }
  if (type == "PartitionedCall" || type == "StatefulPartitionedCall") {
    const tf::AttrValue* function = find_attribute(*graph_.node(node).def, "f");
    return call_function(node, function != nullptr ? function->func().name() : "");
  }
  if (shared_.source.function(type) != nullptr) {
    return call_function(node, type);
  }
  if (type == "If" || type == "StatelessIf" || type == "Case" || type == "StatelessCase") {
    return translate_if(node);
  }
  if (type == "While" || type == "StatelessWhile") {
    return translate_while(node);
  }
  if (graph_.frame_of_exit(node) != nullptr && graph_.frame_of_exit(node) != body_) {
    return leave_frame(node);
  }
  if (type == "Merge" || type == "RefMerge") {
    return merge(node);
  }
  if (defer_pad(node) || fold_into_product(node)) {
    return ok_status();
  }
  if (const TfRule* rule = find_tf_rule(type)) {
    return translate_by_rule(node, *rule);
  }
  emit_unknown(node, fmt::format("operator tensorflow::{} is not known", printable(type, 40)));
  return ok_status();
}

Status Translator::translate_by_rule(int32_t node, const TfRule& rule) {
  NodeContext context(emitter_, *graph_.node(node).def, name_of(node), inputs_of(node));
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!rule.tolerant && !context.shape(i).is_static()) {
      emit_unknown(node, fmt::format("its input '{}' has an unknown shape",
                                     printable(graph_.node(node).def->input(static_cast<int>(i)))));
      return ok_status();
    }
  }
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.shape(i).is_static() && context.shape(i).elements().overflowed()) {
      context.error(fmt::format("input {} of shape {} does not fit in 63 bits", i,
                                printable(format_shape(context.shape(i)), 120)));
      return emitter_.status();
    }
  }
  for (size_t i = 0; i < rule.required_inputs; ++i) {
    if (!context.has_input(i)) {
      context.error(
          fmt::format("input {} is missing; expected at least {}", i, rule.required_inputs));
      return emitter_.status();
    }
  }
  rule.translate(context, rule.target);
  if (!context.unresolved_reason().empty() && emitter_.status().ok()) {
    emit_unknown(node, context.unresolved_reason());
    return ok_status();
  }
  values_[node] = context.outputs();
  return emitter_.status();
}

void Translator::emit_unknown(int32_t node, const std::string& reason) {
  const tf::NodeDef& def = *graph_.node(node).def;
  NodeContext context(emitter_, def, name_of(node), inputs_of(node));
  std::vector<std::pair<DType, Shape>> outputs(output_count(node));
  const tf::AttrValue* declared = find_attribute(def, "_output_shapes");
  const tf::AttrValue* types = find_attribute(def, "Tout");
  bool resolved = shared_.options.use_declared_shapes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto k = static_cast<int>(i);
    for (const char* attribute : {"dtype", "out_type", "output_type", "T"}) {
      outputs[i].first =
          outputs[i].first != DType::kUnknown ? outputs[i].first : context.attr_dtype(attribute);
    }
    if (types != nullptr && k < types->list().type_size()) {
      outputs[i].first = dtype_from_tf(types->list().type(k));
    }
    if (declared != nullptr && k < declared->list().shape_size() && resolved) {
      outputs[i].second = shape_from_tf(declared->list().shape(k)).value_or(Shape());
    }
    resolved = resolved && outputs[i].second.is_static();
  }
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (const TensorId input = context.plain(i); input.valid()) {
      inputs.push_back(input);
    }
  }
  const auto results =
      emitter_.emit_opaque(def.op(), context.name(), std::move(inputs), outputs,
                           resolved ? reason + "; the file declares its shape" : reason);
  for (const TensorId result : results) {
    values_[node].push_back(emitter_.add_plain(result));
  }
}

void Translator::add_constant(int32_t node) {
  const tf::AttrValue* attribute = find_attribute(*graph_.node(node).def, "value");
  if (attribute == nullptr || !attribute->has_tensor()) {
    emitter_.fail(invalid_input(
        fmt::format("Const '{}': has no value", printable(graph_.node(node).def->name()))));
    return;
  }
  const tf::TensorProto& proto = attribute->tensor();
  const auto shape = shape_from_tf(proto.tensor_shape());
  Tensor tensor;
  tensor.name = name_of(node);
  tensor.dtype = dtype_from_tf(proto.dtype());
  if (!shape || !shape->is_static() || shape->elements().overflowed() ||
      dtype_bytes(tensor.dtype, shape->elements()).overflowed()) {
    emitter_.fail(invalid_input(fmt::format(
        "Const '{}': its shape cannot be that of a constant; expected extents from 0 to "
        "{} whose bytes fit in 63 bits",
        printable(graph_.node(node).def->name()), kMaxExtent)));
    return;
  }
  auto value = value_from_tf(proto);
  tensor.role = role_of_stored(tensor.dtype, *shape, value.has_value());
  tensor.shape = *shape;
  const TensorId id = emitter_.add_tensor(std::move(tensor));
  if (value) {
    emitter_.builder().set_constant(id, std::move(*value));
  }
  values_[node] = {emitter_.add_plain(id)};
}

void Translator::add_variable(int32_t node) {
  NodeContext context(emitter_, *graph_.node(node).def, name_of(node), {});
  Tensor tensor;
  tensor.name = context.name();
  tensor.dtype = context.attr_dtype("dtype");
  tensor.role = TensorRole::kWeight;
  tensor.shape = context.attr_shape("shape").value_or(Shape());
  if (tensor.shape.is_static() &&
      (tensor.shape.elements().overflowed() ||
       dtype_bytes(tensor.dtype, tensor.shape.elements()).overflowed())) {
    context.error("its shape does not fit in 63 bits");
    return;
  }
  values_[node] = {emitter_.add_plain(emitter_.add_tensor(std::move(tensor)))};
}

StatusOr<const NodeGraph*> Translator::function_graph(const std::string& name) {
  auto& cached = shared_.functions[name];
  if (cached == nullptr) {
    const tf::FunctionDef* function = shared_.source.function(name);
    if (function == nullptr) {
      return invalid_input(
          fmt::format("calls function '{}', which the file does not define", printable(name)));
    }
    DFSIM_ASSIGN_OR_RETURN(NodeGraph graph, NodeGraph::of_function(shared_.source, *function));
    cached = std::make_unique<NodeGraph>(std::move(graph));
  }
  return cached.get();
}

Status Translator::call_function(int32_t node, const std::string& name) {
  const auto place = [&] {
    return fmt::format("{} '{}'", printable(graph_.op(node), 40), printable(name_of(node)));
  };
  if (depth_ >= kMaxTranslatedDepth) {
    return invalid_input(
        fmt::format("{}: calls of functions nest over {} deep; are they recursive?", place(),
                    kMaxTranslatedDepth));
  }
  const auto function = function_graph(name);
  if (!function.ok()) {
    return function.status().with_place(place());
  }
  const NodeGraph& callee = **function;
  const std::string& call = graph_.node(node).def->name();
  const std::string prefix = is_plain_call_name(call) ? prefix_ : prefix_ + call + "/";
  Translator inner(shared_, emitter_, callee, inputs_of(node), prefix, depth_ + 1);
  std::vector<Source> roots;
  for (size_t i = 0; i < callee.returns().size(); ++i) {
    if (use({node, static_cast<int32_t>(i)}).count > 0) {
      roots.push_back(callee.returns()[i]);
    }
  }
  add_effects(callee, &roots);
  DFSIM_RETURN_IF_ERROR(inner.run(roots));
  std::vector<ValueId> results;
  for (const Source source : callee.returns()) {
    results.push_back(inner.value(source));
  }
  values_[node] = std::move(results);
  return ok_status();
}

Status Translator::merge(int32_t node) {
  bool certain = false;
  const int choice = graph_.merge_choice(node, shared_.options.branch, &certain);
  if (!certain) {
    shared_.open_branches.push_back(name_of(node));
  }
  const auto& inputs = graph_.node(node).inputs;
  const ValueId taken = inputs.empty() ? kNoValue : value(inputs[static_cast<size_t>(choice)]);
  const TensorId index =
      emitter_.add_constant({DType::kInt32, {}, {choice}, {}}, name_of(node) + ":1");
  values_[node] = {taken, emitter_.add_plain(index)};
  return ok_status();
}

// A Pad with zeros that only a convolution without padding reads becomes its padding: what
// TensorFlow, oneDNN and ONNX Runtime make of it.
bool Translator::defer_pad(int32_t node) {
  const SourceUse only = use({node, 0});
  if (graph_.op(node) != "Pad" || only.count != 1 || only.reader < 0 ||
      !takes_pads(graph_.op(only.reader)) ||
      graph_.node(only.reader).inputs[0] != Source{node, 0}) {
    return false;
  }
  NodeContext pad(emitter_, *graph_.node(node).def, name_of(node), inputs_of(node));
  NodeContext reader(emitter_, *graph_.node(only.reader).def, "", {});
  const auto rows = pad.ints(1);
  const int rank = pad.rank(0);
  if (!rows || rank < 3 || static_cast<int>(rows->size()) != 2 * rank ||
      reader.attr_string("padding", "") != "VALID") {
    return false;
  }
  const int first = reader.is_nchw() ? 2 : 1;
  const auto spatial = static_cast<size_t>(rank - 2);
  std::vector<int64_t> pads(2 * spatial);
  int64_t others = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const size_t row = 2 * static_cast<size_t>(axis);
    const int64_t begin = (*rows)[row];
    const int64_t end = (*rows)[row + 1];
    const bool is_spatial = axis >= first && axis < first + rank - 2;
    if (begin < 0 || end < 0 || begin > kMaxExtent || end > kMaxExtent) {
      return false;
    }
    if (is_spatial) {
      pads[static_cast<size_t>(axis - first)] = begin;
      pads[static_cast<size_t>(axis - first) + spatial] = end;
    } else {
      others += begin + end;
    }
  }
  if (others != 0) {
    return false;
  }
  // Both layouts, so that the copy does not have to move the data again.
  if (!reader.is_nchw()) {
    emitter_.channels_first(pad.input(0));
  }
  Value padded = emitter_.value(pad.input(0));
  padded.deferred_pads = std::move(pads);
  values_[node] = {emitter_.add(std::move(padded))};
  return true;
}

}  // namespace dfsim::inline graphs
