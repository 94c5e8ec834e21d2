// Gradients of a convolution: operators of their own with the work of the convolution.
#pragma once

#include <string_view>

#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// End the kinds of gradients' geometries: "dense-filter-gradient", "dense-image-gradient".
inline constexpr std::string_view kFilterGradientSuffix = "-filter-gradient";
inline constexpr std::string_view kImageGradientSuffix = "-image-gradient";

// Whether `op` computes the gradient of the filter, with operands and a result of known shapes: the
// image [N, C, ...] and the gradient of the convolution's result [N, M, ...] give the filter
// [M, C / group, ...].
bool is_filter_gradient(const OpDescriptor& op);

// Whether `op` computes the gradient of the image in a training step that dfsim made: the gradient
// of the convolution's result and the filter give the image, as in a transposed convolution.
bool is_input_gradient(const OpDescriptor& op);

inline bool is_conv_gradient(const OpDescriptor& op) {
  return is_filter_gradient(op) || is_input_gradient(op);
}

// The convolution itself, which has the same image, filter, result and multiply-adds; any other
// operator as it is.
OpDescriptor forward_convolution(const OpDescriptor& op);

// A cost of the convolution as that of its gradient: at best extrapolated, with an interval that
// holds the backward passes of most networks.
void widen_for_gradient(OpCost* cost);

}  // namespace dfsim::inline opmodel
