// Linear resizing of images by PyTorch's kernel on GPUs.
//
// Purpose: the kernel gives a pixel of the result to a thread, which walks through the images and
//   their channels one after the other. MobileViT's 7 x 7 pixels of 4,608 channels take 17 times
//   as long as their bytes.
// Method: cycles per channel, fitted to an H100 and checked on an H200
//   (datasets/collect/torch_gpu/fit_resizes.py; docs/reference/cost-models.md has the errors).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Whether a pass marked `op` as resizing by that kernel (graphs/passes/layout/serial_images.cc).
bool has_serial_images(const OpDescriptor& op);

// `op` as profiles have it, without the mark.
void remove_serial_mark(OpDescriptor* op);

// Linear resizing of images by any other kernel: of other runtimes, or with channels last. Profiles
// of PyTorch have none.
bool resizes_in_parallel(const OpDescriptor& op);

// An elementwise kernel with the same image and result, which resembles it. O(rank).
OpDescriptor as_parallel_kernel(const OpDescriptor& op);

// Replaces the cost of an operator with that mark on a GPU by that of the law, a prior, unless it
// was measured. Leaves it where the device's clock or number of units is not known. The interval of
// resizing in parallel has room for kernels of half the speed. O(1).
void apply_serial_images(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
