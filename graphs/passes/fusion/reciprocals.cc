// 1 / x * y becomes y / x, as ONNX Runtime's DivMulFusion does.
#include <utility>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

void fuse_one(EditableGraph& graph, OpId id) {
  const Op& quotient = graph.op(id);
  const OpId reader = graph.sole_reader(quotient.outputs[0]);
  if (!reader.valid() || graph.op(reader).op_type != "Mul" || !graph.op(reader).domain.empty()) {
    return;
  }
  const Op& product = graph.op(reader);
  const bool first = product.inputs[0] == quotient.outputs[0];
  Op divided = quotient;
  divided.inputs[0] = product.inputs[first ? 1 : 0];
  divided.outputs = product.outputs;
  graph.fuse({id, reader}, std::move(divided));
}

}  // namespace

void fuse_reciprocals(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (!graph.alive(id)) {
      continue;
    }
    const Op& op = graph.op(id);
    if (op.op_type == "Div" && op.domain.empty() && op.inputs.size() == 2 &&
        graph.is_parameter(op.inputs[0]) && graph.scalar(op.inputs[0]) == 1) {
      fuse_one(graph, id);
    }
  }
}

}  // namespace dfsim::inline graphs
