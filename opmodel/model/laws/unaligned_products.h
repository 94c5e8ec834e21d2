// Products of 16 bits or in TF32 whose rows do not begin at multiples of 16 bytes.
//
// Purpose: GPU libraries have their fast kernels for aligned rows only. A vocabulary of 50,257
//   tokens or 197 image patches falls back to kernels that load one or two elements at a time, up
//   to eight times slower. Public tables have aligned products alone, so a model that is trained on
//   them would price a language model's last layer at the speed of the others.
// Method: the fallback's limit is the loads of a thread block, in clock cycles of a unit, so it
//   holds for other boards. Fitted to products of an H100 and compared with others' measurements on
//   an RTX 4090 (datasets/collect/torch_gpu/fit_unaligned.py; docs/reference/cost-models.md has the
//   errors).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// A product on 16-bit or TF32 operands of which a row of at least one does not fill whole 16 bytes.
// `geometry` is geometry_of(op). O(1).
bool is_unaligned_product(const OpDescriptor& op, const OpGeometry& geometry);

// Microseconds that the fallback kernels take at least; 0 for aligned products, for devices other
// than GPUs with matrix units, and where the clock or the number of units is not known. O(1).
double unaligned_product_us(const OpDescriptor& op, const OpGeometry& geometry,
                            const DeviceSpec& device);

}  // namespace dfsim::inline opmodel
