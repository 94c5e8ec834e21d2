// An activation right after a convolution or a product runs on its result while that is in cache.
#include <algorithm>
#include <array>
#include <string_view>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

using pattern::any;

constexpr std::array<std::string_view, 5> kConvActivations = {"Relu", "Sigmoid", "Tanh",
                                                              "LeakyRelu", "HardSigmoid"};
constexpr std::array<std::string_view, 10> kGemmActivations = {
    "Relu", "Sigmoid", "Tanh",        "LeakyRelu", "Softplus",
    "Selu", "Elu",     "HardSigmoid", "Softsign",  "ThresholdedRelu"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Clip with constant bounds, as Relu6.
bool is_fixed_clip(const EditableGraph& graph, const Op& op) {
  return op.op_type == "Clip" &&
         std::all_of(op.inputs.begin() + 1, op.inputs.end(),
                     [&](TensorId id) { return !id.valid() || graph.scalar(id).has_value(); });
}

void fuse_into(EditableGraph& graph, OpId first, const std::vector<OpId>& rest, TensorId result,
               std::string_view fused_type, std::string activation) {
  Op fused = graph.op(first);
  fused.domain = kMicrosoft;
  fused.op_type = fused_type;
  fused.outputs = {result};
  fused.attributes.set("activation", std::move(activation));
  std::vector<OpId> replaced = {first};
  replaced.insert(replaced.end(), rest.begin(), rest.end());
  graph.fuse(replaced, std::move(fused));
}

// A convolution of that type whose result only the sum reads, and which adds nothing yet.
OpId summed_conv(const EditableGraph& graph, const Op& sum, std::string_view type) {
  for (const TensorId input : sum.inputs) {
    const OpId conv = graph.producer(input);
    if (conv.valid() && graph.op(conv).op_type == type && graph.op(conv).domain.empty() &&
        graph.op(conv).inputs.size() <= kQLinearConvAddend && graph.sole_reader(input).valid()) {
      return conv;
    }
  }
  return {};
}

bool is_image_sum(const EditableGraph& graph, TensorId a, TensorId b) {
  const Shape& image = graph.shape(a);
  return image.rank() == 4 && image == graph.shape(b) && graph.comparable(a, b);
}

// ONNX Runtime's CPU kernel adds to convolutions of fp32 with a bias.
bool is_summed_by_ort(const EditableGraph& graph, OpId conv) {
  const Op& op = graph.op(conv);
  return op.inputs.size() == 3 && op.inputs[2].valid() &&
         graph.tensor(op.outputs[0]).dtype == DType::kFloat32;
}

// x * HardSigmoid(x), unless the graph hands out the product: ONNX Runtime keeps that.
bool fuse_hard_swish(EditableGraph& graph, OpId conv) {
  const TensorId result = graph.op(conv).outputs[0];
  if (graph.readers(result).size() != 2 || graph.tensor(result).is_output) {
    return false;
  }
  const Pattern swish = pattern::op("Mul", {any(0), pattern::op("HardSigmoid", {any(0)})});
  for (const OpId reader : graph.readers(result)) {
    const auto found = match(graph, swish, reader);
    if (found && found->tensors[0] == result &&
        !graph.tensor(graph.op(reader).outputs[0]).is_output) {
      fuse_into(graph, conv, found->ops, graph.op(reader).outputs[0], "FusedConv", "HardSwish");
      return true;
    }
  }
  return false;
}

// The convolution that an Add of two images of one shape can go into; none otherwise.
OpId conv_before_sum(const EditableGraph& graph, OpId id) {
  if (!graph.alive(id) || graph.op(id).op_type != "Add" || !graph.op(id).domain.empty()) {
    return {};
  }
  const Op& sum = graph.op(id);
  return is_image_sum(graph, sum.inputs[0], sum.inputs[1]) ? summed_conv(graph, sum, "Conv")
                                                           : OpId();
}

// The convolution adds its fourth operand, then applies the activation after the sum.
void fuse_sum(EditableGraph& graph, OpId conv, OpId id) {
  const Op& sum = graph.op(id);
  Op fused = graph.op(conv);
  const bool first = sum.inputs[0] == fused.outputs[0];
  fused.domain = kMicrosoft;
  fused.op_type = "FusedConv";
  fused.inputs.resize(3);
  fused.inputs.push_back(sum.inputs[first ? 1 : 0]);
  fused.outputs = sum.outputs;
  std::vector<OpId> replaced = {conv, id};
  const OpId next = graph.sole_reader(sum.outputs[0]);
  if (next.valid() && graph.op(next).domain.empty() &&
      (is_one_of(kConvActivations, graph.op(next).op_type) ||
       is_fixed_clip(graph, graph.op(next)))) {
    fused.attributes.set("activation", graph.op(next).op_type);
    fused.outputs = graph.op(next).outputs;
    replaced.push_back(next);
  }
  graph.fuse(replaced, std::move(fused));
}

// A convolution in 8 bits reads what it adds, its scale and its zero point behind its own operands,
// and writes the sum with the scale of that.
void fuse_quantized_sum(EditableGraph& graph, OpId id) {
  // QLinearAdd: a, a_scale, a_zero_point, b, b_scale, b_zero_point, scale, zero_point
  constexpr size_t kSecond = 3;
  constexpr size_t kResultScale = 6;
  if (!graph.alive(id)) {
    return;
  }
  const Op sum = graph.op(id);
  if (sum.op_type != "QLinearAdd" || sum.domain != kMicrosoft ||
      !is_image_sum(graph, sum.inputs[0], sum.inputs[kSecond])) {
    return;
  }
  const OpId conv = summed_conv(graph, sum, "QLinearConv");
  if (!conv.valid()) {
    return;
  }
  Op fused = graph.op(conv);
  const size_t other = sum.inputs[0] == fused.outputs[0] ? kSecond : 0;
  fused.inputs.resize(kQLinearConvAddend);
  fused.inputs.insert(fused.inputs.end(), sum.inputs.begin() + static_cast<ptrdiff_t>(other),
                      sum.inputs.begin() + static_cast<ptrdiff_t>(other + 3));
  for (size_t i = kResultScale; i < sum.inputs.size(); ++i) {
    fused.inputs[i] = sum.inputs[i];  // at the same place in both
  }
  fused.outputs = sum.outputs;
  graph.fuse({conv, id}, std::move(fused));
}

}  // namespace

