// A product of matrices and its bias are one operator (TensorFlow's _FusedMatMul). The TensorFlow
// importer writes it as Gemm, too.
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {

using pattern::any;
using pattern::op;
using pattern::parameter;

void fuse_dense_bias(EditableGraph& graph) {
  const Pattern pattern = op("Add", {op("MatMul", {any(0), parameter(1)}), parameter(2)});
  for (const OpId id : graph.ops()) {
    const auto found = match(graph, pattern, id);
    if (!found) {
      continue;
    }
    const Shape& x = graph.shape(found->tensors[0]);
    const Shape& weight = graph.shape(found->tensors[1]);
    const Shape& bias = graph.shape(found->tensors[2]);
    if (x.rank() != 2 || weight.rank() != 2 || bias.rank() != 1 || bias[0] != weight[1]) {
      continue;
    }
    Op gemm;
    gemm.op_type = "Gemm";
    gemm.inputs = {found->tensors[0], found->tensors[1], found->tensors[2]};
    gemm.outputs = {graph.op(id).outputs[0]};
    graph.fuse(found->ops, std::move(gemm));
  }
}

}  // namespace dfsim::inline graphs
