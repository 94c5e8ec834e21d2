// The functions of the rewriting passes; passes.inc has a line for each.
//
// Each leaves a graph that computes the same. Rules that mirror ONNX Runtime's say so in
// docs/reference/runtimes.md and are held to its optimised graphs by
// tests/passes/ort_oracle_test.cc.
#pragma once

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

#define DFSIM_PASS(name, function, description) void function(EditableGraph& graph);
#include "graphs/passes/passes.inc"
#undef DFSIM_PASS

}  // namespace dfsim::inline graphs
