// The readers of what a DequantizeLinear makes, as ONNX Runtime sees them when it looks for
// quantised operators: functions are still whole there, so the operators of one function count as
// one.
#pragma once

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// Whether one operator of the model reads the tensor, or only the caller. O(readers).
bool has_one_reader(const EditableGraph& graph, TensorId tensor);

// Gives each reader of a dequantised tensor, or constant, a DequantizeLinear of its own. Whether
// any was without. O(operators + readers).
bool give_readers_dequantisers(EditableGraph& graph);

}  // namespace dfsim::inline graphs
