// The most time that a slice takes whose result is a small part of its operand.
//
// Purpose: models are trained on slices of a third or a half. From the size of the operand they
//   conclude 800 us for the last token of [1, 512, 32000], which takes 3 on an EPYC Turin, and 40
//   on an H100. A slice reads what it returns, so the result says how long it takes.
// Method: twice the result's bytes at a third of the memory's bandwidth, a start, and on CPUs 10 ns
//   for each run of elements in a row. A prediction below that stays.
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
