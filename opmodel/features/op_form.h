// Forms of operators: the attribute values that decide which kernel runs.
//
// Purpose: trees know sizes, not algorithms. A cubic Resize, a Softmax over an inner axis or a
//   dilated convolution runs another kernel than the forms that a model was trained on, at any
//   size. A model stores the forms of its rows (ModelPart::forms) and calls the others
//   extrapolated.
// A form has no sizes in it, so that two operators of one form differ only in what features show.
// Complexity: O(rank).
#pragma once

#include <string>
#include <string_view>

#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// For people as well: "nchwc.Conv depthwise dilated", "Softmax inner axis", "Resize cubic
// half_pixel", "Add-broadcast int64". `geometry` is geometry_of(op).
std::string op_form(const OpDescriptor& op, const OpGeometry& geometry);

// Two forms of products that differ only in the operator's name and in which operands are
// transposed: a GPU's library has the same kernels for them, ONNX Runtime on a CPU has not.
bool alike_on_gpus(std::string_view a, std::string_view b);

}  // namespace dfsim::inline opmodel
