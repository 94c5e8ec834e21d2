// The kernels of a training step that a compiler made (TorchInductor): forward and backward pass.
//
// Purpose: passes of inference fuse what has no backward pass afterwards, so a compiled step is
//   fused once it is complete. Elementwise operators, casts, dropouts and copies into another
//   layout become part of a kernel with the softmax or normalisation, or the gradient of one,
//   before or after them, if they have as many elements. A kernel writes what others read of the
//   operators in it, the backward pass above all; dropout's masks are made again from a seed. Batch
//   normalisation becomes sums by channel and arithmetic by element, as do its gradients.
// Paper: Ansel et al. 2024 (doi:10.1145/3620665.3640366), section 4.
#pragma once

#include "base/status.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// `step` as make_training_graph() gives it. O(operators + edges), times the operators of a kernel.
// Error: that of EditableGraph::finish().
StatusOr<Graph> fuse_step_kernels(const Graph& step);

}  // namespace dfsim::inline graphs
