// Strides, kernels and padding of TensorFlow's convolutions and pools as ONNX attributes. Lists
// of four or five numbers follow the data format; SAME is written out when the extents are
// known.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/tensorflow/window_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kMostWindow = int64_t{1} << 31;

bool in_range(const std::vector<int64_t>& list) {
  return std::all_of(list.begin(), list.end(),
                     [](int64_t value) { return value >= 1 && value <= kMostWindow; });
}

// Begins, then ends, of the padding that TensorFlow's modes mean.
std::optional<std::vector<int64_t>> pads_of(NodeContext& node, const std::vector<int64_t>& image,
                                            const std::vector<int64_t>& kernel,
                                            const std::vector<int64_t>& strides,
                                            const std::vector<int64_t>& dilations) {
  const size_t count = image.size();
  const std::string mode = node.attr_string("padding", "VALID");
  std::vector<int64_t> pads(2 * count, 0);
  if (mode == "SAME") {
    for (size_t i = 0; i < count; ++i) {
      const int64_t outputs = (image[i] + strides[i] - 1) / strides[i];
      const int64_t covered = (outputs - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1;
      const int64_t total = std::max<int64_t>(0, covered - image[i]);
      pads[i] = total / 2;
      pads[i + count] = total - total / 2;
    }
  } else if (mode == "EXPLICIT") {
    const std::vector<int64_t> given = node.attr_ints("explicit_paddings");
    if (given.size() != 2 * (count + 2)) {
      node.error(fmt::format("explicit_paddings has {} entries; expected {}", given.size(),
                             2 * (count + 2)));
      return std::nullopt;
    }
    const size_t first = node.is_nchw() ? 2 : 1;
    for (size_t i = 0; i < count; ++i) {
      pads[i] = given[2 * (first + i)];
      pads[i + count] = given[2 * (first + i) + 1];
      if (pads[i] < 0 || pads[i + count] < 0 || pads[i] > kMostWindow ||
          pads[i + count] > kMostWindow) {
        node.error(
            fmt::format("explicit_paddings are out of range; expected 0 to {}", kMostWindow));
        return std::nullopt;
      }
    }
  } else if (mode != "VALID") {
    node.error(unknown_name_message("padding", mode, {"SAME", "VALID", "EXPLICIT"}));
    return std::nullopt;
  }
  const Value& x = node.emitter().value(node.input(0));
  if (x.deferred_pads.size() == pads.size()) {
    for (size_t i = 0; i < pads.size(); ++i) {
      pads[i] += x.deferred_pads[i];
    }
  }
  return pads;
}

std::optional<AttrList> window_attributes(NodeContext& node, const std::vector<int64_t>& image,
                                          std::vector<int64_t> kernel, std::vector<int64_t> strides,
                                          std::vector<int64_t> dilations) {
  if (!in_range(kernel) || !in_range(strides) || !in_range(dilations)) {
    node.error(fmt::format("its kernel, strides or dilations are out of range; expected 1 to {}",
                           kMostWindow));
    return std::nullopt;
  }
  const auto too_wide = [&](size_t i) {
    return (Count(kernel[i]) * Count(dilations[i])).overflowed();
  };
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (too_wide(i)) {
      node.error("its dilated kernel is too wide");
      return std::nullopt;
    }
  }
  auto pads = pads_of(node, image, kernel, strides, dilations);
  if (!pads) {
    return std::nullopt;
  }
  return AttrList{{"kernel_shape", std::move(kernel)},
                  {"strides", std::move(strides)},
                  {"dilations", std::move(dilations)},
                  {"pads", std::move(*pads)}};
}

}  // namespace

std::vector<int64_t> filter_to_channels_first(int rank) {
  std::vector<int64_t> perm = {rank - 1, rank - 2};
  for (int64_t axis = 0; axis + 2 < rank; ++axis) {
    perm.push_back(axis);
  }
  return perm;
}

TensorId depthwise_filter(NodeContext& node, size_t input) {
  const std::vector<int64_t> extents = node.shape(input).extents();
  const Count filters = Count(extents[2]) * Count(extents[3]);
  if (filters.overflowed()) {
    node.error("its filter does not fit in 63 bits");
    return TensorId();
  }
  const TensorId moved = node.emitter().transposed(node.plain(input), {2, 3, 0, 1});
  return node.emitter().reshaped(moved, {filters.value(), 1, extents[0], extents[1]});
}

std::vector<int64_t> spatial_extents(const NodeContext& node, const Shape& image) {
  std::vector<int64_t> extents;
  const int first = node.is_nchw() ? 2 : 1;
  for (int i = 0; i + 2 < image.rank(); ++i) {
    extents.push_back(image[first + i].extent());
  }
  return extents;
}

std::vector<int64_t> spatial_extents(const NodeContext& node, size_t input) {
  return spatial_extents(node, node.shape(input));
}

std::optional<AttrList> conv_attributes(NodeContext& node, const std::vector<int64_t>& image,
                                        const std::vector<int64_t>& filter, int64_t group) {
  const int rank = static_cast<int>(image.size()) + 2;
  std::vector<int64_t> kernel(filter.begin(),
                              filter.begin() + static_cast<std::ptrdiff_t>(image.size()));
  auto attributes = window_attributes(node, image, std::move(kernel),
                                      node.spatial(node.attr_ints("strides"), rank, 1),
                                      node.spatial(node.attr_ints("dilations"), rank, 1));
  if (attributes) {
    attributes->emplace_back("group", group);
  }
  return attributes;
}

std::optional<AttrList> pool_attributes(NodeContext& node, const std::vector<int64_t>& image,
                                        const std::vector<int64_t>& sizes,
                                        const std::vector<int64_t>& strides) {
  const int rank = static_cast<int>(image.size()) + 2;
  return window_attributes(node, image, node.spatial(sizes, rank, 1),
                           node.spatial(strides, rank, 1), std::vector<int64_t>(image.size(), 1));
}

}  // namespace dfsim::inline graphs
