// The time that PyTorch's and ONNX Runtime's convolutions of 16 bits and in TF32 spend on images
// with their channels first. Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// Microseconds that conversions to the layout of the matrix units' kernels add to a dense
// convolution of 16 bits or in TF32, at the rates that the device sustains; 0 for all other
// operators. A fused convolution arrives here as the convolution alone (conv_epilogue.h). The
// shares are fitted to published runs (docs/reference/cost-models.md). O(1).
double layout_conversion_us(const OpDescriptor& op, const OpGeometry& geometry,
                            const DeviceSpec& device);

// Microseconds that a gradient of such a convolution takes beyond that: its kernels read and write
// channels last alone, also for windows of one pixel, so all operands are converted. `forward` is
// the convolution (conv_gradient.h), `geometry` its geometry. O(1).
double gradient_conversion_us(const OpDescriptor& forward, const OpGeometry& geometry,
                              const DeviceSpec& device);

// `cost` of a convolution that was measured with channels first, as it is where its tensors have
// their channels last already (attribute channels_last): shorter, and extrapolated. Any other cost
// stays as it is. O(1).
void leave_out_conversions(const OpDescriptor& op, const OpGeometry& geometry,
                           const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
