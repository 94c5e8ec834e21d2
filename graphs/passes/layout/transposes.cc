// Moves Transposes down the graph, to where they meet others and cancel or become one.
//
// A Transpose goes through an operator when fewer axes (of more than one element) have to be moved
// afterwards in front of it, and what comes out meets another Transpose further down, or is
// smaller. Behind a result that several operators read, only a Transpose that cancels it counts.
// ONNX Runtime 1.31.1 and 1.32.0 decide likewise (asked by small graphs: x^T, Relu, mean,
// difference, Transpose).
#include <algorithm>

#include "graphs/passes/layout/transpose_rules.h"
#include "graphs/passes/layout/transpose_targets.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMostSweeps = 10;
constexpr int kUnknownRank = 5;

class TransposeMover {
 public:
  explicit TransposeMover(EditableGraph& graph) : graph_(graph), targets_(graph) {}

  bool sweep() {
    const std::vector<OpId> order = graph_.ops();
    targets_.find(order);
    bool changed = false;
    for (const OpId id : order) {
      if (graph_.alive(id)) {
        changed |= visit(id);
      }
    }
    return changed;
  }

 private:
  const Permutation* transpose_of(TensorId id) const {
    const OpId producer = id.valid() ? graph_.producer(id) : OpId();
    if (!producer.valid() || graph_.op(producer).op_type != "Transpose" ||
        !graph_.op(producer).domain.empty()) {
      return nullptr;
    }
    const auto* perm = graph_.op(producer).attributes.get_ints("perm");
    const Shape& source = graph_.shape(graph_.op(producer).inputs[0]);
    const bool fits =
        perm != nullptr && source.has_rank() && source.rank() == static_cast<int>(perm->size());
    return fits ? perm : nullptr;
  }

  bool visit(OpId id) {
    const TransposeRule rule = transpose_rule(graph_.op(id));
    if (rule == TransposeRule::kNone) {
      return false;
    }
    for (const size_t input : transposed_operands(graph_, graph_.op(id), rule)) {
      const Permutation* found = transpose_of(graph_.op(id).inputs[input]);
      if (found == nullptr) {
        continue;
      }
      const Permutation perm = *found;
      if (rule == TransposeRule::kReshape && !has_fixed_target(graph_.op(id))) {
        return false;
      }
      if (rule == TransposeRule::kTranspose || rule == TransposeRule::kReshape) {
        return merge(id, rule, perm) || (rule == TransposeRule::kReshape && pass_split(id, perm));
      }
      if (rule == TransposeRule::kShape) {
        return operand_cost(graph_.op(id).inputs[0], perm) < 0 && pass_shape(id, perm);
      }
      if (pays(graph_.op(id), rule, perm) && pass(id, rule, perm)) {
        return true;
      }
    }
    return false;
  }

  // ONNX Runtime looks at constant shapes only, and computes -1 from known extents only.
  bool has_fixed_target(const Op& reshape) const {
    const auto target = graph_.ints(reshape.inputs[1]);
    return graph_.is_parameter(reshape.inputs[1]) && target &&
           (graph_.shape_known(reshape.inputs[0]) ||
            std::find(target->begin(), target->end(), -1) == target->end());
  }

