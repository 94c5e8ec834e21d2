// Effort of an operator on a CPU that its FLOPs do not show: OpGeometry::cpu_effort.
//
// The constants are read off the measured rows of three CPUs. They need not fit one exactly, as the
// trees learn what is left, but they let times grow with what the kernels count (products, passes,
// pieces), also at sizes that no campaign measured. Internal to opmodel/features. O(rank of an
// operand).
#pragma once

#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// A convolution as products of matrices, one for each image and group.
double image_products_effort(const OpGeometry& geometry);
// A gather or scatter, whose FLOPs are `flops` > 0; 1 for operators that only count as such.
double indexed_effort(const OpDescriptor& op, double flops);
// Bytes that a scatter along columns walks through; 0 where they fit into a core's second cache,
// and for other operators.
double scattered_column_bytes(const OpDescriptor& op);
// A Resize, whose FLOPs are its results.
double resampling_effort(const OpDescriptor& op);
// The FLOPs of a recurrent layer and their effort.
void add_recurrent_work(const OpDescriptor& op, OpGeometry* geometry);

}  // namespace dfsim::inline opmodel
