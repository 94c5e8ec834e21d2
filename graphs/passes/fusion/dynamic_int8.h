// Products whose activation is quantised while the network runs, in one operator.
#pragma once

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// Where one MatMulIntegerToFloat alone reads what the DynamicQuantizeLinear `quantise` makes, both
// become one DynamicQuantizeMatMul (ONNX Runtime's DynamicQuantizeMatMulFusion). O(readers).
void join_dynamic_quantizer(EditableGraph& graph, OpId quantise);

}  // namespace dfsim::inline graphs
