// A Reshape and the Reshapes, Squeezes and Unsqueezes after it are one Reshape at fixed shapes.
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

// ONNX Runtime leaves Reshapes alone that allow extents of zero.
bool merges(const EditableGraph& graph, const Op& op) {
  const bool reshapes =
      op.op_type == "Reshape" || op.op_type == "Squeeze" || op.op_type == "Unsqueeze";
  return reshapes && op.domain.empty() && op.attributes.int_or("allowzero", 0) == 0 &&
         graph.shape(op.outputs[0]).is_static() && graph.shape_known(op.outputs[0]);
}

}  // namespace

void merge_reshapes(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (!graph.alive(id) || graph.op(id).op_type != "Reshape" || !merges(graph, graph.op(id))) {
      continue;
    }
    std::vector<OpId> chain = {id};
    for (;;) {
      const OpId next = graph.sole_reader(graph.op(chain.back()).outputs[0]);
      if (!next.valid() || !merges(graph, graph.op(next)) ||
          graph.op(next).inputs[0] != graph.op(chain.back()).outputs[0]) {
        break;
      }
      chain.push_back(next);
    }
    if (chain.size() < 2) {
      continue;
    }
    const Op& first = graph.op(chain.front());
    const TensorId result = graph.op(chain.back()).outputs[0];
    Op reshape;
    reshape.op_type = "Reshape";
    reshape.version = first.version;
    reshape.inputs = {first.inputs[0],
                      graph.add_ints(first.name + "/shape", graph.shape(result).extents())};
    reshape.outputs = {result};
    graph.fuse(chain, std::move(reshape));
  }
}

}  // namespace dfsim::inline graphs
