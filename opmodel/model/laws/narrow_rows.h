// Layer normalisations of many narrow rows, or of rows that no vector load divides.
//
// Purpose: PyTorch's kernel gives each row to one thread block, whose latency is the same for 32
//   columns as for 300, so vision transformers (rows of 32 to 192 columns) are far from their
//   roofline. Public tables begin at 260 columns.
// Method: cycles of a unit per row, fitted to an H100
//   (datasets/collect/torch_gpu/fit_narrow_rows.py; docs/reference/cost-models.md has the errors,
//   also on other boards).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// Microseconds that the rows of a layer normalisation take at least on a GPU, without a launch; 0
// for any other operator, for other devices, and where the clock or the number of units is not
// known. `geometry` is geometry_of(op). O(1).
double narrow_rows_us(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device);

}  // namespace dfsim::inline opmodel
