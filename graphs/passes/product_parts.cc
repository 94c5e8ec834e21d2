// A weight's blocks lie along the contracted axis; the last one is padded.
#include "graphs/passes/product_parts.h"

#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

constexpr size_t kBiasInput = 5;

int64_t block_count(const PackedProduct& product) {
  return (product.inner + product.block - 1) / product.block;
}

}  // namespace

OpId bias_sum(const EditableGraph& graph, TensorId product, int64_t columns, TensorId* bias) {
  const OpId reader = graph.sole_reader(product);
  if (!reader.valid() || graph.op(reader).op_type != "Add" || !graph.op(reader).domain.empty()) {
    return OpId();
  }
  const auto& operands = graph.op(reader).inputs;
  *bias = operands[operands[0] == product ? 1 : 0];
  const bool per_column = graph.is_fixed(*bias) && graph.shape(*bias).rank() == 1 &&
                          graph.shape(*bias)[0] == Dim(columns);
  return per_column ? reader : OpId();
}

Shape packed_shape(const PackedProduct& product) {
  return Shape(
      {Dim(product.columns), Dim(block_count(product)), Dim(product.block * product.bits / 8)});
}

Shape packed_scales_shape(const PackedProduct& product) {
  return Shape({Dim(product.columns * block_count(product))});
}

Op matmul_n_bits(const PackedProduct& product, TensorId weight, TensorId scales) {
  Op op;
  op.op_type = "MatMulNBits";
  op.domain = kMicrosoft;
  op.inputs = {product.x, weight, scales};
  if (product.bias.valid()) {
    op.inputs.resize(kBiasInput);  // no zero points, no order of groups
    op.inputs.push_back(product.bias);
  }
  op.attributes.set("K", product.inner);
  op.attributes.set("N", product.columns);
  op.attributes.set("bits", product.bits);
  op.attributes.set("block_size", product.block);
  return op;
}

}  // namespace dfsim::inline graphs
