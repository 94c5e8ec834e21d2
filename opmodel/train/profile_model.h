// Completes the rows of a profile from the model that was profiled.
//
// ONNX Runtime's profile names nodes but records no attributes, skips operands that are left out,
// and before version 1.8 gives no shapes. The optimised model it can write
// (optimized_model_filepath) has the same nodes, fused ones included. Rows and ops are joined by
// name; a row whose op type is not that of the op is left as it is. Shapes that were recorded win
// over those of the file, which may be symbolic.
#pragma once

#include <cstddef>

#include "datasets/profiles/profile.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline opmodel {

// The number of rows that were completed.
size_t complete_from_graph(const Graph& graph, Profile* profile);

}  // namespace dfsim::inline opmodel
