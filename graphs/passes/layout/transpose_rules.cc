// A table from operator to the rule by which it can run on its operand before the transposition,
// and a function for each rule that renumbers axes and permutes lists. A rule either applies in
// full or leaves the operator as it was.
#include "graphs/passes/layout/transpose_rules.h"

#include <map>
#include <string_view>

#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

const std::map<std::string_view, TransposeRule>& rules() {
  static const std::map<std::string_view, TransposeRule> kRules = [] {
    std::map<std::string_view, TransposeRule> map;
    for (const std::string_view type :
         {"Cast",     "Exp",      "Gelu", "Identity",    "LeakyRelu", "Log",  "Reciprocal",
          "Relu",     "Sigmoid",  "Sqrt", "Tanh",        "Abs",       "Not",  "Ceil",
          "Floor",    "Neg",      "Erf",  "HardSigmoid", "Round",     "Selu", "Sign",
          "Softplus", "Softsign", "Celu", "HardSwish",   "Sin",       "Cos",  "Tan",
          "Sinh",     "Cosh",     "Asin", "Acos",        "Atan"}) {
      map[type] = TransposeRule::kAll;
    }
    for (const std::string_view type : {"Add",         "Max",   "Min",     "Mul",  "Sub",
                                        "Div",         "And",   "Or",      "Xor",  "Mod",
                                        "PRelu",       "Equal", "Greater", "Less", "GreaterOrEqual",
                                        "LessOrEqual", "Mean",  "Sum",     "Pow",  "Where"}) {
      map[type] = TransposeRule::kBroadcast;
    }
    for (const std::string_view type :
         {"ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
          "ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2"}) {
      map[type] = TransposeRule::kReduce;
    }
    for (const std::string_view type : {"Concat", "Split", "Softmax", "LogSoftmax", "Hardmax"}) {
      map[type] = TransposeRule::kAxis;
    }
    map["Clip"] = map["CastLike"] = TransposeRule::kFirst;
    map["QuantizeLinear"] = map["DequantizeLinear"] = TransposeRule::kQuantizer;
    map["Pad"] = TransposeRule::kPad;
    map["Squeeze"] = TransposeRule::kSqueeze;
    map["Unsqueeze"] = TransposeRule::kUnsqueeze;
    map["Slice"] = TransposeRule::kSlice;
    map["Gather"] = TransposeRule::kGather;
    map["Tile"] = TransposeRule::kTile;
    map["Shape"] = TransposeRule::kShape;
    map["Transpose"] = TransposeRule::kTranspose;
    map["Reshape"] = TransposeRule::kReshape;
    return map;
  }();
  return kRules;
}

// Replaces an int64 list of the op, whether it is an attribute or operand `input`.
void set_list(EditableGraph& graph, OpId id, std::string_view name, size_t input,
              const std::vector<int64_t>& values) {
  const Op& op = graph.op(id);
  if (op.attributes.has(name) || op.inputs.size() <= input) {
    graph.attributes(id).set(std::string(name), values);
    return;
  }
  graph.set_input(id, input, graph.add_ints(op.name + "/" + std::string(name), values));
}

std::optional<std::vector<int64_t>> list_of(const EditableGraph& graph, const Op& op,
                                            std::string_view name, size_t input) {
  if (const auto* given = op.attributes.get_ints(name)) {
    return *given;
  }
  return op.inputs.size() > input ? graph.ints(op.inputs[input]) : std::nullopt;
}

bool adapt_axis(EditableGraph& graph, OpId id, const Permutation& perm) {
  const Op& op = graph.op(id);
  const bool softmax = op.op_type != "Concat" && op.op_type != "Split";
  if (softmax && op.version < 13) {
    return false;  // the axis is where the tensor is folded to a matrix
  }
  std::vector<int64_t> axis = {op.attributes.int_or("axis", softmax ? -1 : 0)};
  if (!source_axes(perm, &axis)) {
    return false;
  }
  graph.attributes(id).set("axis", axis.front());
  return true;
}

// A scale per channel is along an axis.
bool adapt_quantizer(EditableGraph& graph, OpId id, const Permutation& perm) {
  const Op& op = graph.op(id);
  if (graph.shape(op.inputs[1]).rank() == 0) {
    return true;
  }
  std::vector<int64_t> axis = {op.attributes.int_or("axis", 1)};
  if (op.attributes.int_or("block_size", 0) != 0 || !source_axes(perm, &axis)) {
    return false;
  }
  graph.attributes(id).set("axis", axis.front());
  return true;
}