  // Axes of more than one element.
  int axes_to_move(TensorId id) const {
    const Shape& shape = graph_.shape(id);
    if (!shape.is_static() || !graph_.rank_known(id)) {
      return kUnknownRank;
    }
    int moved = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      moved += shape[axis].extent() != 1 || !graph_.extent_known(id, axis) ? 1 : 0;
    }
    return moved;
  }

  bool can_vanish(OpId transpose) const {
    const TensorId result = graph_.op(transpose).outputs[0];
    const auto readers = graph_.readers(result);
    return !graph_.tensor(result).is_output &&
           std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
             return transpose_rule(graph_.op(reader)) != TransposeRule::kNone;
           });
  }

  int operand_cost(TensorId id, const Permutation& perm) const {
    if (graph_.is_parameter(id)) {
      return 0;
    }
    if (const Permutation* other = transpose_of(id)) {
      return *other == perm && can_vanish(graph_.producer(id)) ? -axes_to_move(id) : 0;
    }
    return axes_to_move(id);
  }

  bool pays(const Op& op, TransposeRule rule, const Permutation& perm) const {
    int cost = 0;
    for (const size_t i : transposed_operands(graph_, op, rule)) {
      cost += operand_cost(op.inputs[i], perm);
    }
    if (cost >= 0) {
      return false;
    }
    int result_cost = 0;
    for (const TensorId output : op.outputs) {
      if (output.valid()) {
        result_cost = std::max(result_cost, axes_to_move(output));
        if (targets_.leads(output, perm)) {
          return true;
        }
      }
    }
    return cost + result_cost < 0;
  }

  bool pass(OpId id, TransposeRule rule, const Permutation& perm) {
    const Op before = graph_.op(id);
    const std::vector<size_t> operands = transposed_operands(graph_, before, rule);
    if (rule == TransposeRule::kBroadcast &&
        !std::all_of(operands.begin(), operands.end(), [&](size_t i) {
          const Shape& shape = graph_.shape(before.inputs[i]);
          return shape.is_static() && shape.rank() <= static_cast<int>(perm.size());
        })) {
      return false;
    }
    // Operands of a sum are compared; others have the axes of the Transpose.
    if (rule == TransposeRule::kBroadcast &&
        !std::all_of(before.inputs.begin(), before.inputs.end(),
                     [&](TensorId in) { return graph_.rank_known(in); })) {
      return false;
    }
    if (!std::all_of(before.outputs.begin(), before.outputs.end(),
                     [&](TensorId out) { return !out.valid() || graph_.shape(out).has_rank(); })) {
      return false;
    }
    Permutation of_results;
    if (!adapt_to_source(graph_, id, rule, perm, &of_results)) {
      return false;
    }
    const Permutation back = inverse(perm);
    for (const size_t i : operands) {
      if (rule == TransposeRule::kBroadcast) {
        widen(id, i, perm.size());
      }
      transpose_operand(id, i, back);
    }
    if (!is_identity(of_results)) {
      for (size_t i = 0; i < before.outputs.size(); ++i) {
        if (before.outputs[i].valid()) {
          transpose_result(id, i, of_results);
        }
      }
    }
    return true;
  }

  // The source's extents, put into the Transpose's order by a Gather.
  bool pass_shape(OpId id, const Permutation& perm) {
    const auto rank = static_cast<int64_t>(perm.size());
    const auto bound = [&](std::string_view name, int64_t otherwise) {
      const int64_t given = graph_.op(id).attributes.int_or(name, otherwise);
      return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
    };
    const int64_t first = bound("start", 0);
    const int64_t last = std::max(bound("end", rank), first);
    const TensorId result = graph_.op(id).outputs[0];
    const Tensor tensor = graph_.tensor(result);
    Op gather;
    gather.op_type = "Gather";
    gather.name = tensor.name + "/gather";
    gather.version = 13;
    gather.attributes.set("axis", int64_t{0});
    set_origins(&gather, origins_of(graph_.op(id)));
    const TensorId early =
        graph_.add_tensor(tensor.name + "/early", tensor.dtype, Shape({Dim(rank)}));
    gather.inputs = {early, graph_.add_ints(gather.name + "/indices",
                                            {perm.begin() + first, perm.begin() + last})};
    gather.outputs = {result};
    if (graph_.op(id).attributes.has("start") || graph_.op(id).attributes.has("end")) {
      graph_.attributes(id).set("start", int64_t{0});
      graph_.attributes(id).set("end", rank);
    }
    graph_.set_output(id, 0, early);
    graph_.add_op(std::move(gather));
    transpose_operand(id, 0, inverse(perm));
    return true;
  }

  Shape permuted(const Shape& shape, const Permutation& perm) const {
    Dims dims;
    for (const int64_t axis : perm) {
      dims.push_back(shape[static_cast<int>(axis)]);
    }
    return Shape(std::move(dims));
  }

  // States of the axes in the new order.
  std::optional<std::vector<Extent>> permuted_open(TensorId id, const Permutation& perm) const {
    const auto& open = graph_.open_axes(id);
    if (!open || open->empty()) {
      return open;
    }
    std::vector<Extent> moved;
    for (const int64_t axis : perm) {
      moved.push_back((*open)[static_cast<size_t>(axis)]);
    }
    return moved;
  }

  // Operands of lower rank get extents of 1 in front.
  void widen(OpId id, size_t input, size_t rank) {
    const TensorId old = graph_.op(id).inputs[input];
    const Tensor tensor = graph_.tensor(old);
    Dims dims = tensor.shape.dims();
    if (dims.size() == rank) {
      return;
    }
    std::vector<int64_t> axes(rank - dims.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i] = static_cast<int64_t>(i);
    }
    dims.insert(dims.begin(), axes.size(), Dim(1));
    auto open = graph_.open_axes(old);
    if (open && !open->empty()) {
      open->insert(open->begin(), axes.size(), kKnownExtent);
    }
    if (graph_.is_parameter(old)) {
      graph_.set_input(id, input, graph_.add_relaid(old, Shape(std::move(dims))));
      return;
    }
    Op unsqueeze;
    unsqueeze.op_type = "Unsqueeze";
    unsqueeze.name = tensor.name + "/unsqueeze";
    unsqueeze.version = std::max(graph_.op(id).version, 13);
    unsqueeze.inputs = {old, graph_.add_ints(unsqueeze.name + "/axes", axes)};
    unsqueeze.outputs = {
        graph_.add_tensor(unsqueeze.name, tensor.dtype, Shape(std::move(dims)), std::move(open))};
    set_origins(&unsqueeze, origins_of(graph_.op(id)));
    const TensorId result = unsqueeze.outputs[0];
    graph_.add_op(std::move(unsqueeze));
    graph_.set_input(id, input, result);
  }

  OpId add_transpose(TensorId from, TensorId to, const Permutation& perm,
                     const std::vector<OpOrigin>& origins) {
    Op op;
    op.op_type = "Transpose";
    op.name = graph_.tensor(to).name + "/transpose";
    op.version = 13;
    op.inputs = {from};
    op.outputs = {to};
    op.attributes.set("perm", perm);
    set_origins(&op, origins);
    return graph_.add_op(std::move(op));
  }

  void remove_if_unread(OpId transpose) {
    const TensorId result = graph_.op(transpose).outputs[0];
    if (graph_.readers(result).empty() && !graph_.tensor(result).is_output) {
      graph_.remove_op(transpose);
    }
  }

  // The op reads its operand through `perm`, which may cancel a Transpose that is there.
  void transpose_operand(OpId id, size_t input, const Permutation& perm) {
    const TensorId old = graph_.op(id).inputs[input];
    const Shape shape = permuted(graph_.shape(old), perm);
    if (graph_.is_parameter(old)) {
      graph_.set_input(id, input, graph_.add_relaid(old, shape));
      return;
    }
    if (const Permutation* first = transpose_of(old)) {
      const OpId transpose = graph_.producer(old);
      const Permutation both = composed(*first, perm);
      const TensorId source = graph_.op(transpose).inputs[0];
      if (is_identity(both)) {
        graph_.set_input(id, input, source);
      } else {
        read_through(id, input, source, both, shape, origins_of(graph_.op(transpose)));
      }
      remove_if_unread(transpose);
      return;
    }
    read_through(id, input, old, perm, shape, origins_of(graph_.op(id)));
  }

  void read_through(OpId id, size_t input, TensorId source, const Permutation& perm, Shape shape,
                    const std::vector<OpOrigin>& origins) {
    for (const OpId reader : graph_.readers(source)) {
      const Op& op = graph_.op(reader);
      const auto* other = op.attributes.get_ints("perm");
      if (op.op_type == "Transpose" && other != nullptr && *other == perm) {
        graph_.set_input(id, input, op.outputs[0]);
        return;
      }
    }
    const TensorId moved =
        graph_.add_tensor(graph_.tensor(source).name + "/moved", graph_.tensor(source).dtype,
                          std::move(shape), permuted_open(source, perm));
    add_transpose(source, moved, perm, origins);
    graph_.set_input(id, input, moved);
  }

  void transpose_result(OpId id, size_t output, const Permutation& perm) {
    const TensorId result = graph_.op(id).outputs[output];
    const Tensor tensor = graph_.tensor(result);
    const TensorId early = graph_.add_tensor(tensor.name + "/early", tensor.dtype,
                                             permuted(tensor.shape, inverse(perm)),
                                             permuted_open(result, inverse(perm)));
    graph_.set_output(id, output, early);
    add_transpose(early, result, perm, origins_of(graph_.op(id)));
    targets_.copy(result, early);
  }

  // The second of two Transposes (or a Reshape that is one) replaces both.
  bool merge(OpId id, TransposeRule rule, const Permutation& first) {
    const OpId transpose = graph_.producer(graph_.op(id).inputs[0]);
    const TensorId source = graph_.op(transpose).inputs[0];
    const TensorId result = graph_.op(id).outputs[0];
    std::optional<Permutation> second;
    if (rule == TransposeRule::kReshape) {
      second = reshape_as_transpose(graph_.shape(graph_.op(id).inputs[0]), graph_.shape(result));
    } else if (const auto* perm = graph_.op(id).attributes.get_ints("perm")) {
      second = *perm;
    }
    if (!second || second->size() != first.size()) {
      return false;
    }
    const Permutation both = composed(first, *second);
    if (is_identity(both) && !graph_.tensor(result).is_output) {
      graph_.remove_op(id);
      graph_.replace_reads(result, source);
    } else {
      std::vector<OpOrigin> origins = origins_of(graph_.op(transpose));
      const std::vector<OpOrigin> own = origins_of(graph_.op(id));
      origins.insert(origins.end(), own.begin(), own.end());
      graph_.remove_op(id);
      add_transpose(source, result, both, origins);
    }
    remove_if_unread(transpose);
    return true;
  }

  // A Reshape that takes axes apart goes in front of the Transpose, if all who read that are alike.
  bool pass_split(OpId id, const Permutation& perm) {
    const Op reshape = graph_.op(id);
    const TensorId transposed = reshape.inputs[0];
    const OpId transpose = graph_.producer(transposed);
    const auto fits = [&](OpId reader) {
      const Op& op = graph_.op(reader);
      return transpose_rule(op) == TransposeRule::kReshape &&
             reshape_first(perm, graph_.shape(transposed), graph_.shape(op.outputs[0]));
    };
    const auto readers = graph_.readers(transposed);
    if (graph_.tensor(transposed).is_output || !std::all_of(readers.begin(), readers.end(), fits)) {
      return false;
    }
    const TensorId result = reshape.outputs[0];
    const Tensor tensor = graph_.tensor(result);
    const auto turned = reshape_first(perm, graph_.shape(transposed), tensor.shape);
    const std::vector<OpOrigin> moved = origins_of(graph_.op(transpose));
    Op first = reshape;
    first.inputs = {graph_.op(transpose).inputs[0],
                    graph_.add_ints(tensor.name + "/extents", turned->extents)};
    first.attributes = {};
    Dims dims(turned->extents.begin(), turned->extents.end());
    const TensorId early =
        graph_.add_tensor(tensor.name + "/early", tensor.dtype, Shape(std::move(dims)));
    first.outputs = {early};
    graph_.remove_op(id);
    graph_.add_op(std::move(first));
    add_transpose(early, result, turned->perm, moved);
    remove_if_unread(transpose);
    return true;
  }

  EditableGraph& graph_;
  TransposeTargets targets_;
};

}  // namespace

void move_transposes(EditableGraph& graph) {
  TransposeMover mover(graph);
  for (int i = 0; i < kMostSweeps && mover.sweep(); ++i) {
  }
}

}  // namespace dfsim::inline graphs
