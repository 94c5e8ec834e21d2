// What is a view in PyTorch: other strides over the same bytes. No kernel runs for it; whoever
// reads it reads the bytes where they are. A reshape of a transposed tensor has to copy: there the
// Transpose stays a kernel, and the reshape is free. So does a product over several batch axes,
// which PyTorch reshapes to one.
#include <algorithm>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

bool is_reshape(const Op& op) {
  return op.domain.empty() && (op.op_type == "Reshape" || op.op_type == "Flatten");
}

bool is_view(const Op& op) { return op.op_class == OpClass::kView; }

// A product with more than one batch axis of several elements.
bool merges_batches(const EditableGraph& graph, const Op& op) {
  const Shape& shape = graph.shape(op.outputs[0]);
  if (op.op_type != "MatMul" || !op.domain.empty() || !shape.is_static() || shape.rank() < 4) {
    return false;
  }
  const std::vector<int64_t> extents = shape.extents();
  return std::count_if(extents.begin(), extents.end() - 2, [](int64_t e) { return e > 1; }) > 1;
}

// Something reshapes the tensor, at once or through views of it.
bool is_reshaped(const EditableGraph& graph, TensorId id) {
  const auto readers = graph.readers(id);
  return std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
    const Op& op = graph.op(reader);
    if (is_reshape(op) || merges_batches(graph, op)) {
      return true;
    }
    return is_view(op) && op.inputs[0] == id && op.outputs[0].valid() &&
           is_reshaped(graph, op.outputs[0]);
  });
}

bool moves_nothing(const EditableGraph& graph, const Op& op) {
  if (!op.domain.empty() || op.inputs.empty() || !op.inputs[0].valid() || op.outputs.empty()) {
    return false;
  }
  if (op.op_type == "Transpose") {
    return !is_reshaped(graph, op.outputs[0]);
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
