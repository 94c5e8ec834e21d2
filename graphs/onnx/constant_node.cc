#include <fmt/format.h>

#include "base/text.h"
#include "graphs/onnx/tensor_reader_internal.h"

namespace dfsim::inline graphs {
namespace {

void set_ints(const onnx::AttributeProto& attribute, bool list, onnx::TensorProto* tensor) {
  tensor->set_data_type(onnx::TensorProto::INT64);
  if (list) {
    *tensor->mutable_int64_data() = attribute.ints();
    tensor->add_dims(attribute.ints_size());
  } else {
    tensor->add_int64_data(attribute.i());
  }
}

void set_floats(const onnx::AttributeProto& attribute, bool list, onnx::TensorProto* tensor) {
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  if (list) {
    *tensor->mutable_float_data() = attribute.floats();
    tensor->add_dims(attribute.floats_size());
  } else {
    tensor->add_float_data(attribute.f());
  }
}

}  // namespace

onnx::TensorProto dense_header(const onnx::SparseTensorProto& sparse) {
  onnx::TensorProto dense;
  dense.set_name(sparse.values().name());
  dense.set_data_type(sparse.values().data_type());
  *dense.mutable_dims() = sparse.dims();
  return dense;
}

StatusOr<onnx::TensorProto> constant_of_node(const onnx::NodeProto& node) {
  if (node.output_size() != 1 || node.attribute_size() == 0) {
    return invalid_input(
        fmt::format("Constant '{}': expected one output and one value", printable(node.name())));
  }
  const auto& attribute = node.attribute(0);
  if (attribute.has_t()) {
    return attribute.t();
  }
  if (attribute.has_sparse_tensor()) {
    return dense_header(attribute.sparse_tensor());
  }
  onnx::TensorProto tensor;
  if (attribute.name() == "value_int" || attribute.name() == "value_ints") {
    set_ints(attribute, attribute.name() == "value_ints", &tensor);
  } else if (attribute.name() == "value_float" || attribute.name() == "value_floats") {
    set_floats(attribute, attribute.name() == "value_floats", &tensor);
  } else {
    tensor.set_data_type(onnx::TensorProto::STRING);
    if (attribute.name() == "value_strings") {
      tensor.add_dims(attribute.strings_size());
    }
  }
  return tensor;
}

}  // namespace dfsim::inline graphs
