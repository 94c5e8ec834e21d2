// EditableGraph: a graph while passes rewrite it.
//
// Operators and tensors keep their ids until finish(); a removed operator's id stays unused. Shapes
// are those of the graph it was made from; who adds a tensor says its shape.
// Invariant: each living operator is known to the tensors it reads and makes. All calls but ops()
// and finish() take time in proportion to the operators they touch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/passes/open/open_dims.h"
#include "graphs/passes/origins.h"

namespace dfsim::inline graphs {

class EditableGraph {
 public:
  // `open` says which shapes the runtime doesn't know; by names, so of an earlier form of the
  // graph.
  explicit EditableGraph(const Graph& graph, const OpenDims& open = {});

  // Ids of the living operators, producers first; ties by id. O(ops log ops + edges); O(ops) when
  // nothing was edited since the last call. Not for two threads at once.
  std::vector<OpId> ops() const;
  bool alive(OpId id) const { return alive_[id.index()]; }
  size_t living() const { return living_; }
  // Grows with every operator that is added, removed or reconnected.
  uint64_t edits() const { return edits_; }
  const Op& op(OpId id) const { return ops_[id.index()]; }
  // For attributes and names; inputs and outputs change through the calls below.
  Attributes& attributes(OpId id) { return ops_[id.index()].attributes; }
  void set_class(OpId id, OpClass op_class);

  size_t tensor_count() const { return tensors_.size(); }
  // An operand that is left out has no rank, no producer, no readers and no value.
  const Tensor& tensor(TensorId id) const;
  const Shape& shape(TensorId id) const { return tensor(id).shape; }
  // The runtime knows every extent before the first run. False for a tensor that a pass adds and
  // that an operator makes from operands with open extents.
  bool shape_known(TensorId id) const { return !id.valid() || !open_[id.index()]; }
  // States of the axes: none when the runtime knows all of them, empty when not even their number.
  const std::optional<std::vector<Extent>>& open_axes(TensorId id) const {
    return open_[id.index()];
  }
  // The runtime knows that one before the first run, or at least how many there are.
  bool extent_known(TensorId id, int axis) const;
  bool rank_known(TensorId id) const { return shape_known(id) || !open_[id.index()]->empty(); }
  // The runtime can tell whether both have the same extents: it knows each, or has the same name
  // for it on both sides.
  bool comparable(TensorId a, TensorId b) const;
  // The operator that makes the tensor, or none.
  OpId producer(TensorId id) const { return tensor(id).producer; }
  // One entry for each time the tensor is read.
  std::span<const OpId> readers(TensorId id) const;
  // The only operator that reads the tensor (once), or none; none for outputs of the graph.
  OpId sole_reader(TensorId id) const;
  // A weight or a constant: ONNX's initializer.
  bool is_parameter(TensorId id) const { return tensor(id).role != TensorRole::kActivation; }
  // A parameter that the runtime may also rearrange ahead of a run.
  bool is_fixed(TensorId id) const { return is_parameter(id) && !tensor(id).is_replaceable; }
  // The value when it is known, or nullptr.
  const ConstValue* constant(TensorId id) const;
  // The value of a constant of one element.
  std::optional<double> scalar(TensorId id) const;
  // A constant list of integers.
  std::optional<std::vector<int64_t>> ints(TensorId id) const;

  TensorId add_tensor(std::string name, DType dtype, Shape shape);
  // The runtime knows of its axes what `open` says, whoever makes it.
  TensorId add_tensor(std::string name, DType dtype, Shape shape,
                      std::optional<std::vector<Extent>> open);
  // An int64 list, as Reshape and others read their second operand.
  TensorId add_ints(std::string name, const std::vector<int64_t>& values);
  // A parameter of that shape with an unknown value: folded ahead of time.
  TensorId add_weight(std::string name, DType dtype, Shape shape);

  // The same elements as `parameter` in another layout. The parameter keeps its value when it is
  // one number.
  TensorId add_relaid(TensorId parameter, Shape shape);

  // A tensor that is added with a value: a scale, a zero point.
  TensorId add_constant(std::string name, ConstValue value);
  // Other extents; the caller answers for the operators around it.
  void set_shape(TensorId id, Shape shape);
  // The channels are stored in whole blocks of so many.
  void set_channel_block(TensorId id, int block);
  // Another element type for the same elements; a known value keeps its numbers.
  void set_dtype(TensorId id, DType dtype);

  // Adds the operator; class and version by its domain. The new outputs have no producer yet.
  OpId add_op(Op op);
  // The operator stays even if nothing reads its results, as those without readers from the
  // beginning do.
  void keep_unread(OpId id) { mark_unread(op(id)); }
  void remove_op(OpId id);
  void set_input(OpId id, size_t input, TensorId tensor);
  // Adds optional inputs that are left out until the operator has `count`.
  void pad_inputs(OpId id, size_t count);
  // The operator makes `tensor`, which has no producer, as that output.
  void set_output(OpId id, size_t output, TensorId tensor);
  // Every reader of `from` reads `to` instead. `from` must not be an output of the graph.
  void replace_reads(TensorId from, TensorId to);
  // Adds `fused`, which makes outputs of `replaced`, and removes those. It is named after the
  // first of them in the model and remembers all as its origins.
  OpId fuse(const std::vector<OpId>& replaced, Op fused);
  // Removes an operator that passes its first operand on unchanged. False, and nothing done, when
  // both its operand and its result are seen from outside.
  bool bypass(OpId id);

  // Drops unused tensors and operators whose results lost their readers here. An operator that had
  // none from the beginning stays, or what replaced it: prune() leaves those that a runtime
  // executes. The object is empty afterwards.
  StatusOr<Graph> finish() { return finish(false); }
  // The same with the operators in an order of its own, which depends on no file: first who has the
  // longest way to the end of the graph; ties by type, then as they were.
  StatusOr<Graph> finish_by_height() { return finish(true); }

 private:
  void link(OpId id);
  void unlink(OpId id);
  void remove_dead();
  bool is_read(const Op& op) const;
  bool makes_unread(const Op& op) const;
  void mark_unread(const Op& op);
  StatusOr<Graph> finish(bool by_height);
  std::vector<OpId> sorted_ops() const;
  std::vector<OpId> ops_by_height() const;
  std::vector<OpId> ops_with_late_casts() const;

  std::vector<Op> ops_;
  std::vector<bool> alive_;
  size_t living_ = 0;
  uint64_t edits_ = 0;
  // The result of ops() when `edits_` was `order_edits_`.
  mutable std::vector<OpId> order_;
  mutable uint64_t order_edits_ = ~uint64_t{0};
  std::vector<Tensor> tensors_;
  std::vector<std::optional<std::vector<Extent>>> open_;  // by tensor, where one isn't known
  std::vector<bool> derived_;  // by tensor: was added, and is as open as its operator's operands
  std::vector<std::vector<OpId>> readers_;
  std::vector<bool> unread_;  // by tensor: of operators without readers that stay
  std::vector<std::optional<ConstValue>> constants_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> outputs_;
  GraphInfo info_;
};

}  // namespace dfsim::inline graphs
