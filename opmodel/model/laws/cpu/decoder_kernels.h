// Times of ONNX Runtime's operators of language models on CPUs: products with packed weights,
// attention in one operator, the embedding before BERT's layers.
//
// Purpose: no campaign measured them. Trees that know other products and attention with its
//   projections answer up to 500 times too long for one token next to a cache.
// Method: measured on one machine with one and two threads
//   (datasets/collect/ort_cpu/kernels/decoder_ops.py;
//   datasets/measured/other-cpus/decoder_ops.csv), as shares of the device's rates of products.
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Microseconds on the device, which is a CPU; 0 for operators that were not measured and where the
// device has no rate of fp32. O(1).
double decoder_kernel_us(const OpDescriptor& op, const DeviceSpec& device);

// How far that time may be off, as a factor, on the machine that was measured. O(1).
double decoder_kernel_spread(const OpDescriptor& op);

}  // namespace dfsim::inline opmodel
