// Convolutions that add an image to their results on a CPU.
//
// Purpose: ONNX Runtime's convolutions in blocks of channels may write their results over an image
//   that they add. On four CPUs, such a convolution takes 1.00 to 1.02 times as long as an equal
//   one without a sum where results have up to 4 MB, and 1.02 to 1.09 times above
//   (datasets/collect/ort_cpu/kernels/sums.py). Trees know few depthwise ones and took those of
//   repeated branches (GhostNetV3, RepGhost) 1.1 to 1.5 times too long, so they are priced without.
// Internal to opmodel.
#pragma once

#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// A depthwise convolution in blocks of channels that adds an image.
bool adds_in_place(const OpDescriptor& op);

// The convolution without the sum. `op` adds in place. O(size of op).
OpDescriptor without_sum(const OpDescriptor& op);

}  // namespace dfsim::inline opmodel
