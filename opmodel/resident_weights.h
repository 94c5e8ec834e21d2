// Weights that the last-level cache of a CPU keeps from one run to the next.
//
// Purpose: a CPU's profiles come from networks that are larger than the cache, so a product of few
//   rows takes as long as its weights take from memory. Where all weights of a network fit into the
//   cache, the same product takes half of that or less.
// Method: rates of the cache and the memory, measured with chains of products
//   (datasets/collect/ort_cpu/kernels/resident_weights.py; datasets/measured/other-cpus).
// Internal to opmodel: make_cost_table() applies it.
#pragma once

#include <span>

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Share of a graph's `weight_bytes` that the last-level cache of `device` still holds when the next
// run wants them, in [0, 1]: all if they, with the largest operator's tensors, take half of it (of
// 32 MiB of a larger one), none if they take all of it. 0 for a device other than a CPU or without
// a cache. O(rows).
double resident_share(std::span<const OpDescriptor> rows, Bytes weight_bytes,
                      const DeviceSpec& device);

// Microseconds less that a product with weights takes when the cache holds `share` of them, out of
// `time_us` with weights from memory; never below the cache's and the arithmetic's own time. O(1).
double resident_gain_us(const OpDescriptor& op, const DeviceSpec& device, double share,
                        double time_us);

// Shortens predicted and extrapolated costs of products on CPUs. The upper end of their intervals
// stays, because neighbours may take the cache; measured costs stay as they are.
void apply_resident_weights(std::span<const OpDescriptor> rows, Bytes weight_bytes,
                            const Platform& platform, CostTable* costs);

}  // namespace dfsim::inline opmodel
