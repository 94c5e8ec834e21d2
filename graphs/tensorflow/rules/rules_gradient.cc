// Gradients of operators, as TensorFlow's training graphs have them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "graphs/tensorflow/window_internal.h"

namespace dfsim::inline graphs {
namespace {

// The shape that an input holds, or nullopt.
std::optional<Shape> shape_value(NodeContext& node, size_t i) {
  const auto extents = node.ints(i);
  if (!extents || extents->size() > static_cast<size_t>(kMaxRank) ||
      std::any_of(extents->begin(), extents->end(),
                  [](int64_t e) { return e < 0 || e > kMaxExtent; })) {
    return std::nullopt;
  }
  return Shape::of(*extents);
}

bool is_depthwise(const NodeContext& node) { return node.type().starts_with("Depthwise"); }

// What a convolution's filter looks like to our operators; `group` receives the number of groups.
TensorId filter_of(NodeContext& node, size_t input, int64_t channels, int64_t* group) {
  const Shape filter = node.shape(input);
  const int rank = filter.rank();
  if (is_depthwise(node) && rank == 4) {
    *group = filter[2].extent();
    return depthwise_filter(node, input);
  }
  const int64_t per_group = filter[rank - 2].extent();
  *group = per_group > 0 && channels % per_group == 0 ? channels / per_group : 1;
  return node.emitter().transposed(node.plain(input), filter_to_channels_first(rank));
}

// input sizes, filter, gradient of the output: also the transposed convolution of networks.
void conv_input(NodeContext& node, std::string_view target) {
  const auto image = shape_value(node, 0);
  const int rank = node.rank(2);
  if (!image || rank < 3 || node.rank(1) != rank || image->rank() != rank) {
    node.unresolved("the shape of what it returns is not known before the run");
    return;
  }
  const int64_t channels = (*image)[node.is_nchw() ? 1 : rank - 1].extent();
  int64_t group = 1;
  const TensorId filter = filter_of(node, 1, channels, &group);
  const std::vector<int64_t> extents = spatial_extents(node, *image);
  auto attributes = conv_attributes(node, extents, node.shape(1).extents(), group);
  if (!attributes) {
    return;
  }
  attributes->emplace_back("output_shape", extents);
  node.set_image(0, node.emit(target, {node.image(2), filter}, std::move(*attributes)));
}

// input, filter sizes, gradient of the output.
void conv_filter(NodeContext& node, std::string_view /*target*/) {
  const auto filter = shape_value(node, 1);
  const int rank = node.rank(0);
  if (!filter || rank < 3 || filter->rank() != rank || node.rank(2) != rank) {
    node.unresolved("the shape of what it returns is not known before the run");
    return;
  }
  const int64_t channels = node.shape(0)[node.is_nchw() ? 1 : rank - 1].extent();
  const int64_t per_group = is_depthwise(node) ? 1 : (*filter)[rank - 2].extent();
  if (per_group < 1 || channels % per_group != 0) {
    node.error(
        fmt::format("an input of {} channels, a filter {}", channels, format_shape(*filter)));
    return;
  }
  auto attributes =
      conv_attributes(node, spatial_extents(node, 0), filter->extents(), channels / per_group);
  if (!attributes) {
    return;
  }
  attributes->emplace_back("shape", filter->extents());
  node.set(0, node.emit("ConvFilterGrad", {node.image(0), node.image(2)}, std::move(*attributes),
                        kTensorFlow));
}

// input, output, gradient; or the input's shape and the gradient.
void pool_gradient(NodeContext& node, std::string_view target) {
  const bool by_shape = node.input_count() == 2;
  const auto image = by_shape ? shape_value(node, 0) : std::optional(node.shape(0));
  const size_t gradient = by_shape ? 1 : 2;
  if (!image || image->rank() < 3 || !node.has_input(gradient)) {
    node.unresolved("the shape of what it returns is not known before the run");
    return;
  }
  auto attributes = pool_attributes(node, spatial_extents(node, *image), node.attr_ints("ksize"),
                                    node.attr_ints("strides"));
  if (!attributes) {
    return;
  }
  std::vector<int64_t> extents = image->extents();
  if (!node.is_nchw()) {
    std::rotate(extents.begin() + 1, extents.end() - 1, extents.end());
  }
  attributes->emplace_back("shape", std::move(extents));
  std::vector<TensorId> inputs = {node.image(gradient)};
  if (!by_shape) {
    inputs.push_back(node.image(0));
    inputs.push_back(node.image(1));
  }
  node.set_image(0, node.emit(target, std::move(inputs), std::move(*attributes), kTensorFlow));
}

// Elementwise in one layout; the first operand's shape.
void same_shape(NodeContext& node, std::string_view target) {
  bool channels_first = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    channels_first = channels_first || node.prefers_channels_first(i);
  }
  for (size_t i = 0; i < node.input_count(); ++i) {
    channels_first = channels_first && node.shape(i) == node.shape(0);
  }
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) {
    inputs.push_back(channels_first ? node.emitter().channels_first(node.input(i)) : node.plain(i));
  }
  const TensorId result = node.emit(target, std::move(inputs), {}, kTensorFlow);
  channels_first ? node.set_channels_first(0, result) : node.set(0, result);
}

