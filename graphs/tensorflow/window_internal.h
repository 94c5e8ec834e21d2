// Windows of TensorFlow's convolutions and pools as ONNX's attributes, with padding written out.
// Internal to graphs/tensorflow.
#pragma once

#include <optional>
#include <vector>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {

// Axes of a filter [space..., C/group, M] in the order [M, C/group, space...].
std::vector<int64_t> filter_to_channels_first(int rank);

// Filter [H, W, C, multiplier] as [C * multiplier, 1, H, W], for C groups. Rank 4 is required.
TensorId depthwise_filter(NodeContext& node, size_t input);

// Extents of the spatial axes of an image operand.
std::vector<int64_t> spatial_extents(const NodeContext& node, size_t input);
std::vector<int64_t> spatial_extents(const NodeContext& node, const Shape& image);

// `filter` as TensorFlow orders it; `image` are the spatial extents of the convolution's input (of
// its gradient: of what the gradient is for). nullopt after an error of the node.
std::optional<AttrList> conv_attributes(NodeContext& node, const std::vector<int64_t>& image,
                                        const std::vector<int64_t>& filter, int64_t group);
// `sizes` and `strides` by axis of the node's data_format.
std::optional<AttrList> pool_attributes(NodeContext& node, const std::vector<int64_t>& image,
                                        const std::vector<int64_t>& sizes,
                                        const std::vector<int64_t>& strides);

}  // namespace dfsim::inline graphs
