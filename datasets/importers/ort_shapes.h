// Operands of a node as ONNX Runtime's profiler writes them.
#pragma once

#include <string>
#include <string_view>

#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// Appends the operands of [{"float":[1,256]},{"int64":[2]}], perhaps as a quoted string; false when
// it is something else.
bool parse_ort_shapes(std::string_view json, TensorList* tensors);

// Canonical attributes that the shapes tell: those of a convolution (tensor_lists.h), else "".
std::string guess_ort_attributes(std::string_view op_type, const TensorList& inputs,
                                 const TensorList& outputs);

}  // namespace dfsim::inline datasets
