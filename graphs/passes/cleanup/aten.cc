// What one call of PyTorch did before an exporter wrote it out.
#include <algorithm>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

using pattern::any;
using pattern::op;
using pattern::parameter;

constexpr int kAttentionSince = 23;

bool is_scalar_parameter(const EditableGraph& graph, TensorId id) {
  return graph.is_parameter(id) && graph.shape(id).is_static() &&
         graph.shape(id).elements().value() == 1;
}

// Walks back over a product with, or a quotient by, one number; adds it to `ops`.
TensorId before_scale(const EditableGraph& graph, TensorId id, std::vector<OpId>* ops) {
  const OpId producer = graph.producer(id);
  if (!producer.valid() || !graph.sole_reader(id).valid()) {
    return id;
  }
  const Op& op = graph.op(producer);
  if (!op.domain.empty() || (op.op_type != "Mul" && op.op_type != "Div")) {
    return id;
  }
  const size_t number = is_scalar_parameter(graph, op.inputs[1]) ? 1 : 0;
  if (!is_scalar_parameter(graph, op.inputs[number]) || (op.op_type == "Div" && number == 0)) {
    return id;
  }
  ops->push_back(producer);
  return op.inputs[1 - number];
}

struct Attention {
  std::vector<OpId> ops;
  TensorId q, k_transposed, v, mask;
};

// softmax(q k^T [+ mask]) v on four axes: batch, heads, positions, size of a head.
std::optional<Attention> attention_at(const EditableGraph& graph, OpId id) {
  const Pattern plain = op("MatMul", {op("Softmax", {any(0)}), any(1)});
  const auto outer = match(graph, plain, id);
  if (!outer || graph.shape(outer->tensors[1]).rank() != 4) {
    return std::nullopt;
  }
  Attention result;
  result.ops = outer->ops;
  result.v = outer->tensors[1];
  TensorId scores = outer->tensors[0];
  OpId producer = graph.producer(scores);
  if (producer.valid() && graph.op(producer).op_type == "Add" &&
      graph.sole_reader(scores).valid()) {
    const Op& add = graph.op(producer);
    const auto makes_scores = [&](TensorId candidate) {
      std::vector<OpId> scale;
      const OpId from = graph.producer(before_scale(graph, candidate, &scale));
      return from.valid() && graph.op(from).op_type == "MatMul";
    };
    const size_t side = makes_scores(add.inputs[0]) ? 0 : 1;
    result.ops.push_back(producer);
    result.mask = add.inputs[1 - side];
    scores = add.inputs[side];
  }
  scores = before_scale(graph, scores, &result.ops);
  producer = graph.producer(scores);
  if (!producer.valid() || graph.op(producer).op_type != "MatMul" ||
      !graph.sole_reader(scores).valid()) {
    return std::nullopt;
  }
  result.ops.push_back(producer);
  result.q = before_scale(graph, graph.op(producer).inputs[0], &result.ops);
  result.k_transposed = before_scale(graph, graph.op(producer).inputs[1], &result.ops);
  const bool four_axes = graph.shape(result.q).rank() == 4 && graph.shape(result.q).is_static() &&
                         graph.shape(result.k_transposed).rank() == 4 &&
                         graph.shape(result.k_transposed).is_static();
  return four_axes ? std::optional(result) : std::nullopt;
}

// k as [batch, heads, positions, size]: the Transpose that was there without its last swap.
TensorId upright(EditableGraph& graph, TensorId k_transposed, const std::string& name) {
  const Tensor tensor = graph.tensor(k_transposed);
  Dims dims = tensor.shape.dims();
  std::swap(dims[2], dims[3]);
  const OpId producer = graph.producer(k_transposed);
  Op transpose;
  transpose.op_type = "Transpose";
  transpose.name = name + "/key";
  transpose.version = 13;
  transpose.inputs = {k_transposed};
  std::vector<int64_t> perm = {0, 1, 3, 2};
  if (producer.valid() && graph.op(producer).op_type == "Transpose") {
    if (const auto* own = graph.op(producer).attributes.get_ints("perm")) {
      perm = *own;
      std::swap(perm[2], perm[3]);
      transpose.inputs = {graph.op(producer).inputs[0]};
      set_origins(&transpose, origins_of(graph.op(producer)));
    }
  }
  if (perm == std::vector<int64_t>{0, 1, 2, 3}) {
    return transpose.inputs[0];
  }
  transpose.attributes.set("perm", perm);
  transpose.outputs = {graph.add_tensor(transpose.name, tensor.dtype, Shape(std::move(dims)))};
  const TensorId result = transpose.outputs[0];
  graph.add_op(std::move(transpose));
  return result;
}

}  // namespace

void fuse_aten_linear(EditableGraph& graph) {
  const Pattern pattern = op("Add", {op("MatMul", {any(0), parameter(1)}), parameter(2)});
  for (const OpId id : graph.ops()) {
    const auto found = match(graph, pattern, id);
    if (!found || graph.shape(found->tensors[1]).rank() != 2 ||
        graph.shape(found->tensors[2]).rank() != 1) {
      continue;
    }
    Op linear;
    linear.domain = kAten;
    linear.op_type = "linear";
    linear.inputs = {found->tensors[0], found->tensors[1], found->tensors[2]};
    linear.outputs = {graph.op(id).outputs[0]};
    graph.fuse(found->ops, std::move(linear));
  }
}

void fuse_aten_attention(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const auto found = attention_at(graph, id);
    if (!found) {
      continue;
    }
    Op attention;
    attention.op_type = "Attention";
    attention.version = kAttentionSince;
    attention.inputs = {found->q, upright(graph, found->k_transposed, graph.op(id).name), found->v};
    if (found->mask.valid()) {
      attention.inputs.push_back(found->mask);
    }
    attention.outputs = {graph.op(id).outputs[0]};
    graph.fuse(found->ops, std::move(attention));
  }
}

}  // namespace dfsim::inline graphs
