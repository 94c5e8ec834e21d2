// The rules are those of ONNX Runtime's NCHWc transformer: what it cannot derive from the same
// tensor it takes from shape inference, as a number or as the name of a dimension.
#include "graphs/passes/layout/blocked_extents.h"

namespace dfsim::inline graphs {

BlockedExtents strided_extents(const Op& op, const BlockedExtents& input,
                               const std::vector<int64_t>& kernel) {
  BlockedExtents result = BlockedExtents::of(op.outputs[0]);
  result.axes[0] = input.axes[0];
  const auto list = [&](std::string_view name, size_t size, int64_t otherwise) {
    const auto* given = op.attributes.get_ints(name);
    return given != nullptr && given->size() == size ? *given
                                                     : std::vector<int64_t>(size, otherwise);
  };
  const std::vector<int64_t> pads = list("pads", 4, 0);
  const std::vector<int64_t> strides = list("strides", 2, 1);
  const std::vector<int64_t> dilations = list("dilations", 2, 1);
  const bool same = op.attributes.string_or("auto_pad", "NOTSET").starts_with("SAME");
  for (size_t i = 0; i < 2 && kernel.size() == 2; ++i) {
    const bool keeps = same || pads[i] + pads[i + 2] + 1 == kernel[i];
    if (keeps && dilations[i] == 1 && (strides[i] == 1 || strides[i] == 2)) {
      result.axes[i + 2] = input.axes[i + 2];
      result.axes[i + 2].halvings += strides[i] - 1;
    }
  }
  return result;
}

bool same_blocked_extent(const EditableGraph& graph, TensorId a, const BlockedExtents& of_a,
                         TensorId b, const BlockedExtents& of_b, int axis) {
  const auto slot = static_cast<size_t>(axis);
  if (of_a.axes[slot] == of_b.axes[slot]) {
    return true;
  }
  if (graph.extent_known(a, axis) && graph.extent_known(b, axis)) {
    return graph.shape(a)[axis] == graph.shape(b)[axis];
  }
  const auto name = [&](TensorId id) {
    const auto& open = graph.open_axes(id);
    return open && slot < open->size() ? (*open)[slot] : kUnknownExtent;
  };
  return name(a) > 0 && name(a) == name(b);
}

}  // namespace dfsim::inline graphs