bool adapt_pad(EditableGraph& graph, OpId id, const Permutation& perm) {
  const auto pads = list_of(graph, graph.op(id), "pads", 1);
  const size_t rank = perm.size();
  if (!pads || pads->size() != 2 * rank || graph.op(id).inputs.size() > 3) {
    return false;
  }
  std::vector<int64_t> moved(2 * rank);
  for (size_t i = 0; i < rank; ++i) {
    moved[static_cast<size_t>(perm[i])] = (*pads)[i];
    moved[static_cast<size_t>(perm[i]) + rank] = (*pads)[i + rank];
  }
  set_list(graph, id, "pads", 1, moved);
  return true;
}

bool adapt_reduce(EditableGraph& graph, OpId id, const Permutation& perm, Permutation* results) {
  const Op& op = graph.op(id);
  const bool keep = op.attributes.int_or("keepdims", 1) != 0;
  const bool given = op.attributes.has("axes") || (op.inputs.size() > 1 && op.inputs[1].valid());
  auto axes = list_of(graph, op, "axes", 1);
  if (given && (!axes || !source_axes(perm, &*axes))) {
    return false;
  }
  if (!given) {
    *results = keep ? perm : Permutation{};
    return true;
  }
  std::sort(axes->begin(), axes->end());
  *results = keep ? perm : without_axes(perm, *axes);
  set_list(graph, id, "axes", 1, *axes);
  return true;
}

bool adapt_squeeze(EditableGraph& graph, OpId id, const Permutation& perm, Permutation* results) {
  auto axes = list_of(graph, graph.op(id), "axes", 1);
  if (!axes || !source_axes(perm, &*axes)) {
    return false;
  }
  std::sort(axes->begin(), axes->end());
  *results = without_axes(perm, *axes);
  set_list(graph, id, "axes", 1, *axes);
  return true;
}

bool adapt_unsqueeze(const EditableGraph& graph, OpId id, const Permutation& perm,
                     Permutation* results) {
  auto axes = list_of(graph, graph.op(id), "axes", 1);
  if (!axes) {
    return false;
  }
  const auto rank = static_cast<int64_t>(perm.size() + axes->size());
  for (int64_t& axis : *axes) {
    axis += axis < 0 ? rank : 0;
  }
  *results = with_axes(perm, *axes);
  return true;
}

bool adapt_slice(EditableGraph& graph, OpId id, const Permutation& perm) {
  auto axes = list_of(graph, graph.op(id), "axes", 3);
  if (!axes || !source_axes(perm, &*axes)) {
    return false;
  }
  set_list(graph, id, "axes", 3, *axes);
  return true;
}

bool adapt_gather(EditableGraph& graph, OpId id, const Permutation& perm, Permutation* results) {
  const Op& op = graph.op(id);
  std::vector<int64_t> axis = {op.attributes.int_or("axis", 0)};
  const Shape& indices = graph.shape(op.inputs[1]);
  if (!indices.has_rank() || indices.rank() > 1 || !source_axes(perm, &axis)) {
    return false;
  }
  graph.attributes(id).set("axis", axis.front());
  *results = indices.rank() == 0 ? without_axes(perm, axis) : perm;
  return true;
}

bool adapt_tile(EditableGraph& graph, OpId id, const Permutation& perm) {
  const auto repeats = graph.ints(graph.op(id).inputs[1]);
  if (!repeats || repeats->size() != perm.size()) {
    return false;
  }
  std::vector<int64_t> moved(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    moved[static_cast<size_t>(perm[i])] = (*repeats)[i];
  }
  graph.set_input(id, 1, graph.add_ints(graph.op(id).name + "/repeats", moved));
  return true;
}

}  // namespace

TransposeRule transpose_rule(const Op& op) {
  if (op.domain == kMicrosoft) {
    if (op.op_type == "QLinearAdd" || op.op_type == "QLinearMul") {
      return TransposeRule::kBroadcast;
    }
    const bool by_element = op.op_type == "QLinearSigmoid" || op.op_type == "QLinearLeakyRelu";
    return by_element ? TransposeRule::kFirst : TransposeRule::kNone;
  }
  const auto found = op.domain.empty() ? rules().find(op.op_type) : rules().end();
  return found == rules().end() ? TransposeRule::kNone : found->second;
}

bool moves_on(TransposeRule rule) {
  return rule != TransposeRule::kNone && rule != TransposeRule::kTranspose &&
         rule != TransposeRule::kReshape && rule != TransposeRule::kShape;
}

