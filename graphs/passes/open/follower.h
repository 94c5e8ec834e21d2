// Follower: the state of every axis of a graph's tensors, operator by operator.
//
// Purpose: what OpenDims is made with; private to this folder. For each tensor it
// keeps
//   the states of the axes and, for short lists of integers, those of the elements, because shapes
//   are made of other tensors' shapes (Shape, Gather, Concat, Reshape).
// The rules are those of ONNX's shape inference, by groups of operators; an operator without a rule
// keeps the axes of its first operand or loses them. run() takes O(operators + axes).
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/passes/open/extent.h"

namespace dfsim::inline graphs::open {

using Extents = std::vector<Extent>;
inline constexpr size_t kMostElements = 64;

// The facts about one tensor.
struct Facts {
  Extents axes;
  std::optional<Extents> elements;
  bool constant = false;  // the same in every run
  bool ranked = true;     // how many axes there are; without that none is known
};

inline bool all_known(const Extents& axes) {
  return std::all_of(axes.begin(), axes.end(), [](Extent e) { return e == kKnownExtent; });
}

inline size_t slot_of(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// The axis of a broadcast: a known extent other than 1 decides, then one symbol.
struct MergedAxis {
  bool known = false;
  bool lost = false;
  Extent symbol = kKnownExtent;

  void add(Extent state, int64_t extent) {
    if (state == kKnownExtent) {
      known = known || extent != 1;
    } else if (state < 0 || (symbol != kKnownExtent && symbol != state)) {
      lost = true;
    } else {
      symbol = state;
    }
  }
  Extent result() const {
    if (known) {
      return kKnownExtent;
    }
    return lost ? kUnknownExtent : symbol;
  }
};

class Follower {
 public:
  explicit Follower(const Graph& graph);

  void open(TensorId id, int axis, Extent symbol);
  // By tensor the axes that the file declares; empty: it declares none.
  void declare(std::vector<Extents> declared) { declared_ = std::move(declared); }
  void run();
  const Facts& facts(TensorId id) const { return facts_[id.index()]; }

  std::vector<bool> constant_ops;
  std::vector<bool> constant_reshapes;

 private:
  using Rule = void (Follower::*)(const Op&);
  struct NamedRule {
    std::string_view op_type;
    Rule rule;
  };
  static const NamedRule kRules[];

  const Facts& in(const Op& op, size_t i) const {
    static const Facts kNone;
    return i < op.inputs.size() && op.inputs[i].valid() ? facts_[op.inputs[i].index()] : kNone;
  }
  bool has(const Op& op, size_t i) const { return i < op.inputs.size() && op.inputs[i].valid(); }
  bool is_constant_input(const Op& op, size_t i) const { return !has(op, i) || in(op, i).constant; }
  const Shape& shape_of(const Op& op, size_t i) const { return graph_.tensor(op.inputs[i]).shape; }
  Facts& out(const Op& op, size_t i = 0) { return facts_[op.outputs[i].index()]; }
  size_t rank_out(const Op& op, size_t i = 0) const {
    return facts_[op.outputs[i].index()].axes.size();
  }
  // Finds the joined shapes that several operators read, once equal ones are one.
  void count_shape_readers();
  void set_axes(const Op& op, size_t i, Extents axes);
  // A list of the operator, as an attribute or as a constant operand.
  std::optional<std::vector<int64_t>> list(const Op& op, std::string_view name, size_t input) const;
  void set_constant_elements(TensorId id);
  bool is_constant(const Op& op) const;
  bool has_ranked_results(const Op& op) const;
  void infer(const Op& op);
  void believe_file(const Op& op);
  // Broadcasts the axes of all operands but the last `skipped` of each.
  Extents merged_axes(const Op& op, size_t rank, size_t skipped) const;

  // An operand whose number of axes shape inference doesn't know.
  bool reads_unranked(const Op& op) const;
  void lost(const Op& op);
  void unranked(const Op& op);
  // Results with the extents of the first operand have its axes; others are lost if it is open.
  void same(const Op& op);
  void broadcast(const Op& op);
  void matmul(const Op& op);
  void gemm(const Op& op);
  void packed_product(const Op& op);
  // Convolutions and pools: channels of a convolution come from its weight.
  void window(const Op& op);
  void pool(const Op& op);
  void reduce(const Op& op);
  void resize(const Op& op);
  void pad(const Op& op);
  void tile(const Op& op);
  void filled(const Op& op);
  // GRU, LSTM, RNN: all results and the last states, steps first or images first.
  void recurrent(const Op& op);
  void top_k(const Op& op);

  void transpose(const Op& op);
  void concat(const Op& op);
  void split(const Op& op);
  void slice(const Op& op);
  void gather(const Op& op);
  void gather_elements(const Op& op);
  // Constant shapes: 0 copies, and -1 is known when everything else is, copied axes aside.
  void reshape(const Op& op);
  // Each element of the computed shape is known, the extent of the same axis of the operand, or the
  // one that may be -1.
  bool becomes_constant(const Op& op) const;
  bool is_carried(const Op& op, size_t input) const;
  std::optional<TensorId> gathered_from(TensorId tensor, size_t axis) const;
  bool copies_axis(const Op& op, TensorId piece, size_t axis) const;
  std::vector<int64_t> fixed_target(const Op& op) const;
  void flatten(const Op& op);
  void squeeze(const Op& op);
  void unsqueeze(const Op& op);
  void expand(const Op& op);
  void shape(const Op& op);

  const Graph& graph_;
  std::vector<Facts> facts_;
  std::vector<Extents> declared_;
  std::unordered_set<TensorId> shared_shapes_;
};

}  // namespace dfsim::inline graphs::open
