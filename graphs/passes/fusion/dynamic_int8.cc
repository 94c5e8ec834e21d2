// ONNX Runtime's fusions of products that are quantised while the network runs.
//
// quantize_dynamic() writes each product as
//
//   x -> DynamicQuantizeLinear -> MatMulInteger -> Cast -> Mul -> Add
//                  scale ------------> Mul ---------^       ^---- bias
//
// MatMulIntegerToFloatFusion makes one MatMulIntegerToFloat of what follows the quantised operands.
// DynamicQuantizeMatMulFusion then takes the DynamicQuantizeLinear into the product that alone
// reads it; one that several products share, as those of queries, keys and values do, stays an
// operator of its own.
#include "graphs/passes/fusion/dynamic_int8.h"

#include "graphs/ops/rules.h"
#include "graphs/passes/origins.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"
#include "graphs/passes/product_parts.h"

namespace dfsim::inline graphs {
namespace {

using pattern::any;
using pattern::op;

// One scale for the whole matrix, or one per column.
bool is_scale(const EditableGraph& graph, TensorId id) {
  return graph.shape(id).has_rank() && graph.shape(id).rank() <= 1;
}

void fuse_to_float(EditableGraph& graph) {
  const Pattern scaled = op("Mul", {op("Cast", {op("MatMulInteger", {any(0), any(1)}).keep(2)}),
                                    op("Mul", {any(3), any(4)})});
  for (const OpId id : graph.ops()) {
    const auto found = graph.alive(id) ? match(graph, scaled, id) : std::nullopt;
    if (!found || !is_scale(graph, found->tensors[3]) || !is_scale(graph, found->tensors[4]) ||
        graph.sole_reader(found->tensors[2]) == OpId() ||
        graph.tensor(graph.op(id).outputs[0]).dtype != DType::kFloat32) {
      continue;
    }
    const auto& product = graph.op(graph.producer(found->tensors[2])).inputs;
    const auto zero = [&](size_t input) {
      return product.size() > input ? product[input] : TensorId();
    };
    // The scale of the activation is computed while the network runs.
    const bool swapped = graph.is_parameter(found->tensors[3]);
    Op fused;
    fused.op_type = "MatMulIntegerToFloat";
    fused.domain = kMicrosoft;
    fused.inputs = {
        product[0], product[1], found->tensors[swapped ? 4 : 3], found->tensors[swapped ? 3 : 4],
        zero(2),    zero(3)};
    std::vector<OpId> replaced = found->ops;
    TensorId bias;
    const Shape& shape = graph.shape(graph.op(id).outputs[0]);
    const bool columns_known = shape.rank() > 0 && shape[shape.rank() - 1].known();
    const OpId sum = columns_known ? bias_sum(graph, graph.op(id).outputs[0],
                                              shape[shape.rank() - 1].extent(), &bias)
                                   : OpId();
    if (sum.valid()) {
      fused.inputs.push_back(bias);
      replaced.insert(replaced.begin(), sum);
    }
    fused.outputs = {graph.op(replaced[0]).outputs[0]};
    graph.fuse(replaced, std::move(fused));
  }
}

}  // namespace

void join_dynamic_quantizer(EditableGraph& graph, OpId quantise) {
  constexpr size_t kOutputs = 3;  // values, scale, zero point
  const std::vector<TensorId> quantised = graph.op(quantise).outputs;
  const OpId product = quantised.size() == kOutputs && quantised[0].valid()
                           ? graph.sole_reader(quantised[0])
                           : OpId();
  if (!product.valid() || graph.op(product).op_type != "MatMulIntegerToFloat" ||
      graph.op(product).inputs[0] != quantised[0]) {
    return;
  }
  for (const TensorId scale_or_zero : {quantised[1], quantised[2]}) {
    if (scale_or_zero.valid() &&
        (graph.tensor(scale_or_zero).is_output ||
         (!graph.readers(scale_or_zero).empty() && graph.sole_reader(scale_or_zero) != product))) {
      return;
    }
  }
  const Op old = graph.op(product);
  Op joined;
  joined.op_type = "DynamicQuantizeMatMul";
  joined.domain = kMicrosoft;
  joined.name = old.name;
  // A, B, scale of B, zero point of B, bias
  joined.inputs = {graph.op(quantise).inputs[0], old.inputs[1], old.inputs[3], old.inputs[5]};
  if (old.inputs.size() > 6) {
    joined.inputs.push_back(old.inputs[6]);
  }
  joined.outputs = old.outputs;
  set_origins(&joined, origins_of(old));
  graph.remove_op(product);
  graph.remove_op(quantise);
  graph.add_op(std::move(joined));
}

void fuse_dynamic_int8(EditableGraph& graph) {
  fuse_to_float(graph);
  for (const OpId id : graph.ops()) {
    if (graph.alive(id) && graph.op(id).op_type == "DynamicQuantizeLinear" &&
        graph.op(id).domain.empty()) {
      join_dynamic_quantizer(graph, id);
    }
  }
}

}  // namespace dfsim::inline graphs
