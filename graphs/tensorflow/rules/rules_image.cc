// Convolutions, pooling, normalisation over channels, resizing: operators with layouts.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/tensorflow/window_internal.h"

namespace dfsim::inline graphs {
namespace {

// Convolution of any number of spatial axes; TensorFlow's filters are [space..., C/group, M].
void conv(NodeContext& node, std::string_view target) {
  const Shape filter = node.shape(1);
  const int rank = node.rank(0);
  if (rank < 3 || filter.rank() != rank) {
    node.error(fmt::format("input {} and filter {}: expected the same rank of 3 or more",
                           format_shape(node.shape(0)), format_shape(filter)));
    return;
  }
  const TensorId x = node.image(0);
  const int64_t channels = node.shape(0)[node.is_nchw() ? 1 : rank - 1].extent();
  const int64_t per_group = filter[rank - 2].extent();
  if (per_group == 0 || channels % per_group != 0) {
    node.error(fmt::format("input {} has {} channels, filter {} takes {}",
                           format_shape(node.shape(0)), channels, format_shape(filter), per_group));
    return;
  }
  const auto attributes =
      conv_attributes(node, spatial_extents(node, 0), filter.extents(), channels / per_group);
  if (!attributes) {
    return;
  }
  const TensorId w = node.emitter().transposed(node.plain(1), filter_to_channels_first(rank));
  node.set_image(0, node.emit(target, {x, w}, *attributes));
}

void depthwise_conv(NodeContext& node, std::string_view target) {
  const Shape filter = node.shape(1);
  if (node.rank(0) != 4 || filter.rank() != 4) {
    node.error(fmt::format("input {} and filter {}: expected rank 4 of both",
                           format_shape(node.shape(0)), format_shape(filter)));
    return;
  }
  const auto attributes =
      conv_attributes(node, spatial_extents(node, 0), filter.extents(), filter[2].extent());
  if (!attributes) {
    return;
  }
  const TensorId x = node.image(0);
  node.set_image(0, node.emit(target, {x, depthwise_filter(node, 1)}, *attributes));
}

void pool(NodeContext& node, std::string_view target) {
  const int rank = node.rank(0);
  if (rank < 3) {
    node.error(
        fmt::format("input {}: expected batch, space and channels", format_shape(node.shape(0))));
    return;
  }
  // The second form has the sizes as inputs.
  const auto sizes = node.input_count() >= 3 ? node.ints(1) : node.attr_ints("ksize");
  const auto strides = node.input_count() >= 3 ? node.ints(2) : node.attr_ints("strides");
  if (!sizes || !strides) {
    node.unresolved("its window is not known before the run");
    return;
  }
  const auto attributes = pool_attributes(node, spatial_extents(node, 0), *sizes, *strides);
  if (!attributes) {
    return;
  }
  const size_t outputs = node.type() == "MaxPoolWithArgmax" ? 2 : 1;
  const auto results = node.emit_many(target, {node.image(0)}, *attributes, outputs);
  for (size_t i = 0; i < outputs; ++i) {
    node.set_image(i, results[i]);
  }
}

// y, mean, variance and what the gradient wants again.
void batch_norm(NodeContext& node, std::string_view target) {
  if (node.rank(0) < 2) {
    node.error(fmt::format("input {}: expected rank 2 or more", format_shape(node.shape(0))));
    return;
  }
  const bool training = node.attr_bool("is_training", true);
  AttrList attributes = {{"epsilon", node.attr_float("epsilon", 1e-4)}};
  std::vector<TensorId> inputs = {node.image(0)};
  for (size_t i = 1; i < 5; ++i) {
    // In training the running statistics may be empty.
    const bool empty = node.shape(i).is_static() && node.shape(i).elements() == Count(0);
    inputs.push_back(node.plain(training && empty ? 1 : i));
  }
  if (training) {
    attributes.emplace_back("training_mode", int64_t{1});
  }
  const auto results = node.emit_many(target, std::move(inputs), attributes, training ? 3 : 1);
  node.set_image(0, results[0]);
  for (size_t i = 1; i < 6; ++i) {
    if (training) {
      node.set(i, results[i % 2 == 1 ? 1 : 2]);
    } else {
      node.set_value(i, node.input(i % 2 == 1 ? 3 : 4));
    }
  }
}

void local_response_norm(NodeContext& node, std::string_view target) {
  const int64_t radius = node.attr_int("depth_radius", 5);
  node.set_channels_first(0,
                          node.emit(target, {node.emitter().channels_first(node.input(0))},
                                    {{"size", std::clamp<int64_t>(radius, 0, 1 << 20) * 2 + 1}}));
}

// A new height and width, as input 1.
void resize(NodeContext& node, std::string_view target) {
  const auto sizes = node.ints(1);
  if (node.rank(0) != 4 || !sizes || sizes->size() != 2) {
    node.unresolved("its new size is not known before the run");
    return;
  }
  const TensorId x = node.emitter().channels_first(node.input(0));
  const Shape shape = node.shape(0);
  const TensorId target_sizes =
      node.emitter().add_ints({shape[0].extent(), shape[3].extent(), (*sizes)[0], (*sizes)[1]});
  node.set_channels_first(0, node.emit("Resize", {x, TensorId(), TensorId(), target_sizes},
                                       {{"mode", std::string(target)}}));
}

// [N, H, W, C] to blocks, with the order of elements that TensorFlow has.
void depth_space(NodeContext& node, std::string_view target) {
  const int64_t block = node.attr_int("block_size", 0);
  node.set_image(
      0, node.emit(target, {node.image(0)}, {{"blocksize", block}, {"mode", std::string("DCR")}}));
}

// clang-format off
constexpr TfRule kImageRules[] = {
    {.type = "Conv2D", .translate = conv, .target = "Conv", .required_inputs = 2},
    {.type = "Conv3D", .translate = conv, .target = "Conv", .required_inputs = 2},
    {.type = "DepthwiseConv2dNative", .translate = depthwise_conv, .target = "Conv",
     .required_inputs = 2},
    {.type = "MaxPool", .translate = pool, .target = "MaxPool"},
    {.type = "MaxPoolV2", .translate = pool, .target = "MaxPool", .required_inputs = 3},
    {.type = "MaxPool3D", .translate = pool, .target = "MaxPool"},
    {.type = "MaxPoolWithArgmax", .translate = pool, .target = "MaxPool"},
    {.type = "AvgPool", .translate = pool, .target = "AveragePool"},
    {.type = "AvgPool3D", .translate = pool, .target = "AveragePool"},
    {.type = "FusedBatchNorm", .translate = batch_norm, .target = "BatchNormalization",
     .required_inputs = 5},
    {.type = "FusedBatchNormV2", .translate = batch_norm, .target = "BatchNormalization",
     .required_inputs = 5},
    {.type = "FusedBatchNormV3", .translate = batch_norm, .target = "BatchNormalization",
     .required_inputs = 5},
    {.type = "LRN", .translate = local_response_norm, .target = "LRN"},
    {.type = "ResizeBilinear", .translate = resize, .target = "linear", .required_inputs = 2},
    {.type = "ResizeNearestNeighbor", .translate = resize, .target = "nearest",
     .required_inputs = 2},
    {.type = "ResizeBicubic", .translate = resize, .target = "cubic", .required_inputs = 2},
    {.type = "ResizeArea", .translate = resize, .target = "linear", .required_inputs = 2},
    {.type = "DepthToSpace", .translate = depth_space, .target = "DepthToSpace"},
    {.type = "SpaceToDepth", .translate = depth_space, .target = "SpaceToDepth"},
};
// clang-format on

}  // namespace

std::span<const TfRule> image_tf_rules() { return kImageRules; }

}  // namespace dfsim::inline graphs
