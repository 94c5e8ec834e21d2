// Times of products with packed weights (MatMulNBits, QMoE) on CPUs.
//
// Purpose: no campaign measured them; trees price a plain product of as many multiply-adds.
// Method: measured on one machine (datasets/collect/ort_cpu/kernels/decoder_ops.py;
//   datasets/measured/other-cpus/decoder_ops.csv), as shares of the rates of products.
// Internal to opmodel.
#pragma once

#include <string_view>

#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

// Nanoseconds on one core of products of that many rows with packed weights, whose attributes are
// MatMulNBits' bits and accuracy_level. O(1).
double packed_weights_ns(std::string_view attributes, double weights, double rows,
                         const CoreRates& rates);

}  // namespace dfsim::inline opmodel
