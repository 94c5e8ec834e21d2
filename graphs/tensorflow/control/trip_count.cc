// Recognises counting loops: a condition that compares a variable with a bound, and a body that
// adds a constant to it.
#include "graphs/tensorflow/control/trip_count_internal.h"

#include <algorithm>

#include "base/units.h"
#include "graphs/ir/shape.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMaxDepth = 16;

bool is_add(const std::string& op) { return op == "Add" || op == "AddV2"; }

class Counter {
 public:
  explicit Counter(const LoopView& loop) : loop_(loop) {}

  std::optional<int64_t> of(Source predicate, int depth) const {
    predicate = loop_.condition.skip_identities(predicate);
    if (predicate.is_argument() || depth > kMaxDepth) {
      return std::nullopt;
    }
    const TfNode& node = loop_.condition.node(predicate.node);
    const std::string& op = node.def->op();
    if (node.inputs.size() < 2) {
      return std::nullopt;
    }
    if (op == "LogicalAnd") {
      const auto a = of(node.inputs[0], depth + 1);
      const auto b = of(node.inputs[1], depth + 1);
      return a && b ? std::min(*a, *b) : a ? a : b;
    }
    if (op == "Less" || op == "LessEqual") {
      return below(node.inputs[0], node.inputs[1], op == "LessEqual");
    }
    if (op == "Greater" || op == "GreaterEqual") {
      return below(node.inputs[1], node.inputs[0], op == "GreaterEqual");
    }
    return std::nullopt;
  }

 private:
  // Trips while variable `a` is below `b` (or equal).
  std::optional<int64_t> below(Source a, Source b, bool or_equal) const {
    const auto variable = loop_.variable(loop_.condition, a);
    const auto limit = loop_.constant(loop_.condition, b);
    const auto initial = variable ? loop_.initial(*variable) : std::nullopt;
    const auto step = variable ? step_of(*variable) : std::nullopt;
    if (!limit || !initial || !step || *step <= 0) {
      return std::nullopt;
    }
    const Count room = Count(*limit) + Count(or_equal ? 1 : 0) + Count(-1) * Count(*initial);
    if (room.overflowed()) {
      return std::nullopt;
    }
    const int64_t trips = room.value() <= 0 ? 0 : (room.value() - 1) / *step + 1;
    return trips <= kMaxExtent ? std::optional(trips) : std::nullopt;
  }

  // The amount that a trip adds to the variable.
  std::optional<int64_t> step_of(size_t variable) const {
    const Source result = loop_.body.skip_identities(loop_.results[variable]);
    if (result.is_argument() || !is_add(loop_.body.op(result.node)) ||
        loop_.body.node(result.node).inputs.size() != 2) {
      return std::nullopt;
    }
    const auto& inputs = loop_.body.node(result.node).inputs;
    for (size_t i = 0; i < 2; ++i) {
      if (loop_.variable(loop_.body, inputs[i]) == variable) {
        return loop_.constant(loop_.body, inputs[1 - i]);
      }
    }
    return std::nullopt;
  }

  const LoopView& loop_;
};

}  // namespace

std::optional<int64_t> count_trips(const LoopView& loop) {
  return Counter(loop).of(loop.predicate, 0);
}

}  // namespace dfsim::inline graphs
