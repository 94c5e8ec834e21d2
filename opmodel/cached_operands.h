// Operands that the last-level cache of a GPU still holds from the operator that made them.
//
// Purpose: the prior and the limits take every byte from memory. A board with a cache of 72 MB (RTX
// 4090) finds
//   the results of small networks there: compiled by TorchInductor, they run faster than their
//   bytes would take from memory.
//   Tables of kernels repeat one operator, so a board's own rows of small operators are those of a
//   warm cache already: where a board has rows, only operators of 8 bits change, which no table has
//   in the form that networks run them. Limits (all operators at the speed of light) change on
//   every board: what a cache may hold, results too, costs them nothing.
// Method: an operand counts as kept if what was read and written since it was made fits into the
//   cache with it. This share of the operator's bytes then comes at the cache's rate, 20 GB/s per
//   unit (roofline.cc). Nothing is fitted; docs/notes/accuracy-experiments.md has the effects.
// Shared with study, which applies it to the cost tables of workloads.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/workload.h"

namespace dfsim::inline opmodel {

// Part of a memory-bound operator's time that it takes when its `bytes` include `kept` ones from
// the cache, in (0, 1]. 1 for a device without a cache that is faster than its memory. O(1).
double cached_time_share(double bytes, double kept, const DeviceSpec& device);

// Bytes of `rereads` that the device's cache keeps. O(rereads).
double kept_bytes(const std::vector<Reread>& rereads, const DeviceSpec& device);

// Shortens priors of operators on GPUs that wait for memory, down to a launch. The upper ends of
// their intervals stay: the cache is shared. O(rows x devices).
void apply_cached_operands(const Workload& workload, const Platform& platform, CostTable* costs);

}  // namespace dfsim::inline opmodel