void fuse_conv_activation(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& conv = graph.op(id);
    if (conv.op_type != "Conv" || !conv.domain.empty() || fuse_hard_swish(graph, id)) {
      continue;
    }
    const OpId next = graph.sole_reader(conv.outputs[0]);
    if (next.valid() && graph.op(next).domain.empty() &&
        (is_one_of(kConvActivations, graph.op(next).op_type) ||
         is_fixed_clip(graph, graph.op(next)))) {
      fuse_into(graph, id, {next}, graph.op(next).outputs[0], "FusedConv", graph.op(next).op_type);
    }
  }
}

void fuse_conv_sum(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const OpId conv = conv_before_sum(graph, id);
    if (conv.valid() && is_summed_by_ort(graph, conv)) {
      fuse_sum(graph, conv, id);
    }
  }
}

void fuse_conv_residual(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (const OpId conv = conv_before_sum(graph, id); conv.valid()) {
      fuse_sum(graph, conv, id);
    } else {
      fuse_quantized_sum(graph, id);
    }
  }
}

void mark_conv_bias(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2].valid();
    if (op.op_type == "Conv" && op.domain.empty() && has_bias &&
        op.attributes.int_or(kBiasInKernel, 0) == 0) {
      graph.attributes(id).set(std::string(kBiasInKernel), int64_t{1});
    }
  }
}

void fuse_gemm_activation(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& gemm = graph.op(id);
    if (gemm.op_type != "Gemm" || !gemm.domain.empty()) {
      continue;
    }
    const OpId next = graph.sole_reader(gemm.outputs[0]);
    if (next.valid() && graph.op(next).domain.empty() &&
        is_one_of(kGemmActivations, graph.op(next).op_type)) {
      fuse_into(graph, id, {next}, graph.op(next).outputs[0], "FusedGemm", graph.op(next).op_type);
    }
  }
}

}  // namespace dfsim::inline graphs
