// Self attention as exporters of BERT wrote it, in one operator: three products of one normalised
// input, heads, scores, mask, softmax, values. ONNX Runtime knows this one form only (its
// AttentionFusion): the mask is (1 - mask) times a large negative number, and the input is a layer
// normalisation that nothing reads but the three products and the sum round the attention.
#include <algorithm>

#include "graphs/ops/rules.h"
#include "graphs/passes/fusion/layer_norm.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

using pattern::any;
using pattern::op;
using pattern::parameter;
using pattern::scalar;

enum Slot : int {
  kX,
  kQueryWeight,
  kKeyWeight,
  kValueWeight,
  kQueryBias,
  kKeyBias,
  kValueBias,
  kMask
};

// Heads apart: [B, S, heads, size], then heads in front.
Pattern projected(Slot weight, Slot bias) {
  const Pattern product = op("MatMul", {any(kX), parameter(weight)});
  return op("Transpose", {op("Reshape", {op("Add", {product, parameter(bias)})})});
}

Pattern attention_pattern() {
  const Pattern query = projected(kQueryWeight, kQueryBias);
  const Pattern key = projected(kKeyWeight, kKeyBias);
  const Pattern value = projected(kValueWeight, kValueBias);
  const Pattern scores = op("Div", {op("MatMul", {query, key})});
  const Pattern shares = op("Softmax", {op("Add", {scores, any(kMask)})});
  return op("Reshape", {op("Transpose", {op("MatMul", {shares, value})})});
}

// The mask that was given, [B, S], or none: (1 - mask) * factor, with two axes put in.
TensorId given_mask(const EditableGraph& graph, TensorId added) {
  const Pattern axes = op("Unsqueeze", {op("Unsqueeze", {any(0)})});
  for (const Pattern& widened : {axes, op("Unsqueeze", {any(0)})}) {
    const Pattern pattern = op("Mul", {op("Sub", {scalar(1), op("Cast", {widened})})});
    // Every layer reads it: it is looked at from the inside.
    const OpId producer = graph.producer(added);
    const auto found = producer.valid() ? match(graph, pattern, producer) : std::nullopt;
    if (found && graph.shape(found->tensors[0]).rank() == 2) {
      return found->tensors[0];
    }
  }
  return {};
}

std::vector<int64_t> permutation(const Op& transpose) {
  const auto* given = transpose.attributes.get_ints("perm");
  return given == nullptr ? std::vector<int64_t>{} : *given;
}

// Queries, values and the result: heads in front and back; keys: transposed for the product.
bool moves_heads(const EditableGraph& graph, const Match& found) {
  int plain = 0;
  int keys = 0;
  for (const OpId id : found.ops) {
    if (graph.op(id).op_type == "Transpose") {
      plain += permutation(graph.op(id)) == std::vector<int64_t>{0, 2, 1, 3} ? 1 : 0;
      keys += permutation(graph.op(id)) == std::vector<int64_t>{0, 2, 3, 1} ? 1 : 0;
    }
  }
  return plain == 3 && keys == 1;
}

// [H, H] and [H] of all three, and [B, S, H] in and out.
bool fitting_shapes(const EditableGraph& graph, const Match& found, const Op& last) {
  const Shape& x = graph.shape(found.tensors[kX]);
  if (!x.is_static() || x.rank() != 3 || !(graph.shape(last.outputs[0]) == x)) {
    return false;
  }
  const int64_t hidden = x[2].extent();
  for (int i = 0; i < 3; ++i) {
    const Shape& weight = graph.shape(found.tensors[kQueryWeight + i]);
    const Shape& bias = graph.shape(found.tensors[kQueryBias + i]);
    if (!weight.is_static() || weight.rank() != 2 || weight[0].extent() != hidden ||
        weight[1].extent() != hidden || bias.rank() != 1 || !bias.is_static() ||
        bias[0].extent() != hidden) {
      return false;
    }
  }
  return true;
}

// The head count of the Reshape that splits heads; 0 when it does something else.
int64_t head_count(const EditableGraph& graph, const Match& found, int64_t hidden) {
  for (const OpId id : found.ops) {
    const Op& reshape = graph.op(id);
    const Shape& y = graph.shape(reshape.outputs[0]);
    if (reshape.op_type == "Reshape" && y.rank() == 4) {
      const bool heads = y.is_static() && y[2].extent() * y[3].extent() == hidden;
      return heads ? y[2].extent() : 0;
    }
  }
  return 0;
}

// The three products and one sum read a layer normalisation, and no other operator does.
bool between_norm_and_sum(const EditableGraph& graph, TensorId x) {
  const auto readers = graph.readers(x);
  const auto reading = [&](std::string_view type) {
    return std::count_if(readers.begin(), readers.end(),
                         [&](OpId id) { return graph.op(id).op_type == type; });
  };
  return readers.size() == 4 && reading("MatMul") == 3 && reading("Add") == 1 &&
         makes_layer_norm(graph, graph.producer(x));
}

void fuse_attentions(EditableGraph& graph, bool also_half) {
  const Pattern pattern = attention_pattern();
  for (const OpId id : graph.ops()) {
    const auto found = match(graph, pattern, id);
    if (!found || !fitting_shapes(graph, *found, graph.op(id)) || !moves_heads(graph, *found) ||
        !between_norm_and_sum(graph, found->tensors[kX]) ||
        (!also_half && graph.tensor(found->tensors[kX]).dtype == DType::kFloat16)) {
      continue;
    }
    const int64_t hidden = graph.shape(found->tensors[kX])[2].extent();
    const int64_t heads = head_count(graph, *found, hidden);
    const TensorId mask = given_mask(graph, found->tensors[kMask]);
    if (heads == 0 || !mask.valid()) {
      continue;
    }
    const DType dtype = graph.tensor(found->tensors[kQueryWeight]).dtype;
    const std::string name = graph.tensor(graph.op(id).outputs[0]).name;  // weights are added
    Op fused;
    fused.domain = kMicrosoft;
    fused.op_type = "Attention";
    fused.inputs = {found->tensors[kX],
                    graph.add_weight(name + "/qkv_weight", dtype, Shape::of({hidden, 3 * hidden})),
                    graph.add_weight(name + "/qkv_bias", dtype, Shape::of({3 * hidden})), mask};
    fused.outputs = {graph.op(id).outputs[0]};
    fused.attributes.set("num_heads", heads);
    graph.fuse(found->ops, std::move(fused));
  }
}

}  // namespace

void fuse_attention(EditableGraph& graph) { fuse_attentions(graph, /*also_half=*/true); }

// Where fp16 has no kernels, casts round its reshapes and transposes hide the pattern.
void fuse_float_attention(EditableGraph& graph) { fuse_attentions(graph, /*also_half=*/false); }

}  // namespace dfsim::inline graphs
