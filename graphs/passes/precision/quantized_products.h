// Products of an activation with a weight on 8 bits: dynamic and weight-only quantisation, fp8.
#pragma once

#include "graphs/passes/editable_graph.h"
#include "graphs/passes/precision/precision.h"

namespace dfsim::inline graphs {

// MatMul, Gemm and PyTorch's linear with a weight matrix:
//   int8-dynamic  DynamicQuantizeLinear, once per activation, and MatMulIntegerToFloat; both in
//   one,
//                 DynamicQuantizeMatMul, where one product alone reads the activation
//   int8-weights, int4-weights  MatMulNBits in the plan's blocks
//   fp8           QuantizeLinear, once per activation, and the product of fp8 operands
// Experts (MoE) become QMoE with weights of 4 bits, or of 8 under int8-weights and int8-dynamic;
// under fp8 they stay MoE on operands of 8 bits. A bias goes into the product. O(ops * rules).
void quantize_products(EditableGraph& graph, const PrecisionPlan& plan);

}  // namespace dfsim::inline graphs
