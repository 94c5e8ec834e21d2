// Asks libonnx's shape inference about one operator for which dfsim has no rule: a model of that
// single node, with the shapes that are known as its inputs. Data propagation stays off, because
// libonnx crashes in it on unknown operators.
#include "graphs/onnx/fallback_internal.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <exception>

#include "base/text.h"
#include "graphs/onnx/tensor_reader_internal.h"
#include "graphs/ops/onnx_dtype.h"

namespace dfsim::inline graphs {
namespace {

int32_t onnx_code(DType dtype) {
  constexpr int kCodes = 24;
  for (int code = 1; code < kCodes; ++code) {
    if (dtype_from_onnx(code) == dtype) {
      return code;
    }
  }
  return 0;
}

void describe_input(const GraphBuilder& builder, TensorId id, onnx::GraphProto* graph) {
  const Tensor& tensor = builder.tensor(id);
  onnx::ValueInfoProto* info = graph->add_input();
  info->set_name(tensor.name);
  auto* type = info->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx_code(tensor.dtype));
  if (tensor.shape.has_rank()) {
    auto* shape = type->mutable_shape();
    for (const Dim dim : tensor.shape.dims()) {
      auto* added = shape->add_dim();
      if (dim.known()) {
        added->set_dim_value(dim.extent());
      }
    }
  }
  const ConstValue* value = builder.constant(id);
  if (value != nullptr && value->dtype == DType::kInt64) {
    onnx::TensorProto* initializer = graph->add_initializer();
    initializer->set_name(tensor.name);
    initializer->set_data_type(onnx::TensorProto::INT64);
    for (const int64_t extent : value->extents) {
      initializer->add_dims(extent);
    }
    for (const int64_t element : value->ints) {
      initializer->add_int64_data(element);
    }
  }
}

}  // namespace

OnnxFallback::OnnxFallback(const onnx::ModelProto& model) : model_(model) {}

std::string OnnxFallback::infer(GraphBuilder& builder, OpId id) const {
  const Op& op = builder.op(id);
  if (by_output_.empty()) {
    for (const auto& node : model_.graph().node()) {
      for (const auto& output : node.output()) {
        by_output_.emplace(output, &node);
      }
    }
  }
  const std::string unknown = fmt::format("operator {}{} of opset {} is not known",
                                          op.domain.empty() ? "" : printable(op.domain, 40) + "::",
                                          printable(op.op_type, 40), op.version);
  constexpr int kNewestOpsetOfLibonnx = 17;
  if (!op.domain.empty() || op.version > kNewestOpsetOfLibonnx || op.outputs.empty() ||
      onnx::OpSchemaRegistry::Schema(op.op_type, op.version, "") == nullptr) {
    return unknown;
  }
  const auto node = by_output_.end();
  const onnx::NodeProto* found = nullptr;
  for (const TensorId output : op.outputs) {
    const auto it = output.valid() ? by_output_.find(builder.tensor(output).name) : node;
    found = it != by_output_.end() ? it->second : found;
  }
  if (found == nullptr) {
    return unknown;
  }
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto* opset = model.add_opset_import();
  opset->set_version(op.version);
  onnx::GraphProto* graph = model.mutable_graph();
  *graph->add_node() = *found;
  for (const TensorId input : op.inputs) {
    if (input.valid()) {
      describe_input(builder, input, graph);
    }
  }
  try {
    onnx::shape_inference::InferShapes(model);
  } catch (const std::exception& error) {
    return fmt::format("shape inference of libonnx failed: {}", printable(error.what(), 120));
  }
  for (const auto& info : graph->value_info()) {
    const TensorId output = builder.find_tensor(info.name());
    const auto type = read_type(info.type(), &builder);
    if (output.valid() && type.ok()) {
      builder.tensor(output).dtype = type->dtype;
      builder.tensor(output).shape = type->shape;
    }
  }
  return fmt::format("libonnx finds no static shape for {} of opset {}", printable(op.op_type, 40),
                     op.version);
}

}  // namespace dfsim::inline graphs
