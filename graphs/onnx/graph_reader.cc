// Walks a GraphProto and fills a GraphBuilder: constants, inputs, nodes with their subgraphs,
// outputs. Subgraphs are read with the same code into builders of their own; what they capture
// from the graph around them becomes additional inputs. Names inside functions get a prefix,
// because two calls of one function must not share tensors.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "graphs/onnx/graph_reader_internal.h"
#include "graphs/onnx/tensor_reader_internal.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/values/stored_constant.h"

namespace dfsim::inline graphs {

Status GraphReader::read_main(const onnx::GraphProto& graph) {
  DFSIM_RETURN_IF_ERROR(check_calls(graph));
  DFSIM_RETURN_IF_ERROR(read(graph));
  return check_producers();
}

Status GraphReader::read(const onnx::GraphProto& graph) {
  DFSIM_RETURN_IF_ERROR(add_initializers(graph));
  DFSIM_RETURN_IF_ERROR(add_inputs(graph));
  DFSIM_RETURN_IF_ERROR(add_nodes(graph));
  return add_outputs(graph);
}

StatusOr<Graph> GraphReader::read_body(const onnx::GraphProto& graph) {
  GraphBuilder body;
  body.info().name = graph.name();
  GraphReader reader(scope_, *opsets_, inlined_nodes_, &body);
  // Subgraphs in a function see the function's attributes, but name their own tensors.
  Frame frame;
  if (frame_ != nullptr) {
    frame.call = frame_->call;
    frame.opsets = frame_->opsets;
    frame.depth = frame_->depth;
    reader.frame_ = &frame;
  }
  DFSIM_RETURN_IF_ERROR(reader.read(graph));
  std::vector<std::string> captured;
  for (size_t i = 0; i < body.tensor_count(); ++i) {
    if (reader.is_missing(TensorId(i))) {
      captured.push_back(body.tensor(TensorId(i)).name);
    }
  }
  std::sort(captured.begin(), captured.end());
  for (const std::string& name : captured) {
    body.mark_input(body.find_tensor(name));
    body.info().captures.push_back(scoped_name(name));
  }
  return body.build();
}

std::string GraphReader::scoped_name(const std::string& name) const {
  if (frame_ == nullptr) {
    return name;
  }
  const auto it = frame_->names.find(name);
  return it != frame_->names.end() ? it->second : frame_->prefix + name;
}

Status GraphReader::add_constant_tensor(const onnx::TensorProto& proto, const std::string& name) {
  if (name.empty()) {
    return invalid_input(
        "an initializer or Constant has no name; expected one that nodes can read");
  }
  DFSIM_ASSIGN_OR_RETURN(Shape shape, read_dims(proto));
  const DType dtype = dtype_from_onnx(proto.data_type());
  if (shape.elements().overflowed() || dtype_bytes(dtype, shape.elements()).overflowed()) {
    return invalid_input(fmt::format("tensor '{}' of shape {} does not fit in 63 bits",
                                     printable(name), format_shape(shape)));
  }
  auto value = read_value(proto);
  const TensorId id = builder_.tensor_by_name(name);
  Tensor& tensor = builder_.tensor(id);
  if (tensor.producer.valid() || tensor.role != TensorRole::kActivation) {
    return invalid_input(fmt::format("tensor '{}' is defined twice", printable(name)));
  }
  tensor.dtype = dtype;
  tensor.role = role_of_stored(dtype, shape, value.has_value());
  tensor.shape = std::move(shape);
  if (value) {
    builder_.set_constant(id, std::move(*value));
  }
  return ok_status();
}

Status GraphReader::add_initializers(const onnx::GraphProto& graph) {
  for (const auto& initializer : graph.initializer()) {
    DFSIM_RETURN_IF_ERROR(add_constant_tensor(initializer, initializer.name()));
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    DFSIM_RETURN_IF_ERROR(add_constant_tensor(dense_header(sparse), sparse.values().name()));
  }
  return ok_status();
}

Status GraphReader::add_inputs(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> seen;
  for (const auto& input : graph.input()) {
    if (input.name().empty()) {
      return invalid_input("a graph input has no name; expected one that nodes can read");
    }
    if (!seen.insert(input.name()).second) {
      return invalid_input(
          fmt::format("graph input '{}' is declared twice", printable(input.name())));
    }
    const TensorId id = builder_.tensor_by_name(input.name());
    if (builder_.tensor(id).role != TensorRole::kActivation) {
      continue;  // an initializer that is listed as an input, too
    }
    auto type = read_type(input.type(), &builder_);
    if (!type.ok()) {
      return type.status().with_place(fmt::format("graph input '{}'", printable(input.name())));
    }
    builder_.tensor(id).dtype = type->dtype;
    builder_.tensor(id).shape = type->shape;
    builder_.tensor(id).is_sequence = type->is_sequence;
    builder_.mark_input(id);
  }
  return ok_status();
}

Status GraphReader::add_nodes(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    DFSIM_RETURN_IF_ERROR(add_node(node));
  }
  return ok_status();
}

