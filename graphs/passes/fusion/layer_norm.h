// Whether an operator is, or its operators are written out to, a layer normalisation.
#pragma once

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// LayerNormalization, or the last operator of one that exporters wrote out. False for no operator.
bool makes_layer_norm(const EditableGraph& graph, OpId id);

}  // namespace dfsim::inline graphs