// gradient, input, scale, saved statistics.
void batch_norm_gradient(NodeContext& node, std::string_view target) {
  const auto results = node.emit_many(
      target, {node.image(0), node.image(1), node.plain(2), node.plain(3), node.plain(4)}, {}, 3,
      kTensorFlow);
  node.set_image(0, results[0]);
  node.set(1, results[1]);
  node.set(2, results[2]);
}

// The sum over all axes but the channels'.
void bias_gradient(NodeContext& node, std::string_view target) {
  const int rank = node.rank(0);
  const bool channels_first = node.prefers_channels_first(0);
  const int channels = channels_first || node.is_nchw() ? 1 : rank - 1;
  std::vector<int64_t> axes;
  for (int i = 0; i < rank; ++i) {
    if (i != channels) {
      axes.push_back(i);
    }
  }
  const TensorId x = channels_first ? node.emitter().channels_first(node.input(0)) : node.plain(0);
  node.set(0, node.emit(target, {x, node.emitter().add_ints(axes)}, {{"keepdims", int64_t{0}}}));
}

// The gradient lies in a tensor of zeros whose shape is the first or the last input.
void into_zeros(NodeContext& node, std::string_view target) {
  const bool strided = node.type() == "StridedSliceGrad";
  const auto shape = shape_value(node, strided ? 0 : 1);
  if (!shape) {
    node.unresolved("the shape of what it returns is not known before the run");
    return;
  }
  node.set(0, node.emit(target, {node.plain(strided ? 4 : 0)}, {{"shape", shape->extents()}},
                        kTensorFlow));
}

// Gradient and the image as it was, or its height and width.
void resize_gradient(NodeContext& node, std::string_view target) {
  const Shape gradient = node.shape(0);
  const auto sizes = node.rank(1) == 1 ? node.ints(1) : std::nullopt;
  const Shape image = node.shape(1);
  if (gradient.rank() != 4 || (image.rank() != 4 && (!sizes || sizes->size() != 2))) {
    node.unresolved("the shape of what it returns is not known before the run");
    return;
  }
  const std::vector<int64_t> extents =
      image.rank() == 4 ? std::vector<int64_t>{image[0].extent(), image[3].extent(),
                                               image[1].extent(), image[2].extent()}
                        : std::vector<int64_t>{gradient[0].extent(), gradient[3].extent(),
                                               (*sizes)[0], (*sizes)[1]};
  if (std::any_of(extents.begin(), extents.end(),
                  [](int64_t e) { return e < 0 || e > kMaxExtent; })) {
    node.error("its sizes are no extents");
    return;
  }
  node.set_channels_first(0, node.emit(target, {node.emitter().channels_first(node.input(0))},
                                       {{"shape", extents}}, kTensorFlow));
}

