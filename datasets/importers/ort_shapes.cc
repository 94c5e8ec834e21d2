#include "datasets/importers/ort_shapes.h"

#include "datasets/events/json_text.h"
#include "datasets/importers/op_names.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

DType ort_dtype(std::string_view name) {
  if (name == "float") {
    return DType::kFloat32;
  }
  if (name == "double") {
    return DType::kFloat64;
  }
  return dtype_from_name(name);
}

}  // namespace

bool parse_ort_shapes(std::string_view json, TensorList* tensors) {
  std::string unescaped;
  if (json.starts_with('"')) {
    for (const char c : unquote_json(json)) {
      if (c != '\\') {
        unescaped += c;
      }
    }
    json = unescaped;
  }
  for (const std::string_view item : split_json_array(json)) {
    const size_t colon = item.find(':');
    if (item.size() < 2 || item.front() != '{' || item.back() != '}' ||
        colon == std::string::npos) {
      return false;
    }
    TensorSpec tensor;
    tensor.dtype = ort_dtype(unquote_json(trim(item.substr(1, colon - 1))));
    if (!parse_json_extents(item.substr(colon + 1, item.size() - colon - 2), &tensor.extents)) {
      return false;
    }
    tensors->push_back(std::move(tensor));
  }
  return true;
}

std::string guess_ort_attributes(std::string_view op_type, const TensorList& inputs,
                                 const TensorList& outputs) {
  if (onnx_op_class(op_type) != OpClass::kConv || inputs.size() < 2 || outputs.empty()) {
    return "";
  }
  const ConvGeometry conv = guess_conv(inputs[0].extents, inputs[1].extents, outputs[0].extents);
  return conv.kernel.empty() ? "" : conv_attributes(conv);
}

}  // namespace dfsim::inline datasets
