#include "datasets/importers/mindspore/mindspore_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "datasets/importers/tensor_lists.h"

namespace dfsim::inline datasets {
namespace {

using Extents = std::vector<int64_t>;

double element_count(const Extents& extents) {
  double count = 1;
  for (const int64_t extent : extents) {
    count *= static_cast<double>(std::max<int64_t>(extent, 0));
  }
  return count;
}

std::string guess_transposes(const TensorList& inputs, const TensorList& outputs) {
  const Extents& a = inputs[0].extents;
  const Extents& b = inputs[1].extents;
  const Extents& c = outputs[0].extents;
  if (a.size() < 2 || b.size() < 2 || c.size() < 2) {
    return "";
  }
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      const int64_t m = a[a.size() - (trans_a ? 1 : 2)];
      const int64_t ka = a[a.size() - (trans_a ? 2 : 1)];
      const int64_t kb = b[b.size() - (trans_b ? 1 : 2)];
      const int64_t n = b[b.size() - (trans_b ? 2 : 1)];
      if (ka == kb && c[c.size() - 2] == m && c.back() == n) {
        return trans_a || trans_b ? gemm_attributes(trans_a, trans_b) : "";
      }
    }
  }
  return "";
}

// A product reads an image [N, C, H, W] as the matrix [N, C H W]: MindSpore drops the Flatten.
void flatten_images(TensorList* inputs, const TensorList& outputs) {
  if (outputs.empty() || outputs[0].extents.size() != 2) {
    return;
  }
  for (size_t i = 0; i < std::min<size_t>(2, inputs->size()); ++i) {
    Extents& extents = (*inputs)[i].extents;
    if (extents.size() > 2) {
      const auto columns = element_count({extents.begin() + 1, extents.end()});
      if (columns <= static_cast<double>(kMaxExtent)) {
        extents = {extents[0], static_cast<int64_t>(columns)};
      }
    }
  }
}

std::string conv_text(const LogicalShapes::Conv& conv, bool transposed) {
  const ConvGeometry geometry = guess_conv(conv.x.extents, conv.weight.extents, conv.y.extents);
  if (geometry.kernel.empty()) {
    return "";
  }
  std::string text = conv_attributes(geometry);
  if (transposed) {  // sorted: behind kernel_shape, before pads
    const std::string zeros = join_numbers(std::vector<int64_t>(geometry.kernel.size(), 0));
    text.insert(text.find("pads="), fmt::format("output_padding={};", zeros));
  }
  return text;
}

// Image, weight and result of a convolution are operands a, b and c of the profiled operator.
struct Roles {
  TensorSpec* x;
  TensorSpec* weight;
  TensorSpec* y;
};

void make_convolution(const OpNameInfo& op, const Roles& roles, bool transposed,
                      const LogicalShapes& shapes, MindsporeOperands* out) {
  const bool depthwise = op.name.starts_with("Depthwise");
  const LogicalShapes::Conv conv = shapes.convolution(*roles.x, *roles.weight, *roles.y, depthwise);
  *roles.x = conv.x;
  *roles.weight = conv.weight;
  *roles.y = conv.y;
  out->attributes = conv_text(conv, transposed);
}

void make_logical(TensorList* tensors, const LogicalShapes& shapes) {
  for (TensorSpec& tensor : *tensors) {
    tensor = shapes.logical(tensor);
  }
}

}  // namespace

MindsporeOperands graph_operands(const OpNameInfo& op, TensorList inputs, TensorList outputs,
                                 const LogicalShapes& shapes) {
  MindsporeOperands out = {std::move(inputs), std::move(outputs), ""};
  TensorList& in = out.inputs;
  if (op.name == "TransData") {
    return out;
  }
  const bool has_two = in.size() > 1 && !out.outputs.empty();
  if (op.op_class == OpClass::kConv && has_two) {
    TensorSpec& result = out.outputs[0];
    if (op.name.find("BackpropInput") != std::string_view::npos) {
      make_convolution(op, {&result, &in[1], &in[0]}, true, shapes, &out);
    } else if (op.name.find("BackpropFilter") != std::string_view::npos) {
      std::swap(in[0], in[1]);  // the profiler has the gradient first
      make_convolution(op, {&in[0], &result, &in[1]}, false, shapes, &out);
    } else if (!op.op_type.empty()) {
      make_convolution(op, {&in[0], &in[1], &result}, false, shapes, &out);
    }
  }
  make_logical(&in, shapes);
  make_logical(&out.outputs, shapes);
  if (op.op_class == OpClass::kPool && op.name.ends_with("Grad") && in.size() == 3) {
    std::rotate(in.begin(), in.begin() + 2, in.end());  // image, result, gradient
  }
  if (op.op_class == OpClass::kMatMul && has_two) {
    flatten_images(&in, out.outputs);
    const bool plain = in[0].format.empty() && in[1].format.empty();
    out.attributes = plain ? guess_transposes(in, out.outputs) : "";
  }
  return out;
}

double product_flops(const OpNameInfo& op, const MindsporeOperands& operands) {
  if (operands.inputs.size() < 2 || operands.outputs.empty()) {
    return 0;
  }
  const double a = element_count(operands.inputs[0].extents);
  const double b = element_count(operands.inputs[1].extents);
  const double c = element_count(operands.outputs[0].extents);
  if (op.op_class == OpClass::kMatMul) {
    return 2 * std::sqrt(a * b * c);  // MK x KN x MN in any layout
  }
  if (op.op_class != OpClass::kConv || op.op_type != "Conv") {
    return 0;
  }
  const Extents& weight = operands.inputs[1].extents;
  return weight.empty() || weight[0] <= 0 ? 0 : 2 * c * b / static_cast<double>(weight[0]);
}

}  // namespace dfsim::inline datasets
