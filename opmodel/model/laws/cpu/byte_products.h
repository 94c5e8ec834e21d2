// Products of bytes on x86 whose types ONNX Runtime has no fast kernel for.
//
// Purpose: models of CPUs are trained on unsigned activations and signed weights, which x86
//   multiplies in one instruction (VPMADDUBSW, VPDPBUSD). With others the same product takes 1.3 to
//   30 times as long, and no row of a campaign shows it.
// Method: measured without VNNI and with it (datasets/collect/ort_cpu/kernels/byte_products.py;
//   datasets/measured/other-cpus/byte_products.csv, byte_products_vnni.csv). MLAS has no kernel for
//   signed activations on x86 without AVX-VNNI-INT8 and computes them in portable code; it widens
//   unsigned weights to 16 bits, which costs little next to three instructions for a product and
//   much next to VNNI's one.
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Microseconds of a product of signed bytes on x86, other than depthwise; 0 for other operators and
// devices. O(1).
double signed_product_us(const OpDescriptor& op, const DeviceSpec& device);
// A product with unsigned weights takes that many times as long as with signed ones, on x86; 1 for
// other operators and devices. O(1).
double unsigned_weights_factor(const OpDescriptor& op, const DeviceSpec& device);

// Changes the cost of such products; others, and measured ones, stay. O(1).
void apply_byte_product(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
