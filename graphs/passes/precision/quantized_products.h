// Products of an activation with a weight on 8 bits: dynamic and weight-only quantisation, fp8.
#pragma once

#include "graphs/passes/editable_graph.h"
#include "graphs/passes/precision/precision.h"

namespace dfsim::inline graphs {

// MatMul, Gemm and PyTorch's linear with a weight matrix:
//   int8-dynamic  DynamicQuantizeLinear, once per activation, and MatMulIntegerToFloat; both in
//   one,
//                 DynamicQuantizeMatMul, where one product alone reads the activation
//   int8-weights, int4-weights  MatMulNBits in blocks of 128
//   fp8           QuantizeLinear, once per activation, and the product of fp8 operands
// A bias goes into the product. O(ops * rules).
void quantize_products(EditableGraph& graph, const PrecisionPlan& plan);

}  // namespace dfsim::inline graphs