// clang-format off
constexpr TfRule kGradientRules[] = {
    {.type = "Conv2DBackpropInput", .translate = conv_input, .target = "ConvTranspose",
     .required_inputs = 3},
    {.type = "Conv3DBackpropInputV2", .translate = conv_input, .target = "ConvTranspose",
     .required_inputs = 3},
    {.type = "DepthwiseConv2dNativeBackpropInput", .translate = conv_input,
     .target = "ConvTranspose", .required_inputs = 3},
    {.type = "Conv2DBackpropFilter", .translate = conv_filter, .required_inputs = 3},
    {.type = "Conv3DBackpropFilterV2", .translate = conv_filter, .required_inputs = 3},
    {.type = "DepthwiseConv2dNativeBackpropFilter", .translate = conv_filter, .required_inputs = 3},
    {.type = "MaxPoolGrad", .translate = pool_gradient, .target = "MaxPoolGrad",
     .required_inputs = 3},
    {.type = "MaxPool3DGrad", .translate = pool_gradient, .target = "MaxPoolGrad",
     .required_inputs = 3},
    {.type = "AvgPoolGrad", .translate = pool_gradient, .target = "AveragePoolGrad",
     .required_inputs = 2},
    {.type = "AvgPool3DGrad", .translate = pool_gradient, .target = "AveragePoolGrad",
     .required_inputs = 2},
    {.type = "FusedBatchNormGrad", .translate = batch_norm_gradient, .target = "BatchNormGrad",
     .required_inputs = 5},
    {.type = "FusedBatchNormGradV2", .translate = batch_norm_gradient, .target = "BatchNormGrad",
     .required_inputs = 5},
    {.type = "FusedBatchNormGradV3", .translate = batch_norm_gradient, .target = "BatchNormGrad",
     .required_inputs = 5},
    {.type = "BiasAddGrad", .translate = bias_gradient, .target = "ReduceSum"},
    {.type = "StridedSliceGrad", .translate = into_zeros, .target = "SliceGrad",
     .required_inputs = 5},
    {.type = "ResizeBilinearGrad", .translate = resize_gradient, .target = "ResizeGrad",
     .required_inputs = 2},
    {.type = "ResizeNearestNeighborGrad", .translate = resize_gradient, .target = "ResizeGrad",
     .required_inputs = 2},
    {.type = "ResizeBicubicGrad", .translate = resize_gradient, .target = "ResizeGrad",
     .required_inputs = 2},
    {.type = "LRNGrad", .translate = same_shape, .target = "LRNGrad", .required_inputs = 3},
    {.type = "ReluGrad", .translate = same_shape, .target = "ReluGrad", .required_inputs = 2},
    {.type = "Relu6Grad", .translate = same_shape, .target = "Relu6Grad", .required_inputs = 2},
    {.type = "LeakyReluGrad", .translate = same_shape, .target = "LeakyReluGrad",
     .required_inputs = 2},
    {.type = "EluGrad", .translate = same_shape, .target = "EluGrad", .required_inputs = 2},
    {.type = "SeluGrad", .translate = same_shape, .target = "SeluGrad", .required_inputs = 2},
    {.type = "SigmoidGrad", .translate = same_shape, .target = "SigmoidGrad", .required_inputs = 2},
    {.type = "TanhGrad", .translate = same_shape, .target = "TanhGrad", .required_inputs = 2},
    {.type = "SoftplusGrad", .translate = same_shape, .target = "SoftplusGrad",
     .required_inputs = 2},
    {.type = "SoftsignGrad", .translate = same_shape, .target = "SoftsignGrad",
     .required_inputs = 2},
    {.type = "SqrtGrad", .translate = same_shape, .target = "SqrtGrad", .required_inputs = 2},
    {.type = "RsqrtGrad", .translate = same_shape, .target = "RsqrtGrad", .required_inputs = 2},
    {.type = "ReciprocalGrad", .translate = same_shape, .target = "ReciprocalGrad",
     .required_inputs = 2},
    {.type = "InvGrad", .translate = same_shape, .target = "ReciprocalGrad", .required_inputs = 2},
};
// clang-format on

}  // namespace

std::span<const TfRule> gradient_tf_rules() { return kGradientRules; }

}  // namespace dfsim::inline graphs
