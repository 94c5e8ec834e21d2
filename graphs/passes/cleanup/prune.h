// prune: what every runtime does before the first run: folds constants and drops dead operators.
#pragma once

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/passes/open/open_dims.h"

namespace dfsim::inline graphs {

struct PruneOptions {
  // ONNX Runtime lets callers replace weights that are inputs, too, so nothing is folded that reads
  // them, where others take them as what they are in the file; and an Identity stays that hides a
  // weight or bias next to activations in 8 bits. Operators whose results no other reads in the
  // file are executed, unless it is a TensorFlow graph.
  bool for_onnxruntime = false;
  // The weights will be trained: what computes with one stays, unless it only changes its layout,
  // and results folded of constants are not weights.
  bool for_training = false;
};

struct PruneResult {
  Graph graph;
  size_t folded_ops = 0;  // computed once, ahead of time
  size_t dead_ops = 0;    // lead to no graph output, and the runtime drops them
};

// An op is folded when all of its outputs have known values, or when it reads only weights and
// constants and is not random; its outputs become weights (or constants). Graphs that update their
// weights (kTrainingKey) fold constants only. Unused tensors are dropped, so the result's weights
// are what a runtime keeps. A parameter that only changes its layout (transposes, views) shares its
// source's storage_key: frameworks read it in place. Ids change; names stay. O(ops + tensors).
// `open` (of the same graph) says what the runtime doesn't know before a run: what depends on that
// is not folded, and has no value in the result.
StatusOr<PruneResult> prune(const Graph& graph, const OpenDims& open = {},
                            const PruneOptions& options = {});

}  // namespace dfsim::inline graphs
