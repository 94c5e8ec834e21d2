// Layer normalisation, written out by exporters, in one operator; with the sum before it.
#include "graphs/passes/fusion/layer_norm.h"

#include <algorithm>
#include <array>

#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

using pattern::any;
using pattern::constant;
using pattern::op;
using pattern::parameter;
using pattern::scalar;

constexpr int64_t kLayerNormSince = 17;

// The op reduces the last axis only and keeps it.
bool reduces_last_axis(const EditableGraph& graph, const Op& reduce) {
  std::optional<std::vector<int64_t>> axes;
  if (const auto* given = reduce.attributes.get_ints("axes")) {
    axes = *given;
  } else if (reduce.inputs.size() > 1) {
    axes = graph.ints(reduce.inputs[1]);
  }
  const int rank = graph.shape(reduce.inputs[0]).rank();
  return axes && axes->size() == 1 && (axes->front() == -1 || axes->front() == rank - 1) &&
         reduce.attributes.int_or("keepdims", 1) != 0;
}

bool all_reduce_last_axis(const EditableGraph& graph, const Match& found) {
  return std::all_of(found.ops.begin(), found.ops.end(), [&](OpId id) {
    return graph.op(id).op_type != "ReduceMean" || reduces_last_axis(graph, graph.op(id));
  });
}

bool is_vector(const EditableGraph& graph, TensorId id) { return graph.shape(id).rank() == 1; }

void set_norm_attributes(EditableGraph& graph, TensorId epsilon, Op* fused) {
  fused->attributes.set("axis", int64_t{-1});
  fused->attributes.set("epsilon", *graph.scalar(before_cast(graph, epsilon)));
}

// slots: 0 x, 1 scale, 2 bias, 3 epsilon
Pattern layer_norm_pattern() {
  const Pattern centred = op("Sub", {any(0), op("ReduceMean", {any(0)})});
  const Pattern variance = op("ReduceMean", {op("Pow", {centred, scalar(2)})});
  const Pattern deviation = op("Sqrt", {op("Add", {variance, constant(3)})});
  return op("Add", {op("Mul", {op("Div", {centred, deviation}), parameter(1)}), parameter(2)});
}

// slots: 0 x, 1 scale, 3 epsilon. x is divided by the norm, or multiplied by one over it, as
// PyTorch's older exporter writes rsqrt(). Norms in fp16 that share their numbers or weights read
// casts of them; ONNX Runtime finds these, too.
std::array<Pattern, 2> simplified_patterns() {
  const Pattern square = op("ReduceMean", {op("Pow", {any(0), scalar(2).or_cast()})});
  const Pattern norm = op("Sqrt", {op("Add", {square, constant(3).or_cast()})});
  const Pattern inverse = op("Div", {scalar(1).or_cast(), norm});
  return {op("Mul", {op("Div", {any(0), norm}), parameter(1).or_cast()}),
          op("Mul", {op("Mul", {any(0), inverse}), parameter(1).or_cast()})};
}

// slots: 0 and 1 what is summed; a bias of one axis in slot 2 may go with it.
struct Sum {
  std::vector<OpId> ops;
  TensorId x, skip, bias;
};

// ONNX Runtime merges a sum of two [B, S, H], although the operator's kernel would also take a
// second operand of [1, S, H] or [S, H].
bool skip_shapes(const Shape& x, const Shape& skip) {
  return x.is_static() && skip.is_static() && x.rank() == 3 && x == skip;
}

std::optional<Sum> sum_before(const EditableGraph& graph, OpId norm) {
  const OpId add = graph.producer(graph.op(norm).inputs[0]);
  if (!add.valid() || graph.op(add).op_type != "Add" ||
      graph.sole_reader(graph.op(add).outputs[0]) != norm) {
    return std::nullopt;
  }
  Sum sum{{norm, add}, graph.op(add).inputs[0], graph.op(add).inputs[1], TensorId()};
  if (!graph.comparable(sum.x, sum.skip)) {
    return std::nullopt;
  }
  if (!skip_shapes(graph.shape(sum.x), graph.shape(sum.skip))) {
    return std::nullopt;
  }
  const Pattern biased = op("Add", {any(0), parameter(1)});
  for (TensorId* side : {&sum.x, &sum.skip}) {
    const OpId producer = graph.producer(*side);
    const auto found = producer.valid() ? match(graph, biased, producer) : std::nullopt;
    if (found && is_vector(graph, found->tensors[1]) && graph.sole_reader(*side) == add) {
      *side = found->tensors[0];
      sum.bias = found->tensors[1];
      sum.ops.push_back(producer);
      break;
    }
  }
  return sum;
}

}  // namespace

bool makes_layer_norm(const EditableGraph& graph, OpId id) {
  if (!id.valid() || graph.op(id).op_type == "LayerNormalization") {
    return id.valid();
  }
  const auto found = match(graph, layer_norm_pattern(), id);
  return found && all_reduce_last_axis(graph, *found);
}

void fuse_layer_norm(EditableGraph& graph) {
  const Pattern pattern = layer_norm_pattern();
  for (const OpId id : graph.ops()) {
    const auto found = match(graph, pattern, id);
    if (!found || !all_reduce_last_axis(graph, *found) || !is_vector(graph, found->tensors[1]) ||
        !is_vector(graph, found->tensors[2])) {
      continue;
    }
    Op fused;
    fused.op_type = "LayerNormalization";
    fused.version = kLayerNormSince;
    fused.inputs = {found->tensors[0], found->tensors[1], found->tensors[2]};
    fused.outputs = {graph.op(id).outputs[0]};
    set_norm_attributes(graph, found->tensors[3], &fused);
    graph.fuse(found->ops, std::move(fused));
  }
}

void fuse_simplified_layer_norm(EditableGraph& graph) {
  const auto [divided, multiplied] = simplified_patterns();
  for (const OpId id : graph.ops()) {
    auto found = match(graph, divided, id);
    if (!found) {
      found = match(graph, multiplied, id);
    }
    if (!found || !all_reduce_last_axis(graph, *found) || !is_vector(graph, found->tensors[1])) {
      continue;
    }
    Op fused;
    fused.op_type = "SimplifiedLayerNormalization";
    fused.version = 1;
    fused.inputs = {found->tensors[0], found->tensors[1]};
    fused.outputs = {graph.op(id).outputs[0]};
    set_norm_attributes(graph, found->tensors[3], &fused);
    graph.fuse(found->ops, std::move(fused));
  }
}

void fuse_skip_layer_norm(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& norm = graph.op(id);
    if (!graph.alive(id) || !norm.domain.empty() || norm.op_type != "LayerNormalization" ||
        norm.inputs.size() < 2) {
      continue;
    }
    const auto sum = sum_before(graph, id);
    if (!sum) {
      continue;
    }
    Op fused;
    fused.domain = kMicrosoft;
    fused.op_type = "SkipLayerNormalization";
    fused.inputs = {sum->x, sum->skip, norm.inputs[1]};
    if (norm.inputs.size() > 2) {
      fused.inputs.push_back(norm.inputs[2]);
    }
    if (sum->bias.valid()) {
      fused.inputs.resize(4);
      fused.inputs.push_back(sum->bias);
    }
    fused.outputs = {norm.outputs[0]};
    graph.fuse(sum->ops, std::move(fused));
  }
}

}  // namespace dfsim::inline graphs
