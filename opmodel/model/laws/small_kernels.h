// Times of kernels, carried over from a board whose kernels were measured alone.
//
// Purpose: most public tables time a launch and its kernel together. The launch varies by more than
//   a kernel of a few microseconds takes, so such rows cannot tell what small kernels cost. No
//   public table has pooling, copies and others at all.
// Method: a kernel's time is its roofline, which follows the other board's sustained rates, and
//   time on the chip, which takes as many cycles there (docs/reference/cost-models.md).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// The answer is short enough for the scatter of a launch in its rows to matter.
bool launch_may_matter(const OpCost& cost);

// `op` as its kernel runs on any board: without the bias of a convolution, which PyTorch adds in a
// kernel of its own on the known board, and engines in the same.
OpDescriptor as_kernel(const OpDescriptor& op);

// Microseconds on `device` of an operator that takes `reference` on the board `known`; 0 where
// `reference` does not come from rows, or where a clock is not known. O(1).
double carried_over_us(const OpCost& reference, const OpGeometry& geometry, const DeviceSpec& known,
                       const DeviceSpec& device);

// The same as a limit for small kernels: large ones are hardly limited.
double small_kernel_us(const OpCost& reference, const OpGeometry& geometry, const DeviceSpec& known,
                       const DeviceSpec& device);

// A batch of products in 16 bits whose rows are aligned and whose matrices fill a tile: their
// kernels are the same on all boards, and public tables have them in fp32 alone.
bool is_plain_batch(const OpDescriptor& op, const OpGeometry& geometry);

// The longest time of such a batch. As carried_over_us(), with room for worse kernels.
double batch_limit_us(const OpCost& reference, const OpGeometry& geometry, const DeviceSpec& known,
                      const DeviceSpec& device);

// A convolution whose kernel is another one than that of dense convolutions, and whose rows on the
// known board say more than those of dense ones elsewhere: grouped, transposed, or depthwise with a
// large window.
bool is_carried_over(const OpGeometry& geometry);

// Takes `time_us` with the interval of such an answer; for a depthwise convolution the geometric
// mean with the prior's, and an interval that holds both.
void set_carried_over(double time_us, const OpGeometry& geometry, OpCost* cost);

// The least time on a board that is faster than `known` in every respect: no kernel gains more than
// the rate that gained most. 0 for other boards, and as carried_over_us().
double least_carried_us(const OpCost& reference, const OpGeometry& geometry,
                        const DeviceSpec& known, const DeviceSpec& device);

// Lifts `cost`, a prior, to that time.
void lift_to_least(double least_us, OpCost* cost);

// Takes `limit_us` where `cost` is longer; such an answer is a prior. Where it is not, its interval
// ends where that of the limit does.
void limit_by_small_kernel(double limit_us, OpCost* cost);

}  // namespace dfsim::inline opmodel
