// Which Resize ONNX Runtime turns into the Upsample of blocked channels, and into which. Internal
// to graphs/passes/layout. O(1).
#pragma once

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// By whole factors of height and width, to the nearest value counted from the corner or linearly.
// Scales or sizes are constants; sizes need an operand whose extents the runtime knows.
bool has_blocked_upsampling(const EditableGraph& graph, const Op& resize);

// The operator that does the same in blocks; its inputs are still those of `resize`.
Op blocked_upsampling(const EditableGraph& graph, const Op& resize);

}  // namespace dfsim::inline graphs
