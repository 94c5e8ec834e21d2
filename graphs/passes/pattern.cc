// Matches a pattern from its root down, trying both orders of commutative operands. A match
// counts only when it is closed: no operator outside may read a tensor that fusing would remove.
#include "graphs/passes/pattern.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/cancellation.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

constexpr double kTolerance = 1e-3;
constexpr std::array<std::string_view, 4> kCommuting = {"Add", "Mul", "And", "Or"};

class Matcher {
 public:
  explicit Matcher(const EditableGraph& graph) : graph_(graph) {}

  bool tensor(const Pattern& pattern, TensorId id, Match* found) const {
    if (!id.valid()) {
      return false;
    }
    switch (pattern.kind) {
      case Pattern::Kind::kAny:
        return bind(pattern.slot, id, found);
      case Pattern::Kind::kParameter:
        return graph_.is_parameter(source(pattern, id)) && bind(pattern.slot, id, found);
      case Pattern::Kind::kConstant:
        return graph_.scalar(source(pattern, id)).has_value() && bind(pattern.slot, id, found);
      case Pattern::Kind::kScalar: {
        const auto value = graph_.scalar(source(pattern, id));
        return value && std::abs(*value - pattern.value) <= kTolerance * std::abs(pattern.value);
      }
      case Pattern::Kind::kOp:
        break;
    }
    const OpId producer = graph_.producer(id);
    return producer.valid() && graph_.op(producer).outputs[0] == id &&
           op(pattern, producer, found) &&
           (pattern.result_slot < 0 || bind(pattern.result_slot, id, found));
  }

  // The tensor that must be a parameter.
  TensorId source(const Pattern& pattern, TensorId id) const {
    return pattern.through_cast ? before_cast(graph_, id) : id;
  }

  bool op(const Pattern& pattern, OpId id, Match* found) const {
    const Op& op = graph_.op(id);
    if (op.op_type != pattern.op_type || op.inputs.size() < pattern.operands.size() ||
        (!op.domain.empty() && op.domain != kMicrosoft)) {
      return false;
    }
    const Match before = *found;
    if (operands(pattern, op, false, found)) {
      add(id, found);
      return true;
    }
    *found = before;
    const bool commutes =
        pattern.operands.size() == 2 &&
        std::find(kCommuting.begin(), kCommuting.end(), pattern.op_type) != kCommuting.end();
    if (commutes && operands(pattern, op, true, found)) {
      add(id, found);
      return true;
    }
    *found = before;
    return false;
  }

 private:
  bool operands(const Pattern& pattern, const Op& op, bool swapped, Match* found) const {
    for (size_t i = 0; i < pattern.operands.size(); ++i) {
      if (!tensor(pattern.operands[i], op.inputs[swapped ? 1 - i : i], found)) {
        return false;
      }
    }
    return true;
  }

  static bool bind(int slot, TensorId id, Match* found) {
    TensorId& bound = found->tensors[static_cast<size_t>(slot)];
    if (bound.valid() && bound != id) {
      return false;
    }
    bound = id;
    return true;
  }

  static void add(OpId id, Match* found) {
    if (std::find(found->ops.begin(), found->ops.end(), id) == found->ops.end()) {
      found->ops.insert(found->ops.begin(), id);
    }
  }

  const EditableGraph& graph_;
};

// Every tensor in between is read by matched operators only, those kept in a slot apart.
bool is_closed(const EditableGraph& graph, const Match& found, OpId root) {
  for (const OpId id : found.ops) {
    if (id == root) {
      continue;
    }
    const TensorId result = graph.op(id).outputs[0];
    if (std::find(found.tensors.begin(), found.tensors.end(), result) != found.tensors.end()) {
      continue;
    }
    const auto inside = [&](OpId reader) {
      return std::find(found.ops.begin(), found.ops.end(), reader) != found.ops.end();
    };
    const auto readers = graph.readers(result);
    if (graph.tensor(result).is_output || !std::all_of(readers.begin(), readers.end(), inside)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Pattern Pattern::keep(int in_slot) && {
  result_slot = in_slot;
  return std::move(*this);
}

Pattern Pattern::or_cast() && {
  through_cast = true;
  return std::move(*this);
}

TensorId before_cast(const EditableGraph& graph, TensorId id) {
  const OpId producer = id.valid() ? graph.producer(id) : OpId();
  const bool is_cast =
      producer.valid() && graph.op(producer).op_type == "Cast" && graph.op(producer).domain.empty();
  return is_cast ? graph.op(producer).inputs[0] : id;
}

namespace pattern {

Pattern any(int slot) {
  Pattern result;
  result.slot = slot;
  return result;
}

Pattern parameter(int slot) {
  Pattern result = any(slot);
  result.kind = Pattern::Kind::kParameter;
  return result;
}

Pattern constant(int slot) {
  Pattern result = any(slot);
  result.kind = Pattern::Kind::kConstant;
  return result;
}

Pattern scalar(double value) {
  Pattern result;
  result.kind = Pattern::Kind::kScalar;
  result.value = value;
  return result;
}

Pattern op(std::string_view op_type, std::vector<Pattern> operands) {
  Pattern result;
  result.kind = Pattern::Kind::kOp;
  result.op_type = op_type;
  result.operands = std::move(operands);
  return result;
}

}  // namespace pattern

std::optional<Match> match(const EditableGraph& graph, const Pattern& pattern, OpId root) {
  cancellation_point();
  if (!graph.alive(root)) {
    return std::nullopt;
  }
  Match found;
  if (!Matcher(graph).op(pattern, root, &found) || !is_closed(graph, found, root)) {
    return std::nullopt;
  }
  return found;
}

bool is_per_channel(const EditableGraph& graph, TensorId id, const Shape& activation) {
  if (!id.valid() || !graph.is_parameter(id) || !graph.shape(id).is_static() ||
      !activation.is_static()) {
    return false;
  }
  std::vector<int64_t> extents = graph.shape(id).extents();
  const auto rank = static_cast<size_t>(activation.rank());
  if (extents.size() == rank && extents[0] == 1) {
    extents.erase(extents.begin());
  }
  return extents.size() + 1 == rank && extents[0] == activation[1].extent() &&
         std::all_of(extents.begin() + 1, extents.end(), [](int64_t e) { return e == 1; });
}

}  // namespace dfsim::inline graphs
