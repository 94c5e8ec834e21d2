// Views by their strides: an axis can always be split, and axes can be merged that follow each
// other in memory.
#include "graphs/passes/layout/strides.h"

#include <algorithm>

namespace dfsim::inline graphs {

Layout contiguous(std::vector<int64_t> extents) {
  Layout layout{std::move(extents), {}};
  layout.strides.resize(layout.extents.size());
  int64_t stride = 1;
  for (size_t i = layout.extents.size(); i-- > 0;) {
    layout.strides[i] = stride;
    stride *= layout.extents[i];
  }
  return layout;
}

// Groups of old axes that follow each other in memory are filled with new axes from the last on.
std::optional<Layout> reshaped(const Layout& from, std::vector<int64_t> extents) {
  if (from.extents.empty() || std::count(from.extents.begin(), from.extents.end(), 0) > 0) {
    return contiguous(std::move(extents));
  }
  Layout to{std::move(extents), {}};
  to.strides.resize(to.extents.size());
  size_t left = to.extents.size();  // new axes without a stride
  int64_t base = from.strides.back();
  int64_t old_count = 1;
  int64_t new_count = 1;
  for (size_t axis = from.extents.size(); axis-- > 0;) {
    old_count *= from.extents[axis];
    if (axis > 0 && (from.extents[axis - 1] == 1 || from.strides[axis - 1] == old_count * base)) {
      continue;  // the axis before belongs to the group
    }
    while (left > 0 && (new_count < old_count || to.extents[left - 1] == 1)) {
      to.strides[left - 1] = new_count * base;
      new_count *= to.extents[--left];
    }
    if (new_count != old_count) {
      return std::nullopt;
    }
    if (axis > 0) {
      base = from.strides[axis - 1];
      old_count = new_count = 1;
    }
  }
  return left == 0 ? std::optional(std::move(to)) : std::nullopt;
}

std::optional<Layout> transposed(const Layout& from, const Op& op) {
  std::vector<int64_t> perm(from.extents.size());
  if (const auto* given = op.attributes.get_ints("perm")) {
    perm = *given;
  } else {
    for (size_t i = 0; i < perm.size(); ++i) {
      perm[i] = static_cast<int64_t>(perm.size() - 1 - i);
    }
  }
  Layout to;
  for (const int64_t axis : perm) {
    if (axis < 0 || static_cast<size_t>(axis) >= from.extents.size()) {
      return std::nullopt;
    }
    to.extents.push_back(from.extents[static_cast<size_t>(axis)]);
    to.strides.push_back(from.strides[static_cast<size_t>(axis)]);
  }
  return to.extents.size() == from.extents.size() ? std::optional(std::move(to)) : std::nullopt;
}

bool merges_batches(const EditableGraph& graph, const Op& op) {
  const Shape& shape = graph.shape(op.outputs[0]);
  if (op.op_type != "MatMul" || !op.domain.empty() || !shape.is_static() || shape.rank() < 4) {
    return false;
  }
  const std::vector<int64_t> extents = shape.extents();
  return std::count_if(extents.begin(), extents.end() - 2, [](int64_t e) { return e > 1; }) > 1;
}

}  // namespace dfsim::inline graphs
