// Times of ONNX Runtime's reductions on CPUs by the axes that they reduce.
//
// Purpose: a sum of squares along an inner axis whose rows lie a multiple of 2 KB apart takes three
//   times as long as along any other one, one over all axes a seventh; forms do not tell them
//   apart.
// Method: rates of one machine (datasets/collect/ort_cpu/kernels/plain_forms.py;
//   datasets/measured/other-cpus/plain_forms_genoa.csv).
// Internal to opmodel.
#pragma once

#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Microseconds on that many cores; 0 for operators of other types and where axes or extents are not
// known. O(rank).
double reduction_kernel_us(const OpDescriptor& op, int cores);

// Whether the axes decide more than the form of the operator tells: over all axes, or along one
// whose elements share few sets of a cache.
bool reduces_unlike_form(const OpDescriptor& op);

}  // namespace dfsim::inline opmodel
