// The order that ONNX demands of a graph's nodes, and 75 of 1,019 files of others do not keep.
#pragma once

#include <onnx/onnx_pb.h>

namespace dfsim::inline graphs {

// Producers first, in the graph and in its subgraphs; otherwise as in the file. What a subgraph
// reads of the graph around it counts as read by its node. Nodes of a cycle stay behind the others.
// O(nodes + names, times the depth of nesting).
void sort_nodes(onnx::GraphProto* graph);

}  // namespace dfsim::inline graphs
