// Tells trained weights that are declared as graph inputs from what a caller feeds.
#pragma once

#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {

// Exporters may declare every weight as a graph input (always before IR version 4, later on
// request), and files without weights keep only these declarations. Where the file holds trained
// matrices or filters, every input is what a caller feeds. Otherwise an input is taken for a weight
// when its shape is static, it is not the first input, and one of these holds: it feeds a parameter
// slot of an op (a convolution's filter, a norm's scale...; of MatMul, only a matrix), directly or
// through casts and layout changes; no initializers exist and another input has a dynamic shape;
// its name ends like a parameter's (".weight", ".bias", "running_mean"...). Requires ops to be
// added; O(ops). `has_initializers`: the file holds weights elsewhere.
void classify_inputs(GraphBuilder& builder, bool has_initializers);

}  // namespace dfsim::inline graphs
