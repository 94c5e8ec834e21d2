// A larger operator contains the smaller one.
//
// Purpose: the trees of a prior answer for a board that they have not seen, and where its small
//   operators lie between leaves, a product of 128 rows can cost twice one of 512. A library could
//   run the larger product in its place, with zeros in the rows that are missing.
// Method: a product, convolution or attention costs no more than the same with two or four times
//   the rows or images, but for the errors that these have, too.
// Internal to opmodel.
#pragma once

#include <optional>

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// `op` with `times` as many rows or images. Nothing where its operands say no leading axis that can
// grow, and for other classes and devices than GPUs. O(size of op).
std::optional<OpDescriptor> with_more_rows(const OpDescriptor& op, const OpGeometry& geometry,
                                           const DeviceSpec& device, int64_t times);

// Limits `cost`, a prior, by that of a larger operator. Other costs stay. O(1).
void limit_by_larger(const OpCost& larger, OpCost* cost);

}  // namespace dfsim::inline opmodel
