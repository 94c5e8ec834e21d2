// How attention kernels divide their work among the compute units of a GPU, and how long the
// slowest unit takes. Internal to opmodel.
//
// The roofline divides work and traffic evenly, which attention rarely does. A decoding kernel has
// one block per sequence and key head, and each block reads its keys at what one unit can keep in
// flight; only kernels that split the keys use the other units. A prefill kernel ends with the
// block that has the most keys. The prior needs this time as part of its base: on another board the
// even share shrinks with the rates, the slowest block does not.
// Papers: Dao 2023 (arXiv:2307.08691), Flash-Decoding (crfm.stanford.edu/2023/10/12/flashdecoding).
#pragma once

#include "hardware/platform.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// The number of key splits FlashAttention's decoding heuristic picks for `blocks` blocks of
// `key_blocks` blocks of keys each: the fewest that come within 85 % of the best wave occupancy
// (flash-attention 2.x, num_splits_heuristic). O(1).
double key_splits(double blocks, double key_blocks, double units);

// Least time of the slowest compute unit, in microseconds; 0 for ops of other families. O(1).
double slowest_unit_us(const OpGeometry& geometry, const DeviceSpec& device);

}  // namespace dfsim::inline opmodel
