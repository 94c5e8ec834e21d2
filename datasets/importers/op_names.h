// Names of operators across frameworks: ONNX (and ONNX Runtime) and MindSpore on Ascend.
//
// The tables are data: one line per known op type. An op type that is not listed keeps its own name
// and is OpClass::kOpaque, so that any profile still trains.
#pragma once

#include <string_view>

#include "graphs/ir/op_class.h"

namespace dfsim::inline datasets {

// dfsim's counterpart of a framework's op type.
struct OpNameInfo {
  std::string_view name;     // in the framework
  std::string_view op_type;  // ONNX's or dfsim's name for the same work, "" when it has none
  OpClass op_class = OpClass::kOpaque;
};

// Class of an ONNX or ONNX Runtime op type; kOpaque when it is not known.
OpClass onnx_op_class(std::string_view op_type);

// The op type MindSpore's profiler on Ascend calls `name`. Compared without case; the suffixes "D"
// (attributes fixed at compile time) and "V2", "V3" are ignored when the full name is not listed. A
// fused kernel ("FusionOp_Conv2D_ReLU") gets the class of its heaviest part. For names that are not
// known: no op_type, kOpaque.
OpNameInfo mindspore_op(std::string_view name);

}  // namespace dfsim::inline datasets
