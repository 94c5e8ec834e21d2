// The epilogue of a convolution's kernel on a GPU: it adds a bias and a skip connection and applies
// an activation before it stores its results.
//
// Purpose: PyTorch's tables, from which models learn, add a bias in a kernel of its own. Engines
//   and cuDNN's fused calls do all of this on values in registers, so it costs no time but the
//   reading of the skip connection.
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// A FusedConv, or a Conv that its runtime marked (attribute bias_in_kernel).
bool has_conv_epilogue(const OpDescriptor& op);

// The convolution alone. `op` has an epilogue. O(size of op).
OpDescriptor without_conv_epilogue(const OpDescriptor& op);

// Adds to `cost`, which is that of the convolution alone, the reading of the skip connection at the
// memory's sustained rate. Costs of other operators, and on other devices than GPUs, stay. O(1).
void add_residual_read(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
