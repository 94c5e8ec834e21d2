// A bias after a product with packed weights goes into MatMulNBits, which has an operand for it.
// ONNX Runtime does so after its fusions of GELU, which take the bias first.
#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr size_t kBiasOperand = 5;  // after a, b, scales, zero points and groups

bool lacks_bias(const Op& op) {
  return op.op_type == "MatMulNBits" && op.domain == kMicrosoft &&
         (op.inputs.size() <= kBiasOperand || !op.inputs[kBiasOperand].valid());
}

void take_bias(EditableGraph& graph, OpId id) {
  const OpId sum = graph.sole_reader(graph.op(id).outputs[0]);
  if (!sum.valid() || graph.op(sum).op_type != "Add" || !graph.op(sum).domain.empty()) {
    return;
  }
  const std::vector<TensorId>& added = graph.op(sum).inputs;
  const TensorId product = graph.op(id).outputs[0];
  const TensorId bias = added[added[0] == product ? 1 : 0];
  const Shape& columns = graph.shape(product);
  if (!graph.is_parameter(bias) || graph.shape(bias).rank() != 1 || columns.rank() == 0 ||
      graph.shape(bias)[0] != columns[columns.rank() - 1] ||
      graph.tensor(bias).dtype != graph.tensor(product).dtype) {
    return;
  }
  Op fused = graph.op(id);
  fused.inputs.resize(kBiasOperand + 1);
  fused.inputs[kBiasOperand] = bias;
  fused.outputs = graph.op(sum).outputs;
  graph.fuse({id, sum}, std::move(fused));
}

}  // namespace

void fuse_packed_bias(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (graph.alive(id) && lacks_bias(graph.op(id))) {
      take_bias(graph, id);
    }
  }
}

}  // namespace dfsim::inline graphs
