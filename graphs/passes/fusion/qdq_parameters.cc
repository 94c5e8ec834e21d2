// Weights and biases that a quantised model leaves in fp32 next to quantised activations become
// quantised as well: ONNX Runtime's WeightBiasQuantization. A bias gets 32 bits, a weight 8 with
// one scale for all. Without it a convolution whose bias the quantiser could not find (it was no
// initializer, say) would stay in float. ONNX Runtime does so before all other rules, so that one
// behind an Identity is not found, either.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr size_t kDequantiseOperands = 3;  // value, scale, zero point

bool has_parameters(const Op& op) {
  return op.domain.empty() && op.inputs.size() >= 2 &&
         (op.op_type == "Conv" || op.op_type == "ConvTranspose" || op.op_type == "Gemm");
}

const Op* dequantiser(const EditableGraph& graph, TensorId operand) {
  const OpId producer = operand.valid() ? graph.producer(operand) : OpId();
  if (!producer.valid() || graph.op(producer).op_type != "DequantizeLinear" ||
      !graph.op(producer).domain.empty() || graph.op(producer).inputs.size() < 2) {
    return nullptr;
  }
  return &graph.op(producer);
}

bool one_scale(const EditableGraph& graph, const Op& dequantise) {
  const Shape& scale = graph.shape(dequantise.inputs[1]);
  return scale.is_static() && scale.elements() == Count(1);
}

// A scale for each channel fits a bias when it goes along the axis of the results.
bool fits_channels(const EditableGraph& graph, const Op& op, const Op& weight) {
  if (one_scale(graph, weight)) {
    return true;
  }
  const Shape& scale = graph.shape(weight.inputs[1]);
  const bool gemm = op.op_type == "Gemm";
  const int64_t axis = gemm && op.attributes.int_or("transB", 0) == 0 ? 1 : 0;
  return op.inputs.size() > 2 && scale.rank() == 1 && scale == graph.shape(op.inputs[2]) &&
         !weight.attributes.has("block_size") && weight.attributes.int_or("axis", 1) == axis;
}

// The operand is a dequantised parameter of that type from now on.
void quantise(EditableGraph& graph, OpId id, size_t operand, DType dtype, const Shape& scales) {
  const TensorId parameter = graph.op(id).inputs[operand];
  const Tensor tensor = graph.tensor(parameter);
  const std::string name = fmt::format("{}/{}", graph.op(id).name, dtype_name(dtype));
  Op dequantise;
  dequantise.op_type = "DequantizeLinear";
  dequantise.name = name + "/dequantized";
  dequantise.version = graph.op(id).version;
  dequantise.inputs = {graph.add_weight(name, dtype, tensor.shape),
                       graph.add_weight(name + "/scale", DType::kFloat32, scales),
                       graph.add_constant(name + "/zero", ConstValue{dtype, {}, {0}, {}})};
  if (scales.rank() == 1) {
    dequantise.attributes.set("axis", int64_t{0});
  }
  dequantise.outputs = {graph.add_tensor(dequantise.name, tensor.dtype, tensor.shape)};
  const TensorId result = dequantise.outputs[0];
  graph.add_op(std::move(dequantise));
  graph.set_input(id, operand, result);
}

void visit(EditableGraph& graph, OpId id) {
  const Op& op = graph.op(id);
  const Op* const activations = dequantiser(graph, op.inputs[0]);
  if (activations == nullptr || activations->inputs.size() != kDequantiseOperands ||
      !one_scale(graph, *activations)) {
    return;
  }
  const Op* const weight = dequantiser(graph, op.inputs[1]);
  const bool has_bias = op.inputs.size() > 2 && op.inputs[2].valid();
  const auto in_float = [&](size_t i) {
    return graph.is_parameter(op.inputs[i]) && !graph.producer(op.inputs[i]).valid() &&
           graph.tensor(op.inputs[i]).dtype == DType::kFloat32;
  };
  if ((weight == nullptr && !in_float(1)) || (weight != nullptr && !has_bias) ||
      (has_bias && (!in_float(2) || graph.shape(op.inputs[2]).rank() != 1)) ||
      (weight != nullptr && !fits_channels(graph, op, *weight))) {
    return;
  }
  const Shape scales = weight != nullptr ? graph.shape(weight->inputs[1]) : Shape::scalar();
  if (weight == nullptr) {
    quantise(graph, id, 1, DType::kInt8, scales);
  }
  if (has_bias) {
    quantise(graph, id, 2, DType::kInt32, scales);
  }
}

// The parameter that an Identity makes of a dequantised one.
bool copies_dequantised(const EditableGraph& graph, const Op& op) {
  if (op.op_type != "Identity" || !op.domain.empty() || graph.tensor(op.outputs[0]).is_output) {
    return false;
  }
  const Op* const source = dequantiser(graph, op.inputs[0]);
  const auto readers = graph.readers(op.outputs[0]);
  return source != nullptr && graph.is_parameter(source->inputs[0]) &&
         std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
           const Op& product = graph.op(reader);
           return has_parameters(product) && product.op_type != "Gemm" &&
                  product.inputs[0] != op.outputs[0];
         });
}

}  // namespace

// Quantisers leave biases that several convolutions share behind Identities, as exporters write
// them. ONNX Runtime computes such a parameter in fp32 ahead of the run, so its reader stays in
// fp32, although bias and activations are there in integers.
void fold_copied_parameters(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (!copies_dequantised(graph, graph.op(id))) {
      continue;
    }
    const TensorId result = graph.op(id).outputs[0];
    const Tensor tensor = graph.tensor(result);
    const TensorId folded = graph.add_weight(tensor.name + "/folded", tensor.dtype, tensor.shape);
    graph.remove_op(id);
    graph.replace_reads(result, folded);
  }
}

// com.microsoft's QuantizeLinear and DequantizeLinear have the kernels of ONNX's, and ONNX
// Runtime's rules take both alike. Quantisers write them for types that an older opset of ONNX
// lacks.
void standardise_quantisers(EditableGraph& graph) {
  constexpr int kFourBitsSince = 21;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.domain != kMicrosoft ||
        (op.op_type != "QuantizeLinear" && op.op_type != "DequantizeLinear")) {
      continue;
    }
    Op standard = op;
    standard.domain.clear();
    standard.version = kFourBitsSince;
    graph.fuse({id}, std::move(standard));
  }
}

void quantize_parameters(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (has_parameters(graph.op(id))) {
      visit(graph, id);
    }
  }
}

}  // namespace dfsim::inline graphs
