// Gradients of convolutions, pools and reductions over axes.
#include <algorithm>
#include <numeric>

#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/training/gradient_context.h"

namespace dfsim::inline graphs {
namespace {

std::vector<int64_t> list_or(const GradientContext& context, std::string_view name, size_t count,
                             int64_t fallback) {
  const auto* list = context.attributes().get_ints(name);
  return list != nullptr && list->size() == count ? *list : std::vector<int64_t>(count, fallback);
}

// Explicit padding, begins first; `image` is the larger side of the windows, `steps` the smaller.
std::vector<int64_t> pads_of(const GradientContext& context, const std::vector<int64_t>& kernel,
                             const Shape& image, const Shape& steps) {
  const size_t spatial = kernel.size();
  const std::string mode = context.attributes().string_or("auto_pad", "NOTSET");
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return list_or(context, "pads", spatial * 2, 0);
  }
  const std::vector<int64_t> strides = list_or(context, "strides", spatial, 1);
  const std::vector<int64_t> dilations = list_or(context, "dilations", spatial, 1);
  std::vector<int64_t> pads(spatial * 2, 0);
  for (size_t s = 0; s < spatial; ++s) {
    const int axis = static_cast<int>(s) + 2;
    const int64_t total =
        std::max<int64_t>(0, (steps[axis].extent() - 1) * strides[s] +
                                 (kernel[s] - 1) * dilations[s] + 1 - image[axis].extent());
    pads[s] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[s + spatial] = total - pads[s];
  }
  return pads;
}

AttributeList window_attributes(const GradientContext& context, const std::vector<int64_t>& kernel,
                                const Shape& image, const Shape& steps) {
  const size_t spatial = kernel.size();
  AttributeList attributes = {{"kernel_shape", kernel},
                              {"strides", list_or(context, "strides", spatial, 1)},
                              {"pads", pads_of(context, kernel, image, steps)}};
  if (context.attributes().has("dilations")) {
    attributes.emplace_back("dilations", list_or(context, "dilations", spatial, 1));
  }
  if (const auto last = context.attributes().get_int(kChannelsLast)) {
    attributes.emplace_back(std::string(kChannelsLast), *last);
  }
  return attributes;
}

std::vector<int64_t> spatial_extents(const Shape& shape) {
  std::vector<int64_t> extents = shape.extents();
  extents.erase(extents.begin(), extents.begin() + 2);
  return extents;
}

// All axes but the channels'.
std::vector<int64_t> all_but_channels(const Shape& shape) {
  std::vector<int64_t> axes = {0};
  for (int axis = 2; axis < shape.rank(); ++axis) {
    axes.push_back(axis);
  }
  return axes;
}

void bias_gradient(GradientContext& context, size_t bias) {
  if (context.has_input(bias) && context.wanted(bias)) {
    const TensorId gradient = context.gradient();
    context.set(bias,
                context.sum_over(gradient, all_but_channels(context.shape_of(gradient)), false));
  }
}

// x, weight, bias. The image's gradient is a transposed convolution with the same weight.
void gradient_of_conv(GradientContext& context) {
  const Shape x = context.shape(0);
  const Shape weight = context.shape(1);
  const std::vector<int64_t> kernel = spatial_extents(weight);
  AttributeList attributes = window_attributes(context, kernel, x, context.output(0).shape);
  attributes.emplace_back("group", context.attributes().int_or("group", 1));
  if (context.wanted(0)) {
    AttributeList turned = attributes;
    turned.emplace_back("output_shape", spatial_extents(x));
    turned.emplace_back(std::string(kInputGradient), int64_t{1});
    context.set(0, context.emit("", "ConvTranspose", {context.gradient(), context.value(1)}, x,
                                std::move(turned)));
  }
  if (context.wanted(1)) {
    attributes.emplace_back("shape", weight.extents());
    context.set(1,
                context.emit(kTensorFlow, "ConvFilterGrad", {context.value(0), context.gradient()},
                             weight, std::move(attributes)));
  }
  bias_gradient(context, 2);
}

// The other way round: its image's gradient is a convolution.
void gradient_of_conv_transpose(GradientContext& context) {
  const Shape x = context.shape(0);
  const Shape weight = context.shape(1);
  const std::vector<int64_t> kernel = spatial_extents(weight);
  if (context.attributes().has("output_shape") ||
      context.attributes().string_or("auto_pad", "NOTSET").starts_with("SAME")) {
    gradient_by_backward(context);  // its padding is not written down
    return;
  }
  AttributeList attributes = window_attributes(context, kernel, context.output(0).shape, x);
  attributes.emplace_back("group", context.attributes().int_or("group", 1));
  if (context.wanted(0)) {
    context.set(0, context.emit("", "Conv", {context.gradient(), context.value(1)}, x, attributes));
  }
  if (context.wanted(1)) {
    attributes.emplace_back("shape", weight.extents());
    context.set(1,
                context.emit(kTensorFlow, "ConvFilterGrad", {context.gradient(), context.value(0)},
                             weight, std::move(attributes)));
  }
  bias_gradient(context, 2);
}

void gradient_of_pool(GradientContext& context) {
  const auto* kernel = context.attributes().get_ints("kernel_shape");
  const Shape x = context.shape(0);
  if (kernel == nullptr || kernel->size() + 2 != static_cast<size_t>(x.rank())) {
    gradient_by_backward(context);
    return;
  }
  AttributeList attributes = window_attributes(context, *kernel, x, context.output(0).shape);
  attributes.emplace_back("shape", x.extents());
  const bool most = context.op().op_type == "MaxPool";
  std::vector<TensorId> inputs = {context.gradient()};
  if (most) {
    inputs.push_back(context.value(0));
    inputs.push_back(context.result());
  }
  context.set(0, context.emit(kTensorFlow, most ? "MaxPoolGrad" : "AveragePoolGrad",
                              std::move(inputs), x, std::move(attributes)));
}

// Each summand gets the sum's gradient; a mean's is divided first.
void gradient_of_reduction(GradientContext& context) {
  const std::string& type = context.op().op_type;
  const Shape x = context.shape(0);
  const int64_t results = context.output(0).shape.elements().value();
  // The axes that are gone come back with the extent 1.
  Dims kept = x.dims();
  bool absent = true;
  std::vector<int64_t> axes;
  if (const auto* given = context.attributes().get_ints("axes")) {
    axes = *given;
    absent = false;
  } else if (context.has_input(1)) {
    const ConstValue* value = context.graph().constant(context.op().inputs[1]);
    absent = false;
    if (value == nullptr) {
      gradient_by_backward(context);
      return;
    }
    axes = value->ints;
  } else if (type.starts_with("Global")) {
    for (int axis = 2; axis < x.rank(); ++axis) {
      axes.push_back(axis);
    }
    absent = false;
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool summed = absent || std::any_of(axes.begin(), axes.end(), [&](int64_t given) {
                          return given == axis || given + x.rank() == axis;
                        });
    kept[static_cast<size_t>(axis)] = summed ? Dim(1) : kept[static_cast<size_t>(axis)];
  }
  TensorId gradient = context.reshape(context.gradient(), Shape(std::move(kept)));
  const int64_t elements = x.elements().value();
  if (type == "ReduceMean" || type == "GlobalAveragePool") {
    const int64_t each = elements / std::max<int64_t>(1, results);
    const TensorId count = context.number(static_cast<double>(each));
    gradient = context.emit("", "Div", {gradient, count}, context.shape_of(gradient));
  }
  gradient = context.emit("", "Expand", {gradient, context.ints(x.extents())}, x);
  if (type != "ReduceSum" && type != "ReduceMean" && type != "GlobalAveragePool") {
    gradient = context.emit(kTrainingDomain, "ElementwiseGrad", {gradient, context.value(0)}, x,
                            {{"of", type}, {"flops", int64_t{2}}});
  }
  context.set(0, gradient);
}

}  // namespace

std::vector<GradientEntry> window_gradients() {
  return {{"Conv", gradient_of_conv},
          {"ConvTranspose", gradient_of_conv_transpose},
          {"MaxPool", gradient_of_pool},
          {"AveragePool", gradient_of_pool},
          {"GlobalAveragePool", gradient_of_reduction},
          {"GlobalMaxPool", gradient_of_reduction},
          {"ReduceSum", gradient_of_reduction},
          {"ReduceMean", gradient_of_reduction},
          {"ReduceMax", gradient_of_reduction},
          {"ReduceMin", gradient_of_reduction},
          {"ReduceL2", gradient_of_reduction},
          {"ReduceSumSquare", gradient_of_reduction}};
}

}  // namespace dfsim::inline graphs
