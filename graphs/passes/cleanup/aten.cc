// Restores single calls of PyTorch that an exporter wrote out as several operators.
#include <algorithm>
#include <numeric>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

using pattern::any;
using pattern::op;
using pattern::parameter;

constexpr int kAttentionSince = 23;
constexpr int kAxesAreAttributes = 11;  // of Squeeze and Unsqueeze, until 13

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

// softmax(scores) v: scores in slot 0, v in slot 1. PyTorch's exporters from 2.12 on write zeros
// over the rows that a mask hides altogether, which are not a number.
std::optional<Match> weighted_values_at(const EditableGraph& graph, OpId id) {
  const Pattern weights = op("Softmax", {any(0)});
  const Pattern guarded = op("Where", {op("IsNaN", {weights}), any(2), weights});
  const auto plain = match(graph, op("MatMul", {weights, any(1)}), id);
  return plain ? plain : match(graph, op("MatMul", {guarded, any(1)}), id);
}

// softmax(q k^T [+ mask]) v on four axes: batch, heads, positions, size of a head; or on three,
// where the first one holds batch and heads (nn.MultiheadAttention's bmm).
std::optional<Attention> attention_at(const EditableGraph& graph, OpId id) {
  const auto outer = weighted_values_at(graph, id);
  if (!outer) {
    return std::nullopt;
  }
  // A mask with more axes than the operands gives the result more axes, too.
  const int rank = graph.shape(outer->tensors[1]).rank();
  if ((rank != 3 && rank != 4) || graph.shape(graph.op(id).outputs[0]).rank() != rank) {
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
  const auto fits = [&](TensorId id) {
    return graph.shape(id).rank() == rank && graph.shape(id).is_static();
  };
  return fits(result.q) && fits(result.k_transposed) ? std::optional(result) : std::nullopt;
}

// k as [batch, heads, positions, size], or without heads: the Transpose that was there without its
// last swap.
TensorId upright_key(EditableGraph& graph, TensorId k_transposed, const std::string& name) {
  const Tensor tensor = graph.tensor(k_transposed);
  Dims dims = tensor.shape.dims();
  const size_t rank = dims.size();
  std::swap(dims[rank - 2], dims[rank - 1]);
  const OpId producer = graph.producer(k_transposed);
  Op transpose;
  transpose.op_type = "Transpose";
  transpose.name = name + "/key";
  transpose.version = 13;
  transpose.inputs = {k_transposed};
  std::vector<int64_t> upright(rank);
  std::iota(upright.begin(), upright.end(), 0);
  std::vector<int64_t> perm = upright;
  std::swap(perm[rank - 2], perm[rank - 1]);
  if (producer.valid() && graph.op(producer).op_type == "Transpose") {
    if (const auto* own = graph.op(producer).attributes.get_ints("perm")) {
      perm = *own;
      std::swap(perm[rank - 2], perm[rank - 1]);
      transpose.inputs = {graph.op(producer).inputs[0]};
      set_origins(&transpose, origins_of(graph.op(producer)));
    }
  }
  if (perm == upright) {
    return transpose.inputs[0];
  }
  transpose.attributes.set("perm", perm);
  transpose.outputs = {graph.add_tensor(transpose.name, tensor.dtype, Shape(std::move(dims)))};
  const TensorId result = transpose.outputs[0];
  graph.add_op(std::move(transpose));
  return result;
}

// The tensor with an axis of one head behind the first: a view.
TensorId with_head_axis(EditableGraph& graph, TensorId id) {
  const Tensor tensor = graph.tensor(id);
  if (tensor.shape.rank() != 3) {
    return id;
  }
  Dims dims = tensor.shape.dims();
  dims.insert(dims.begin() + 1, Dim(1));
  Op view;
  view.op_type = "Unsqueeze";
  view.name = tensor.name + "/head";
  view.version = kAxesAreAttributes;
  view.attributes.set("axes", std::vector<int64_t>{1});
  view.inputs = {id};
  view.outputs = {graph.add_tensor(view.name, tensor.dtype, Shape(std::move(dims)))};
  const TensorId result = view.outputs[0];
  graph.add_op(std::move(view));
  return result;
}

// Takes the axis of one head away again: makes `output` of `from`, which the attention makes.
void drop_head_axis(EditableGraph& graph, OpId attention, TensorId from, TensorId output) {
  Op view;
  view.op_type = "Squeeze";
  view.name = graph.tensor(output).name + "/heads";
  view.version = kAxesAreAttributes;
  view.attributes.set("axes", std::vector<int64_t>{1});
  view.inputs = {from};
  view.outputs = {output};
  set_origins(&view, origins_of(graph.op(attention)));
  graph.add_op(std::move(view));
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
    const TensorId output = graph.op(id).outputs[0];
    const TensorId k = upright_key(graph, found->k_transposed, graph.op(id).name);
    attention.inputs = {with_head_axis(graph, found->q), with_head_axis(graph, k),
                        with_head_axis(graph, found->v)};
    if (found->mask.valid()) {
      attention.inputs.push_back(with_head_axis(graph, found->mask));
    }
    if (graph.shape(output).rank() == 4) {
      attention.outputs = {output};
      graph.fuse(found->ops, std::move(attention));
      continue;
    }
    Dims dims = graph.shape(output).dims();
    dims.insert(dims.begin() + 1, Dim(1));
    const Tensor made = graph.tensor(output);
    const TensorId with_head =
        graph.add_tensor(made.name + "/head", made.dtype, Shape(std::move(dims)));
    attention.outputs = {with_head};
    const OpId fused = graph.fuse(found->ops, std::move(attention));
    drop_head_axis(graph, fused, with_head, output);
  }
}

}  // namespace dfsim::inline graphs