Status GraphReader::add_node(const onnx::NodeProto& node) {
  const std::string domain = canonical_domain(node.domain());
  if (const auto it = scope_.functions.find({domain, node.op_type()});
      it != scope_.functions.end()) {
    return inline_function(node, *it->second);
  }
  if (domain.empty() && node.op_type() == "Constant") {
    DFSIM_ASSIGN_OR_RETURN(const onnx::TensorProto tensor, constant_of_node(node));
    return add_constant_tensor(tensor, scoped_name(node.output(0)));
  }
  Op op;
  op.name = frame_ != nullptr ? frame_->prefix + node.name() : node.name();
  op.op_type = node.op_type();
  op.domain = domain;
  op.version = scope_.version_of(
      frame_ != nullptr && frame_->opsets != nullptr ? *frame_->opsets : *opsets_, domain);
  for (const auto& input : node.input()) {
    op.inputs.push_back(input.empty() ? TensorId() : builder_.tensor_by_name(scoped_name(input)));
  }
  for (const auto& output : node.output()) {
    op.outputs.push_back(output.empty() ? TensorId()
                                        : builder_.tensor_by_name(scoped_name(output)));
  }
  DFSIM_ASSIGN_OR_RETURN(op.attributes, read_attributes(node));
  DFSIM_RETURN_IF_ERROR(add_subgraphs(node, &op));
  return builder_.add_op(std::move(op)).status();
}

Status GraphReader::add_subgraphs(const onnx::NodeProto& node, Op* op) {
  std::vector<std::string> names;
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) {
      continue;
    }
    auto body = read_body(attribute.g());
    if (!body.ok()) {
      return body.status().with_place(fmt::format("{} of {} '{}'", printable(attribute.name(), 40),
                                                  printable(node.op_type(), 40),
                                                  printable(node.name())));
    }
    const auto& captures = body->info().captures;
    names.insert(names.end(), captures.begin(), captures.end());
    op->attributes.set(attribute.name(), std::make_shared<const Graph>(std::move(*body)));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    op->inputs.push_back(builder_.tensor_by_name(name));
  }
  op->capture_count = static_cast<uint32_t>(names.size());
  return ok_status();
}

Status GraphReader::add_outputs(const onnx::GraphProto& graph) {
  for (const auto& output : graph.output()) {
    // In a subgraph this may be a tensor of the graph around it.
    const TensorId id = builder_.tensor_by_name(output.name());
    if (!builder_.tensor(id).is_output) {
      builder_.mark_output(id);
      continue;
    }
    // Returned twice, as loops do with a state of which each value is kept.
    Op copy;
    copy.op_type = "Identity";
    copy.version = scope_.version_of(*opsets_, "");
    copy.inputs = {id};
    Tensor again;
    again.name = output.name();
    copy.outputs = {builder_.add_tensor(std::move(again))};
    builder_.mark_output(copy.outputs[0]);
    DFSIM_RETURN_IF_ERROR(builder_.add_op(std::move(copy)).status());
  }
  return ok_status();
}

bool GraphReader::is_missing(TensorId id) const {
  const Tensor& tensor = builder_.tensor(id);
  return !tensor.producer.valid() && !tensor.is_input && tensor.role == TensorRole::kActivation;
}

// Every tensor that is read or returned must come from somewhere.
Status GraphReader::check_producers() const {
  for (size_t i = 0; i < builder_.op_count(); ++i) {
    const Op& op = builder_.op(OpId(i));
    for (const TensorId input : op.inputs) {
      if (input.valid() && is_missing(input)) {
        return invalid_input(fmt::format("{} '{}' reads tensor '{}', which nothing produces",
                                         printable(op.op_type, 40), printable(op.name),
                                         printable(builder_.tensor(input).name)));
      }
    }
  }
  for (const TensorId output : builder_.outputs()) {
    if (is_missing(output)) {
      return invalid_input(fmt::format("graph output '{}' is produced by no node",
                                       printable(builder_.tensor(output).name)));
    }
  }
  return ok_status();
}

}  // namespace dfsim::inline graphs
