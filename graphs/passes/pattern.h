// Pattern: a small tree of operators to look for, written from the result down to its operands.
//
//   const Pattern gelu = op("Mul", {op("Mul", {any(0), half_erf_plus_one}), scalar(0.5)});
//
// Purpose: every fusion rule recognises its operators through match(), so that "an intermediate
//   result that somebody else reads must stay" is decided in one place.
// Operands of Add and Mul (and others that commute) match in either order. A slot that occurs twice
// must be the same tensor. O(2^depth) at worst, on trees of at most a dozen operators.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

inline constexpr size_t kMaxPatternSlots = 8;

class Pattern {
 public:
  enum class Kind { kAny, kParameter, kConstant, kScalar, kOp };

  Kind kind = Kind::kAny;
  int slot = -1;                  // of kAny, kParameter, kConstant: where the tensor is kept
  double value = 0;               // of kScalar
  std::string_view op_type;       // of kOp; com.microsoft's operators are found by name, too
  std::vector<Pattern> operands;  // of kOp: the first operands; more are allowed

  // The tensor that this operator makes is kept in that slot, and others may read it.
  Pattern keep(int in_slot) &&;
  int result_slot = -1;

  // A parameter may also be cast in every run, as those of fp16 are that several operators read.
  Pattern or_cast() &&;
  bool through_cast = false;  // of kParameter, kConstant and kScalar
};

namespace pattern {
Pattern any(int slot);         // any tensor
Pattern parameter(int slot);   // a weight or constant
Pattern constant(int slot);    // a constant of one element whose value is known
Pattern scalar(double value);  // a constant of one element, within 0.1 % of `value`
Pattern op(std::string_view op_type, std::vector<Pattern> operands);
}  // namespace pattern

// The operand of the Cast that makes the tensor, else the tensor.
TensorId before_cast(const EditableGraph& graph, TensorId id);

struct Match {
  std::vector<OpId> ops;  // all matched, the result's first; each once
  std::array<TensorId, kMaxPatternSlots> tensors{};
};

// The match of `pattern` whose result is made by `root`; none when there is none, or when something
// outside of it reads a tensor in between.
std::optional<Match> match(const EditableGraph& graph, const Pattern& pattern, OpId root);

// A parameter [C, 1, 1...] or [1, C, 1, 1...] against an activation [N, C, space...].
bool is_per_channel(const EditableGraph& graph, TensorId id, const Shape& activation);

}  // namespace dfsim::inline graphs
