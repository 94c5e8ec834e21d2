// The most time that a slice takes whose result is a small part of its operand.
//
// Purpose: models are trained on slices of a third or a half. From the size of the operand they
//   conclude 800 us for the last token of [1, 512, 32000], which takes 3 alone on an EPYC Turin.
//   A slice reads what it returns, so the result says how long it takes at most.
// Method: a start, twice the result's bytes at half of the memory's bandwidth, and on CPUs a time
//   for each run of elements in a row. A prediction below that stays. In the profiles of four
//   CPUs, 1 to 6 % of the slices of less than a quarter took longer, most of them of one element
//   (datasets/collect/ort_cpu/kernels/check_limits.py). No profile of a GPU has any.
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Microseconds; 0 for other operators, for results of a quarter of the operand and more, and where
// shapes or the bandwidth are not known. O(rank).
double small_slice_limit_us(const OpDescriptor& op, const DeviceSpec& device);

// Lowers `cost` to that limit: extrapolated. Measured times stay.
void apply_small_slice(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
