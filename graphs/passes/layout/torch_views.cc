// Operators that are views in PyTorch: other strides over the same bytes. No kernel runs for it;
// whoever reads it reads the bytes where they are. A reshape of a transposed tensor may have to
// copy: there the Transpose stays a kernel, and the reshape is free. So may a product over several
// batch axes, which PyTorch reshapes to one. Whether they copy follows from the strides: an axis
// can always be split, and axes can be merged that follow each other in memory.
#include <algorithm>
#include <optional>
#include <vector>

#include "graphs/passes/layout/strides.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

bool is_reshape(const Op& op) {
  return op.domain.empty() && (op.op_type == "Reshape" || op.op_type == "Flatten");
}

bool is_view(const Op& op) { return op.op_class == OpClass::kView; }

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
    return op.attributes.int_or(kCopies, 0) == 0 &&
           !is_copied(graph, op.outputs[0], layout_of(graph, op));
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
