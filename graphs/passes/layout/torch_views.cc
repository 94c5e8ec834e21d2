// Operators that are views in PyTorch: other strides over the same bytes. No kernel runs for it;
// whoever reads it reads the bytes where they are. A reshape of a transposed tensor may have to
// copy: there the Transpose stays a kernel, and the reshape is free. So may a product over several
// batch axes, which PyTorch reshapes to one. Whether they copy follows from the strides: an axis
// can always be split, and axes can be merged that follow each other in memory.
#include <algorithm>
#include <optional>
#include <vector>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

bool is_reshape(const Op& op) {
  return op.domain.empty() && (op.op_type == "Reshape" || op.op_type == "Flatten");
}

bool is_view(const Op& op) { return op.op_class == OpClass::kView; }

// Extents and strides, in elements, of a tensor.
struct Layout {
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
};

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

// The same bytes with other extents, as PyTorch's view() finds them; none where it would copy.
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

// A product with more than one batch axis of several elements.
bool merges_batches(const EditableGraph& graph, const Op& op) {
  const Shape& shape = graph.shape(op.outputs[0]);
  if (op.op_type != "MatMul" || !op.domain.empty() || !shape.is_static() || shape.rank() < 4) {
    return false;
  }
  const std::vector<int64_t> extents = shape.extents();
  return std::count_if(extents.begin(), extents.end() - 2, [](int64_t e) { return e > 1; }) > 1;
}

// The layout behind a view; none where the view is of another kind.
std::optional<Layout> viewed(const EditableGraph& graph, const Op& op, const Layout& from) {
  const Shape& shape = graph.shape(op.outputs[0]);
  if (!shape.is_static()) {
    return std::nullopt;
  }
  if (is_reshape(op) || op.op_type == "Squeeze" || op.op_type == "Unsqueeze") {
    return reshaped(from, shape.extents());
  }
  return op.op_type == "Transpose" ? transposed(from, op) : std::nullopt;
}

// Something needs the tensor's elements in other places, at once or through views of it. Without a
// layout, any reshape does.
bool is_copied(const EditableGraph& graph, TensorId id, const std::optional<Layout>& layout) {
  const auto readers = graph.readers(id);
  return std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
    const Op& op = graph.op(reader);
    if (merges_batches(graph, op)) {
      return true;
    }
    if (!is_reshape(op) && !(is_view(op) && op.inputs[0] == id && op.outputs[0].valid())) {
      return false;
    }
    const auto next = layout ? viewed(graph, op, *layout) : std::nullopt;
    return (is_reshape(op) && !next) || is_copied(graph, op.outputs[0], next);
  });
}

// Where the elements of a Transpose's result are, its operand being contiguous.
std::optional<Layout> layout_of(const EditableGraph& graph, const Op& transpose) {
  const Shape& shape = graph.shape(transpose.inputs[0]);
  return shape.is_static() ? transposed(contiguous(shape.extents()), transpose) : std::nullopt;
}

bool moves_nothing(const EditableGraph& graph, const Op& op) {
  if (!op.domain.empty() || op.inputs.empty() || !op.inputs[0].valid() || op.outputs.empty()) {
    return false;
  }
  if (op.op_type == "Transpose") {
    return !is_copied(graph, op.outputs[0], layout_of(graph, op));
  }
  if (op.op_type == "Gather") {  // select() of one index
    return op.inputs.size() > 1 && graph.shape(op.inputs[1]).rank() == 0 &&
           graph.constant(op.inputs[1]) != nullptr && !graph.is_parameter(op.inputs[0]);
  }
  return op.op_type == "Slice" || op.op_type == "Split" || op.op_type == "Expand";
}

}  // namespace

void find_torch_views(EditableGraph& graph) {
  std::vector<OpId> order = graph.ops();
  // Backwards: whether a Transpose copies depends on the views behind it.
  std::reverse(order.begin(), order.end());
  for (const OpId id : order) {
    if (moves_nothing(graph, graph.op(id))) {
      graph.set_class(id, OpClass::kView);
    }
  }
}

}  // namespace dfsim::inline graphs
