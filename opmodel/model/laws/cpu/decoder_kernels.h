// Times of ONNX Runtime's operators of language models on CPUs: products with packed weights,
// attention in one operator, the embedding before BERT's layers.
//
// Purpose: no campaign measured them. Trees that know other products and attention with its
//   projections answer up to 500 times too long for one token next to a cache.
// Method: measured on one machine with one and two threads
// (datasets/collect/ort_cpu/kernels/decoder_ops.py;
//   datasets/measured/other-cpus/decoder_ops.csv), as shares of the device's rates of products.
// Internal to opmodel.
#pragma once

#include <string_view>

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

// Microseconds on the device, which is a CPU; 0 for operators that were not measured and where the
// device has no rate of fp32. O(1).
double decoder_kernel_us(const OpDescriptor& op, const DeviceSpec& device);

// Nanoseconds on one core of products of that many rows with packed weights, whose attributes are
// MatMulNBits' bits and accuracy_level. O(1).
double packed_weights_ns(std::string_view attributes, double weights, double rows,
                         const CoreRates& rates);

// How far that time may be off, as a factor, on the machine that was measured. O(1).
double decoder_kernel_spread(const OpDescriptor& op);

}  // namespace dfsim::inline opmodel
