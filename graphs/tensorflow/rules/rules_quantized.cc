// Quantised operators of TensorFlow 1: tensors of bytes, each with two scalars for its range. The
// products are ONNX's on integers.
#include <fmt/format.h>

#include "graphs/tensorflow/window_internal.h"

namespace dfsim::inline graphs {
namespace {

// Outputs 1 and 2 are the ends of the range. Scalars of the same type stand for them: inputs
// `first` and the one behind it.
void set_range(NodeContext& node, size_t first) {
  node.set_value(1, node.input(first));
  node.set_value(2, node.input(first + 1));
}

DType named_dtype(const NodeContext& node, const char* name, DType fallback) {
  const DType dtype = node.attr_dtype(name);
  return dtype == DType::kUnknown ? fallback : dtype;
}

// Elements of another type, with a range.
void convert(NodeContext& node, std::string_view target) {
  const DType dtype = node.type() == "QuantizeV2" ? named_dtype(node, "T", DType::kUInt8)
                      : node.type() == "QuantizedBiasAdd"
                          ? named_dtype(node, "out_type", DType::kInt32)
                          : named_dtype(node, "out_type", DType::kUInt8);
  std::vector<TensorId> inputs{node.plain(0)};
  if (node.type() == "QuantizedBiasAdd") {
    inputs.push_back(node.plain(1));
  }
  node.set_known(target, std::move(inputs), {{node.shape(0).extents(), dtype}});
  set_range(node, node.type() == "QuantizedBiasAdd" ? 2 : node.input_count() - 2);
}

void to_float(NodeContext& node, std::string_view target) {
  node.set_known(target, {node.plain(0)},
                 {{node.shape(0).extents(), named_dtype(node, "dtype", DType::kFloat32)}});
}

void range_of_elements(NodeContext& node, std::string_view target) {
  node.set_known(target, {node.plain(0)}, {{{}, DType::kFloat32}, {{}, DType::kFloat32}});
}

// image, filter, then the ranges of both.
void quantized_conv(NodeContext& node, std::string_view target) {
  const Shape filter = node.shape(1);
  if (node.rank(0) != 4 || filter.rank() != 4) {
    node.error("expected an image and a filter of rank 4");
    return;
  }
  const int64_t channels = node.shape(0)[node.is_nchw() ? 1 : 3].extent();
  const int64_t per_group = filter[2].extent();
  if (per_group == 0 || channels % per_group != 0) {
    node.error(fmt::format("its image has {} channels, its filter takes {}", channels, per_group));
    return;
  }
  const auto attributes =
      conv_attributes(node, spatial_extents(node, 0), filter.extents(), channels / per_group);
  if (!attributes) {
    return;
  }
  const TensorId w = node.emitter().transposed(node.plain(1), filter_to_channels_first(4));
  node.set_image(0, node.emit(target, {node.image(0), w}, *attributes));
  set_range(node, 2);
}

void quantized_matmul(NodeContext& node, std::string_view target) {
  const auto operand = [&](size_t i, const char* transposed) {
    return node.attr_bool(transposed, false) ? node.emitter().transposed(node.plain(i), {1, 0})
                                             : node.plain(i);
  };
  if (node.rank(0) != 2 || node.rank(1) != 2) {
    node.error("expected two matrices");
    return;
  }
  node.set(0, node.emit(target, {operand(0, "transpose_a"), operand(1, "transpose_b")}));
  set_range(node, 2);
}

// clang-format off
constexpr TfRule kQuantizedRules[] = {
    {.type = "QuantizeV2", .translate = convert, .target = "QuantizeV2", .required_inputs = 3},
    {.type = "Dequantize", .translate = to_float, .target = "Dequantize", .required_inputs = 3},
    {.type = "Requantize", .translate = convert, .target = "Requantize", .required_inputs = 5},
    {.type = "RequantizationRange", .translate = range_of_elements,
     .target = "RequantizationRange", .required_inputs = 3},
    {.type = "QuantizedBiasAdd", .translate = convert, .target = "QuantizedBiasAdd",
     .required_inputs = 6},
    {.type = "QuantizedRelu", .translate = convert, .target = "QuantizedRelu",
     .required_inputs = 3},
    {.type = "QuantizedRelu6", .translate = convert, .target = "QuantizedRelu6",
     .required_inputs = 3},
    {.type = "QuantizedConv2D", .translate = quantized_conv, .target = "ConvInteger",
     .required_inputs = 6},
    {.type = "QuantizedMatMul", .translate = quantized_matmul, .target = "MatMulInteger",
     .required_inputs = 6},
};
// clang-format on

}  // namespace

std::span<const TfRule> quantized_tf_rules() { return kQuantizedRules; }

}  // namespace dfsim::inline graphs
