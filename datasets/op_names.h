// Names of operators across frameworks: ONNX (and ONNX Runtime), PyTorch (aten), MindSpore
// (Ascend).
//
// The tables are data: one line per known op type. An op type that is not listed keeps its own name
// and is OpClass::kOpaque, so that any profile still trains.
#pragma once

#include <string_view>

#include "graphs/ir/op_class.h"

namespace dfsim {

// What a framework's op type is to dfsim.
struct OpNameInfo {
  std::string_view name;     // in the framework
  std::string_view op_type;  // ONNX's name for the same work and operand order, else `name`
  OpClass op_class = OpClass::kOpaque;
};

// Class of an ONNX or ONNX Runtime op type; kOpaque when it is not known.
OpClass onnx_op_class(std::string_view op_type);
// Never nullptr for a known op type of MindSpore on Ascend; nullptr otherwise. Names differ in case
// and suffixes between versions ("Conv2D", "Conv2d"): compared without case, and a suffix "V2",
// "V3", "D" is dropped when the full name is not known.
const OpNameInfo* find_mindspore_op(std::string_view op_type);

}  // namespace dfsim
