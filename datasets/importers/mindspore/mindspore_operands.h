// Operands and attributes of a profiled operator as dfsim's graphs write them: logical shapes,
// ONNX's order of operands, and the attributes that follow from shapes.
#pragma once

#include <string>

#include "datasets/importers/mindspore/mindspore_layouts.h"
#include "datasets/importers/op_names.h"
#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

struct MindsporeOperands {
  TensorList inputs;
  TensorList outputs;
  std::string attributes;  // a convolution's geometry, a product's transposes; "" = none
};

// `op` is the operator's entry in the table of names. Gradients get the operands of the operators
// that a training step of dfsim has in their place: a transposed convolution reads the gradient and
// the weight, a filter's gradient the image and the gradient, a pool's the gradient, the image and
// the result. A TransData keeps its formats: they are what it does.
MindsporeOperands graph_operands(const OpNameInfo& op, TensorList inputs, TensorList outputs,
                                 const LogicalShapes& shapes);

// FLOPs of a product or convolution with these operands; 0 for other operators.
double product_flops(const OpNameInfo& op, const MindsporeOperands& operands);

}  // namespace dfsim::inline datasets
