// The gradient of a convolution's filter: an operator of its own with the work of the convolution.
#pragma once

#include <string_view>

#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Ends the kind of its geometry: "dense-filter-gradient".
inline constexpr std::string_view kFilterGradientSuffix = "-filter-gradient";

// Whether `op` computes such a gradient, with operands and a result of known shapes: the image
// [N, C, ...] and the gradient of the convolution's result [N, M, ...] give the filter
// [M, C / group, ...].
bool is_filter_gradient(const OpDescriptor& op);

// The convolution itself, which has the same image, filter, result and multiply-adds; any other
// operator as it is.
OpDescriptor forward_convolution(const OpDescriptor& op);

}  // namespace dfsim::inline opmodel
