// Removes operators that hand their operand on unchanged, and Nots that a Where can do without.
#include <algorithm>
#include <limits>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kNoEnd = std::numeric_limits<int32_t>::max();

bool same_type_and_shape(const EditableGraph& graph, const Op& op) {
  const Tensor& in = graph.tensor(op.inputs[0]);
  const Tensor& out = graph.tensor(op.outputs[0]);
  return in.dtype == out.dtype && in.shape.is_static() && out.shape.is_static() &&
         in.shape.extents() == out.shape.extents();
}

// x + 0, x - 0, x * 1, x / 1; the neutral operand may come first where the operator commutes.
std::optional<size_t> neutral_operand(const EditableGraph& graph, const Op& op) {
  const bool sum = op.op_type == "Add" || op.op_type == "Sub";
  if (!sum && op.op_type != "Mul" && op.op_type != "Div") {
    return std::nullopt;
  }
  const double neutral = sum ? 0 : 1;
  if (graph.scalar(op.inputs[1]) == neutral) {
    return 1;
  }
  const bool commutes = op.op_type == "Add" || op.op_type == "Mul";
  return commutes && graph.scalar(op.inputs[0]) == neutral ? std::optional<size_t>(0)
                                                           : std::nullopt;
}

// A slice of everything that says so: from 0 to the end of any extent. (ONNX Runtime keeps one that
// names the extent.)
bool takes_all(const EditableGraph& graph, const Op& op) {
  if (op.op_type != "Slice" || op.inputs.size() < 3 || !same_type_and_shape(graph, op)) {
    return false;
  }
  const auto starts = graph.ints(op.inputs[1]);
  const auto ends = graph.ints(op.inputs[2]);
  return starts && ends &&
         std::all_of(starts->begin(), starts->end(), [](int64_t i) { return i == 0; }) &&
         std::all_of(ends->begin(), ends->end(), [](int64_t i) { return i >= kNoEnd; });
}

bool passes_on(const EditableGraph& graph, const Op& op) {
  const bool mask_wanted =
      op.outputs.size() > 1 && op.outputs[1].valid() &&
      (!graph.readers(op.outputs[1]).empty() || graph.tensor(op.outputs[1]).is_output);
  if (op.op_type == "Identity" || (op.op_type == "Dropout" && op.op_class == OpClass::kView)) {
    return !mask_wanted;
  }
  if (op.op_type == "Expand" && !graph.shape_known(op.outputs[0]) &&
      !graph.is_parameter(op.inputs[1])) {
    return false;  // the extents are computed in each run
  }
  if (op.op_type == "Cast" || op.op_type == "Expand") {
    return same_type_and_shape(graph, op);
  }
  return takes_all(graph, op);
}

// With an operand of one axis the runtime must know that the result has no more axes than x.
bool keeps_axes(const EditableGraph& graph, const Op& op, size_t neutral) {
  const Shape& operand = graph.shape(op.inputs[neutral]);
  return (operand.has_rank() && operand.rank() == 0) || graph.rank_known(op.inputs[1 - neutral]);
}

// Where(Not(c), a, b) is Where(c, b, a), if no other operator reads the Not.
void drop_not(EditableGraph& graph, OpId id) {
  const TensorId inverted = graph.op(id).outputs[0];
  const TensorId condition = graph.op(id).inputs[0];
  const auto reading = graph.readers(inverted);
  const std::vector<OpId> readers(reading.begin(), reading.end());
  const bool chooses = std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
    const Op& where = graph.op(reader);
    return where.op_type == "Where" && where.domain.empty() && where.inputs[0] == inverted &&
           where.inputs[1] != inverted && where.inputs[2] != inverted;
  });
  if (!chooses || readers.empty() || graph.tensor(inverted).is_output) {
    return;
  }
  for (const OpId reader : readers) {
    const std::vector<TensorId> inputs = graph.op(reader).inputs;
    graph.set_input(reader, 0, condition);
    graph.set_input(reader, 1, inputs[2]);
    graph.set_input(reader, 2, inputs[1]);
  }
  graph.remove_op(id);
}

}  // namespace

void remove_no_ops(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (!op.domain.empty() || op.inputs.empty() || op.outputs.empty() || !op.outputs[0].valid()) {
      continue;
    }
    if (op.inputs.size() == 2) {
      const auto neutral = neutral_operand(graph, op);
      if (neutral && !keeps_axes(graph, op, *neutral)) {
        continue;
      }
      if (neutral == size_t{0} && !graph.is_parameter(op.inputs[1])) {
        const TensorId value = op.inputs[1];
        graph.set_input(id, 1, op.inputs[0]);
        graph.set_input(id, 0, value);
      }
      if (neutral && same_type_and_shape(graph, graph.op(id))) {
        graph.bypass(id);
        continue;
      }
    }
    if (op.inputs[0].valid() && passes_on(graph, op)) {
      graph.bypass(id);
    }
  }
}

void drop_nots(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (graph.op(id).op_type == "Not" && graph.op(id).domain.empty()) {
      drop_not(graph, id);
    }
  }
}

}  // namespace dfsim::inline graphs
