// Products of an activation and a weight, for passes that change the weight's columns.
#pragma once

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// Whether the operator multiplies by a weight of two axes that is its second operand. The columns
// of the result are the weight's last axis, or its first one when Gemm turns it.
inline bool multiplies_by_weight(const EditableGraph& graph, const Op& op) {
  const bool linear = op.domain == "aten" && op.op_type == "linear";
  const bool product = op.domain.empty() && (op.op_type == "MatMul" || op.op_type == "Gemm");
  return (linear || product) && op.inputs.size() > 1 && graph.is_parameter(op.inputs[1]) &&
         graph.shape(op.inputs[1]).rank() == 2;
}

inline bool has_turned_weight(const Op& op) { return op.attributes.int_or("transB", 0) != 0; }

}  // namespace dfsim::inline graphs
