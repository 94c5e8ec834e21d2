// The least time of ONNX Runtime's operators on CPUs whose kernels work piece by piece.
//
// Purpose: a broadcast over rows of three elements, a concatenation of short columns or a mean over
//   a short inner axis calls a function for each piece, and a pool reads its whole window for each
//   result. Campaigns measure images and sequences, whose pieces are long and windows small, so
//   trees predict these forms 4 to 100 times too short.
// Method: nanoseconds per piece, the fastest of several runs of one machine
//   (datasets/collect/ort_cpu/kernels/plain_forms.py;
//   datasets/measured/other-cpus/plain_forms.csv). They are limits: a prediction that is longer, or
//   hardly shorter, stays as it is.
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// How many times in a row ONNX Runtime's broadcast of two operands starts again: the results that
// one call computes are those of the last axes, as long as each operand has them all or none of
// them. Axes of one element at the end do not count where all operands have
// them and others. 0 where both operands
// have the same shape, or the result is not known. O(rank).
double broadcast_spans(const OpDescriptor& op);

// Microseconds that the pieces take at least on that many cores; 0 for other operators. O(rank).
double short_pieces_us(const OpDescriptor& op, int cores);

// Microseconds of a scatter along columns that leave a core's second cache, where the last cache is
// fast enough to serve them: each element waits as long as a core reads sixteen lines. 0 for
// other operators and for slower caches, whose rows teach the trees. O(rank).
double column_scatter_us(const OpDescriptor& op, const DeviceSpec& device);

// Lifts `cost`, the answer of a model for a CPU, to that limit where it is far below:
// extrapolated, with an interval that allows for another processor, or lowers it to
// column_scatter_us(). Measured times stay.
void apply_short_pieces(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
