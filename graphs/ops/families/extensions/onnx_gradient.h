// Gradient (ai.onnx.preview.training): stands for a backward graph that is not in the file.
#pragma once

#include <string_view>

#include "base/status.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// Attributes that cost_gradients() adds: the work of the operators between xs and y.
inline constexpr std::string_view kForwardMacs = "dfsim.forward_macs";
inline constexpr std::string_view kForwardFlops = "dfsim.forward_flops";
inline constexpr std::string_view kForwardRead = "dfsim.forward_bytes_read";
inline constexpr std::string_view kForwardWritten = "dfsim.forward_bytes_written";

// Writes down, for each Gradient of the graph itself (not of subgraphs), what lies between its xs
// and y. Error (kInvalidInput): y or an x names no tensor, work that does not fit in 63 bits, more
// than 100 Gradients. O(ops) for each Gradient.
StatusOr<Graph> cost_gradients(Graph graph);

}  // namespace dfsim::inline graphs
