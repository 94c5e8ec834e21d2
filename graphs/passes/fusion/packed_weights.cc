// ONNX Runtime's products with weights of 4 or 8 bits that the file dequantises.
//
// DQMatMulToMatMulNBits makes one MatMulNBits of a product whose second operand alone comes from a
// DequantizeLinear of weights: per block of an inner axis, per column or with one scale. A bias
// goes into it. The product is then computed in 8 bits (accuracy level 4, ONNX Runtime's default
// here).
#include <bit>
#include <cmath>
#include <optional>

#include "graphs/passes/passes.h"
#include "graphs/passes/product_parts.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kDefaultBlock = 32;
constexpr int64_t kLeastBlock = 16;
constexpr int64_t kAccuracyLevel = 4;

// The product's parts but for its operand and bias.
struct PackedWeight {
  OpId dequantise;
  PackedProduct product;
};

int64_t bits_of(DType dtype) {
  switch (dtype) {
    case DType::kInt4:
    case DType::kUInt4:
      return 4;
    case DType::kInt8:
    case DType::kUInt8:
      return 8;
    default:
      return 0;
  }
}

// The extent of a block, 32 for coarser scales; none for scales that ONNX Runtime does not take.
std::optional<int64_t> block_of(const EditableGraph& graph, const Op& dequantise, int64_t columns) {
  const Shape& scale = graph.shape(dequantise.inputs[1]);
  const int64_t block = dequantise.attributes.int_or("block_size", 0);
  if (block > 0) {
    const bool fits = block >= kLeastBlock && std::has_single_bit(static_cast<uint64_t>(block)) &&
                      dequantise.attributes.int_or("axis", 1) == 0 && scale.rank() == 2;
    return fits ? std::optional(block) : std::nullopt;
  }
  const bool per_column =
      scale.rank() == 1 && scale[0] == Dim(columns) && dequantise.attributes.int_or("axis", 1) == 1;
  return per_column || (scale.has_rank() && scale.rank() == 0) ? std::optional(kDefaultBlock)
                                                               : std::nullopt;
}

std::optional<PackedWeight> packed_weight(const EditableGraph& graph, TensorId operand) {
  PackedWeight weight;
  weight.dequantise = operand.valid() ? graph.producer(operand) : OpId();
  if (!weight.dequantise.valid()) {
    return std::nullopt;
  }
  const Op& dequantise = graph.op(weight.dequantise);
  if (dequantise.op_type != "DequantizeLinear" || !dequantise.domain.empty() ||
      !graph.sole_reader(operand).valid()) {
    return std::nullopt;
  }
  for (const TensorId input : dequantise.inputs) {
    if (input.valid() && !graph.is_fixed(input)) {
      return std::nullopt;
    }
  }
  const Tensor& values = graph.tensor(dequantise.inputs[0]);
  if (values.shape.rank() != 2 || !values.shape.is_static()) {
    return std::nullopt;
  }
  PackedProduct& product = weight.product;
  product.bits = bits_of(values.dtype);
  product.inner = values.shape[0].extent();
  product.columns = values.shape[1].extent();
  product.block = block_of(graph, dequantise, product.columns).value_or(0);
  return product.bits > 0 && product.block > 0 ? std::optional(weight) : std::nullopt;
}

bool is_plain_product(const Op& op) {
  if (!op.domain.empty()) {
    return false;
  }
  const auto one = [&](const char* name) {
    return std::abs(op.attributes.get_float(name).value_or(1) - 1) < 1e-6;
  };
  return op.op_type == "MatMul" ||
         (op.op_type == "Gemm" && op.attributes.int_or("transA", 0) == 0 &&
          op.attributes.int_or("transB", 0) == 0 && one("alpha") && one("beta"));
}

bool is_standard(const EditableGraph& graph, OpId id, std::string_view type) {
  return id.valid() && graph.op(id).op_type == type && graph.op(id).domain.empty();
}

// Activations of bytes, or those in float with a quantised result: left to qdq.cc, although it
// takes no weights of 4 bits. Activations of 16 bits are dequantised ahead of the product.
bool is_byte_product(const EditableGraph& graph, const Op& op) {
  const OpId source = graph.producer(op.inputs[0]);
  if (is_standard(graph, source, "DequantizeLinear")) {
    const DType dtype = graph.tensor(graph.op(source).inputs[0]).dtype;
    return dtype == DType::kInt8 || dtype == DType::kUInt8;
  }
  for (const OpId reader : graph.readers(op.outputs[0])) {
    if (is_standard(graph, reader, "QuantizeLinear")) {
      return true;
    }
  }
  return false;
}

// A vector of one element per column.
bool is_bias(const EditableGraph& graph, TensorId id, int64_t columns) {
  return id.valid() && graph.is_fixed(id) && graph.shape(id).rank() == 1 &&
         graph.shape(id)[0] == Dim(columns);
}

void pack(EditableGraph& graph, OpId id, const PackedWeight& weight) {
  const Op& op = graph.op(id);
  PackedProduct product = weight.product;
  product.x = op.inputs[0];
  product.bias = op.inputs.size() > 2 ? op.inputs[2] : TensorId();
  std::vector<OpId> replaced = {id, weight.dequantise};
  TensorId bias;
  const OpId sum =
      op.op_type == "MatMul" ? bias_sum(graph, op.outputs[0], product.columns, &bias) : OpId();
  if (sum.valid()) {
    product.bias = bias;
    replaced.insert(replaced.begin(), sum);
  }
  const std::string name = graph.tensor(graph.op(weight.dequantise).inputs[0]).name;
  const DType dtype = graph.tensor(op.outputs[0]).dtype;
  Op fused = matmul_n_bits(product,
                           graph.add_weight(name + "/packed", DType::kUInt8, packed_shape(product)),
                           graph.add_weight(name + "/scales", dtype, packed_scales_shape(product)));
  fused.outputs = {graph.op(replaced[0]).outputs[0]};
  fused.attributes.set("accuracy_level", kAccuracyLevel);
  graph.fuse(replaced, std::move(fused));
}

}  // namespace

void fuse_packed_weights(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (!graph.alive(id) || !is_plain_product(graph.op(id))) {
      continue;
    }
    const Op& op = graph.op(id);
    const auto weight = packed_weight(graph, op.inputs[1]);
    if (!weight || is_byte_product(graph, op) ||
        (op.inputs.size() > 2 && op.inputs[2].valid() &&
         !is_bias(graph, op.inputs[2], weight->product.columns))) {
      continue;
    }
    pack(graph, id, *weight);
  }
}

}  // namespace dfsim::inline graphs
