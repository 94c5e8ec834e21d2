// tensorflow_form: a network of TensorFlow in one form, whichever way it comes: as TensorFlow's own
// file, or as ONNX by tf2onnx.
//
// Both write the same network down differently: tf2onnx folds most scales and biases and leaves
// some, transposes where a layout changes, multiplies by what TensorFlow divides by, and reads a
// list's element with Gather. TensorFlow never runs a graph as it is written; its rewriter,
// Grappler, folds and cleans up first. So does this, before the passes of a runtime: sums and
// products that change nothing go, equal operators run once, padding, scales and sums per channel
// go into convolutions, a bias into its matrix product, a Concat into the one
// that reads it, transposes to where they cancel; an element of a list is a view. A training step
// is left as it is: its weights are not constants.
#pragma once

#include "base/status.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// By what the file says of its producer: "tensorflow" or "tf2onnx".
bool comes_from_tensorflow(const Graph& graph);

// `graph` must be pruned. Errors: as EditableGraph::finish(). O(ops) in practice; some ten sweeps
// at most.
StatusOr<Graph> tensorflow_form(const Graph& graph);

}  // namespace dfsim::inline graphs
