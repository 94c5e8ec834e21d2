// How an operator whose operand is transposed can run on the operand as it was: the rules that
// move_transposes (transposes.cc) applies.
#pragma once

#include <vector>

#include "graphs/passes/editable_graph.h"
#include "graphs/passes/layout/permutation.h"

namespace dfsim::inline graphs {

// The fate of a Transpose in front of an operator.
enum class TransposeRule {
  kNone,       // it stays
  kAll,        // every operand and result is transposed alike
  kFirst,      // the first operand and the result
  kBroadcast,  // operands of lower rank are widened first; scalars stay
  kAxis,       // first operand (Concat: all); an attribute `axis` follows
  kQuantizer,  // as kFirst; `axis` of a scale per channel follows
  kPad,
  kReduce,
  kSqueeze,
  kUnsqueeze,
  kSlice,
  kGather,
  kTile,
  kShape,      // it ends there: the shape of the source, its extents in the Transpose's order
  kTranspose,  // two become one
  kReshape,    // one that only moves extents of 1 is a Transpose; one that splits axes goes first
};

TransposeRule transpose_rule(const Op& op);

// Does the result come out transposed, too, or does the Transpose end there?
bool moves_on(TransposeRule rule);

// The operands that are transposed together.
std::vector<size_t> transposed_operands(const EditableGraph& graph, const Op& op,
                                        TransposeRule rule);

// Adapts axes and the like to operand 0 before the Transpose `perm`, and gives the permutation of
// the results. False, and nothing changed, when a value is not known.
bool adapt_to_source(EditableGraph& graph, OpId id, TransposeRule rule, const Permutation& perm,
                     Permutation* of_results);

// The permutation that a Reshape to that shape amounts to; none when it is more than that.
std::optional<Permutation> reshape_as_transpose(const Shape& from, const Shape& to);

// A Transpose and a Reshape that takes its axes apart, the other way round: the source is reshaped
// to `extents`, then moved by `perm`.
struct ReshapeFirst {
  std::vector<int64_t> extents;
  Permutation perm;
};
// transposed: what `perm` makes of the source. None when the Reshape joins axes. ONNX Runtime
// 1.31.1 counts extents of 1 to the axis behind them, and none may be left at the end.
std::optional<ReshapeFirst> reshape_first(const Permutation& perm, const Shape& transposed,
                                          const Shape& to);

}  // namespace dfsim::inline graphs
