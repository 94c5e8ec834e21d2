// Kernels of an engine (TensorRT) as models know them.
//
// Purpose: rows of products hold no GELU, rows of attention are those of servers, which write a
//   cache first and read no mask, and frameworks' layer normalisations read their rows twice. An
//   engine's kernels differ, and the runtime marks them (attribute engine_kernel) or names the
//   activation.
// Method: GELU on registers costs nothing in addition to a product on matrix units. A normalisation
//   whose row stays on the chip moves the bytes of an elementwise kernel with the same operands. A
//   mask is an addition on the chip. Short attention is no longer than a law in cycles says, which
//   is fitted to kernels that an H100 ran alone (datasets/collect/torch_gpu/fit_attention.py).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// A product with a GELU, or an operator that its runtime marked.
bool is_engine_kernel(const OpDescriptor& op);

// The operator whose rows tell its time. `op` is such a kernel. O(size of op).
OpDescriptor without_engine(const OpDescriptor& op);

// Limits `cost`, that of an engine's attention on a GPU, by that law; costs of other operators
// stay. The limit is for short kernels: it rises faster than the law where that says more than 15
// us. O(1).
void limit_attention(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
