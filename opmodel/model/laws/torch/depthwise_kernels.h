// PyTorch's own kernels for depthwise convolutions and their gradients, on NVIDIA's GPUs.
//
// Purpose: no public table has depthwise convolutions, and trees that know dense ones put them at
//   their roofline. With channels first, PyTorch runs kernels of its own in fp32, and in 16 bits
//   where cuDNN has none; instructions limit them, five to thirty times below the roofline.
// Method: multiply-adds per cycle and unit by window and stride, medians of an H100's and an H200's
//   kernels. The gradient of a filter is one block per weight, whose warps walk through the images:
//   cycles per step of a warp, and steps that each image adds, fitted to the H200's
//   (datasets/collect/torch_gpu/fit_depthwise.py; docs/reference/cost-models.md has the errors).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Microseconds of the kernel that PyTorch runs for `op`, a depthwise convolution on images with
// channels first or one of its gradients; 0 for other operators, for forward convolutions that
// cuDNN runs, and where the clock or the number of units is not known. O(rank).
double depthwise_kernel_us(const OpDescriptor& op, const DeviceSpec& device);

// Lifts `cost` of a depthwise convolution that no row is about (a prior or an extrapolation) to
// this time. Costs of other operators stay. O(rank).
void limit_depthwise(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
