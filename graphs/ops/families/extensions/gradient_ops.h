// Operators of domain "dfsim.training": the parts of a training step that ONNX has no operator for.
// graphs/training makes them.
//
//   AttentionGrad    gradient, queries, keys, values [batch, heads, positions, size] and what else
//                    the forward operator reads: gradients of the three
//   ElementwiseGrad  gradient of one operand: inputs are the result's gradient and what the forward
//                    operator reads or makes; attributes `of`, its name, and `flops` per element
//   SoftmaxGrad      product of gradient and result, and the result (LogSoftmax: the gradient
//   itself,
//                    and the result); `of`, and the same attributes as the forward operator
//   NormGrad         gradient, input, scale (and offset): gradients of input, scale, offset; `of`.
//   The
//                    last two are sums over rows, which another kernel makes from gradient and
//                    input
//   GatherGrad       gradient and indices: a tensor of `shape` into which rows are added at `axis`
//   LossGrad         what a loss sends back for a result of the network
//   Backward         all gradients of an operator without a rule of its own
//   ListUpdate       gradients, weights and states of a list of weights: one operation of the
//                    optimiser on all of them; `of`, `elements`, `reads`, `writes`, `flops`
//   SgdUpdate        parameter and gradient: the new parameter
#pragma once

#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {

inline constexpr std::string_view kTrainingDomain = "dfsim.training";
// Attribute of a forward BatchNormalization: it normalises with the statistics of the part of the
// batch that it is given, as each device does under data parallelism.
inline constexpr std::string_view kOwnStatistics = "own_statistics";

// Factor rules of gradients that TensorFlow's graphs have, too.
void factors_filter_gradient(FactorContext& context);
void factors_pool_gradient(FactorContext& context);
void factors_slice_gradient(FactorContext& context);

}  // namespace dfsim::inline graphs