std::vector<size_t> transposed_operands(const EditableGraph& graph, const Op& op,
                                        TransposeRule rule) {
  const bool all =
      rule == TransposeRule::kAll || rule == TransposeRule::kBroadcast || op.op_type == "Concat";
  std::vector<size_t> list;
  const size_t most = all ? op.inputs.size() : 1;
  // Both operands of a sum of 8 bits have a scale and a zero point behind them, and so has the sum.
  const size_t step = op.domain == kMicrosoft ? 3 : 1;
  const size_t end = op.domain == kMicrosoft ? 2 * step : op.inputs.size();
  for (size_t i = 0; i < std::min({most, end, op.inputs.size()}); i += step) {
    const bool scalar = op.inputs[i].valid() && graph.shape(op.inputs[i]).rank() == 0;
    if (op.inputs[i].valid() && !(rule == TransposeRule::kBroadcast && scalar)) {
      list.push_back(i);
    }
  }
  return list;
}

bool adapt_to_source(EditableGraph& graph, OpId id, TransposeRule rule, const Permutation& perm,
                     Permutation* of_results) {
  *of_results = perm;
  switch (rule) {
    case TransposeRule::kAll:
    case TransposeRule::kFirst:
    case TransposeRule::kBroadcast:
      return true;
    case TransposeRule::kAxis:
      return adapt_axis(graph, id, perm);
    case TransposeRule::kQuantizer:
      return adapt_quantizer(graph, id, perm);
    case TransposeRule::kPad:
      return adapt_pad(graph, id, perm);
    case TransposeRule::kReduce:
      return adapt_reduce(graph, id, perm, of_results);
    case TransposeRule::kSqueeze:
      return adapt_squeeze(graph, id, perm, of_results);
    case TransposeRule::kUnsqueeze:
      return adapt_unsqueeze(graph, id, perm, of_results);
    case TransposeRule::kSlice:
      return adapt_slice(graph, id, perm);
    case TransposeRule::kGather:
      return adapt_gather(graph, id, perm, of_results);
    case TransposeRule::kTile:
      return adapt_tile(graph, id, perm);
    case TransposeRule::kShape:
    case TransposeRule::kNone:
    case TransposeRule::kTranspose:
    case TransposeRule::kReshape:
      break;
  }
  return false;
}

std::optional<Permutation> reshape_as_transpose(const Shape& from, const Shape& to) {
  if (!from.is_static() || !to.is_static() || from.rank() != to.rank()) {
    return std::nullopt;
  }
  constexpr int64_t kUsed = -1;
  std::vector<int64_t> left = from.extents();
  Permutation perm;
  for (const int64_t wanted : to.extents()) {
    // Extents over 1 keep their order: only ones may be passed over.
    size_t i = 0;
    while (i < left.size() && left[i] != wanted) {
      if (left[i] != kUsed && left[i] != 1 && wanted != 1) {
        return std::nullopt;
      }
      ++i;
    }
    if (i == left.size()) {
      return std::nullopt;
    }
    left[i] = kUsed;
    perm.push_back(static_cast<int64_t>(i));
  }
  return perm;
}

std::optional<ReshapeFirst> reshape_first(const Permutation& perm, const Shape& transposed,
                                          const Shape& to) {
  if (!transposed.is_static() || !to.is_static()) {
    return std::nullopt;
  }
  const std::vector<int64_t> wanted = to.extents();
  const std::vector<int64_t> joined = transposed.extents();
  std::vector<std::vector<int64_t>> parts(perm.size());  // of each axis of the source: axes of `to`
  size_t next = 0;
  for (size_t axis = 0; axis < joined.size(); ++axis) {
    std::vector<int64_t>& mine = parts[static_cast<size_t>(perm[axis])];
    for (int64_t left = joined[axis]; left != 1 || mine.empty();) {
      if (next == wanted.size() || wanted[next] == 0 || left % wanted[next] != 0) {
        return std::nullopt;
      }
      left /= wanted[next];
      mine.push_back(static_cast<int64_t>(next++));
    }
  }
  if (next != wanted.size()) {
    return std::nullopt;
  }
  ReshapeFirst result;
  Permutation order;  // axis i of the reshaped source is axis order[i] of `to`
  for (const std::vector<int64_t>& mine : parts) {
    for (const int64_t axis : mine) {
      result.extents.push_back(wanted[static_cast<size_t>(axis)]);
      order.push_back(axis);
    }
  }
  result.perm = inverse(order);
  return result;
}

}  // namespace dfsim::inline graphs
