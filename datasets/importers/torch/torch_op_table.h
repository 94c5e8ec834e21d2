// The table of PyTorch's operators: what each is called in ONNX, its class, and the order of its
// arguments.
#pragma once

#include <string_view>

#include "graphs/ir/op_class.h"

namespace dfsim::inline datasets {

// How arguments become operands.
enum class TorchForm {
  kTensors,    // all tensors in order, result unknown
  kUnary,      // the first tensor; the result is like it
  kBinary,     // two operands (a number is a scalar), broadcast
  kAddmm,      // bias, A, B
  kMatMul,     // A, B
  kBaddbmm,    // bias, A, B
  kConv,       // geometry in ConvArguments
  kLayerNorm,  // X, normalised shape, scale, bias
  kBatchNorm,  // X, scale, bias, mean, variance
  kSoftmax,    // X, axis
  kGather,     // data, indices (or data, axis, indices)
  kPool,       // X, kernel, strides, pads, ...
  kAttention,  // Q, K, V as [b,h,s,d]
  kFlash,      // Q, K, V as [b,s,h,d]
};

struct TorchOpInfo {
  std::string_view name;
  std::string_view op_type;  // "" keeps the name
  OpClass op_class;
  TorchForm form;
};

// The row of an operator ("aten::add"), or nullptr. In-place variants ("add_") and overloads
// ("add.Tensor") have the row of the operator.
const TorchOpInfo* find_torch_op(std::string_view name);

}  // namespace dfsim::inline datasets
