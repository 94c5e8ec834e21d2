// PyTorch's group normalisation on GPUs.
//
// Purpose: its first kernel gives each group of an image to one thread block, so a batch with few
//   groups leaves most of a GPU idle: PoolFormer's single groups take three times their bytes, one
//   group of one image a hundred times. Tables that other boards have know normalisations of rows.
// Method: cycles per element, fitted to an H100's kernels and checked on an H200's
//   (datasets/collect/torch_gpu/fit_group_norms.py; docs/reference/cost-models.md has the errors).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Microseconds of a GroupNormalization of [N, C, ...], whose statistics and result are a kernel
// each; 0 for other operators, and where clock, units or bandwidth are not known. O(rank).
double group_norm_us(const OpDescriptor& op, const DeviceSpec& device);

// Replaces `cost` of such an operator on a GPU by that, a prior, unless rows are about it. Others
// stay. O(rank).
void apply_group_norm(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
