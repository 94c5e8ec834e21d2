// Where the extents of a tensor in blocks come from: how ONNX Runtime proves that two of them have
// the same shape although it knows no number of an open extent.
#pragma once

#include <array>

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// Each axis (batch, channels, height, width) has the extent of the same axis of `from`, halved
// `halvings` times.
struct BlockedExtents {
  struct Source {
    TensorId from;
    int64_t halvings = 0;
    bool operator==(const Source&) const = default;
  };
  std::array<Source, 4> axes;

  // A tensor whose extents are its own.
  static BlockedExtents of(TensorId plain) {
    BlockedExtents extents;
    extents.axes.fill({plain, 0});
    return extents;
  }
};

// The extents of a convolution's or pool's result, read in blocks from a tensor with `input`: the
// batch, and heights and widths that the padding keeps but for a stride of 1 or 2.
// kernel: height and width; empty when the operator has none.
BlockedExtents strided_extents(const Op& op, const BlockedExtents& input,
                               const std::vector<int64_t>& kernel);

// The runtime can tell that both tensors have the same extent there.
bool same_blocked_extent(const EditableGraph& graph, TensorId a, const BlockedExtents& of_a,
                         TensorId b, const BlockedExtents& of_b, int axis);

}  // namespace dfsim::inline graphs
