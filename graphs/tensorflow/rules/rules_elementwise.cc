// Activations, arithmetic, comparison, selection, casts: one operator of ours each, or a few.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graphs/ops/onnx_dtype.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

// In whichever layout the operand is.
TensorId any_layout(NodeContext& node, size_t i, bool* channels_first) {
  *channels_first = node.prefers_channels_first(i);
  return *channels_first ? node.emitter().channels_first(node.input(i)) : node.plain(i);
}

void set_in_layout(NodeContext& node, size_t output, TensorId tensor, bool channels_first) {
  if (channels_first) {
    node.set_channels_first(output, tensor);
  } else {
    node.set(output, tensor);
  }
}

void unary_with(NodeContext& node, std::string_view target, AttrList attributes,
                std::vector<TensorId> more = {}) {
  bool channels_first = false;
  std::vector<TensorId> inputs = {any_layout(node, 0, &channels_first)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  set_in_layout(node, 0, node.emit(target, std::move(inputs), std::move(attributes)),
                channels_first);
}

void unary(NodeContext& node, std::string_view target) { unary_with(node, target, {}); }

void leaky_relu(NodeContext& node, std::string_view target) {
  unary_with(node, target, {{"alpha", node.attr_float("alpha", 0.2)}});
}

void relu6(NodeContext& node, std::string_view target) {
  const DType dtype = node.dtype(0);
  unary_with(node, target, {},
             {node.emitter().add_float(0, dtype), node.emitter().add_float(6, dtype)});
}

void gelu(NodeContext& node, std::string_view target) {
  unary_with(
      node, target,
      {{"approximate", std::string(node.attr_bool("approximate", false) ? "tanh" : "none")}});
}

void cast(NodeContext& node, std::string_view target) {
  const DType to = node.attr_dtype("DstT");
  if (to == DType::kUnknown) {
    node.unresolved("its target type is not one that dfsim knows");
    return;
  }
  unary_with(node, target, {{"to", int64_t{dtype_to_onnx(to)}}});
}

// Two of ours, one after the other: "Sqrt,Reciprocal".
void chain(NodeContext& node, std::string_view target) {
  const size_t comma = target.find(',');
  bool channels_first = false;
  const TensorId first = node.help(target.substr(0, comma), {any_layout(node, 0, &channels_first)});
  set_in_layout(node, 0, node.emit(target.substr(comma + 1), {first}), channels_first);
}

void square(NodeContext& node, std::string_view target) {
  bool channels_first = false;
  const TensorId x = any_layout(node, 0, &channels_first);
  set_in_layout(node, 0, node.emit(target, {x, x}), channels_first);
}

// An operand of a broadcast in channels-first order, or an invalid id when it does not fit.
bool fits_channels_first(NodeContext& node, size_t i, int rank, int64_t channels) {
  const Shape shape = node.shape(i);
  if (!shape.is_static()) {
    return false;
  }
  if (shape.elements() == Count(1) && shape.rank() <= 1) {
    return true;
  }
  if (shape.rank() == 1) {
    return shape[0].extent() == channels;
  }
  return shape.rank() == rank;
}

TensorId broadcast_operand(NodeContext& node, size_t i, int rank) {
  const Shape shape = node.shape(i);
  if (shape.rank() == rank) {
    return node.emitter().channels_first(node.input(i));
  }
  if (shape.rank() == 0 || shape.elements() == Count(1)) {
    return node.plain(i);
  }
  std::vector<int64_t> extents(static_cast<size_t>(rank - 1), 1);
  extents[0] = shape[0].extent();
  return node.emitter().reshaped(node.plain(i), extents);
}

// The operands of a broadcast in one layout: channels-first when an image is among them that has no
// other and all others fit.
std::vector<TensorId> broadcast_operands(NodeContext& node, bool* channels_first) {
  int rank = 0;
  int64_t channels = 1;
  *channels_first = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Shape shape = node.shape(i);
    *channels_first = *channels_first || node.prefers_channels_first(i);
    rank = std::max(rank, shape.rank());
  }
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Shape shape = node.shape(i);
    if (shape.is_static() && shape.rank() == rank && rank > 0) {
      channels = std::max(channels, shape[rank - 1].extent());
    }
  }
  for (size_t i = 0; i < node.input_count(); ++i) {
    *channels_first = *channels_first && fits_channels_first(node, i, rank, channels);
  }
  if (!*channels_first) {
    return node.all_plain();
  }
  std::vector<TensorId> operands;
  for (size_t i = 0; i < node.input_count(); ++i) {
    operands.push_back(broadcast_operand(node, i, rank));
  }
  return operands;
}

void broadcast(NodeContext& node, std::string_view target) {
  bool channels_first = false;
  auto operands = broadcast_operands(node, &channels_first);
  set_in_layout(node, 0, node.emit(target, std::move(operands)), channels_first);
}

void n_ary(NodeContext& node, std::string_view target) {
  if (node.input_count() == 1) {
    node.set_value(0, node.input(0));
    return;
  }
  broadcast(node, target);
}

// "Sub,Mul" of one result with itself, "Equal,Not": the second reads the first.
void squared_difference(NodeContext& node, std::string_view /*target*/) {
  bool channels_first = false;
  const TensorId difference = node.help("Sub", broadcast_operands(node, &channels_first));
  set_in_layout(node, 0, node.emit("Mul", {difference, difference}), channels_first);
}

void broadcast_then(NodeContext& node, std::string_view target) {
  const size_t comma = target.find(',');
  bool channels_first = false;
  const TensorId first =
      node.help(target.substr(0, comma), broadcast_operands(node, &channels_first));
  set_in_layout(node, 0, node.emit(target.substr(comma + 1), {first}), channels_first);
}

// Integers divide towards minus infinity; the difference to Div is none for shapes.
void floor_divide(NodeContext& node, std::string_view target) {
  if (is_integer(node.dtype(0))) {
    broadcast(node, "Div");
  } else {
    broadcast_then(node, target);
  }
}

// A condition of rank 1 chooses rows.
void select_v1(NodeContext& node, std::string_view target) {
  const int rank = node.rank(1);
  if (node.rank(0) != 1 || rank <= 1) {
    broadcast(node, target);
    return;
  }
  std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
  extents[0] = node.shape(0)[0].extent();
  const TensorId condition = node.emitter().reshaped(node.plain(0), extents);
  node.set(0, node.emit(target, {condition, node.plain(1), node.plain(2)}));
}

void bias_add(NodeContext& node, std::string_view target) {
  if (!node.is_nchw() || node.rank(0) < 3) {
    broadcast(node, target);
    return;
  }
  std::vector<int64_t> extents(static_cast<size_t>(node.rank(0) - 1), 1);
  extents[0] = node.shape(1).elements().value();
  node.set(0, node.emit(target, {node.plain(0), node.emitter().reshaped(node.plain(1), extents)}));
}

void clip(NodeContext& node, std::string_view target) {
  if (node.rank(1) == 0 && node.rank(2) == 0) {
    unary_with(node, target, {}, {node.plain(1), node.plain(2)});
  } else {
    const TensorId low = node.help("Max", {node.plain(0), node.plain(1)});
    node.set(0, node.emit("Min", {low, node.plain(2)}));
  }
}

void own_unary(NodeContext& node, std::string_view target) {
  bool channels_first = false;
  const TensorId x = any_layout(node, 0, &channels_first);
  set_in_layout(node, 0, node.emit(target, {x}, {}, kTensorFlow), channels_first);
}

void own_broadcast(NodeContext& node, std::string_view target) {
  bool channels_first = false;
  auto operands = broadcast_operands(node, &channels_first);
  set_in_layout(node, 0, node.emit(target, std::move(operands), {}, kTensorFlow), channels_first);
}

constexpr TfRule kRules[] = {
    {"Relu", unary, "Relu"},
    {"Relu6", relu6, "Clip"},
    {"LeakyRelu", leaky_relu, "LeakyRelu"},
    {"Elu", unary, "Elu"},
    {"Selu", unary, "Selu"},
    {"Sigmoid", unary, "Sigmoid"},
    {"Tanh", unary, "Tanh"},
    {"Softplus", unary, "Softplus"},
    {"Softsign", unary, "Softsign"},
    {"Gelu", gelu, "Gelu"},
    {"Exp", unary, "Exp"},
    {"Log", unary, "Log"},
    {"Sqrt", unary, "Sqrt"},
    {"Rsqrt", chain, "Sqrt,Reciprocal"},
    {"Square", square, "Mul"},
    {"Neg", unary, "Neg"},
    {"Abs", unary, "Abs"},
    {"ComplexAbs", own_unary, "ComplexAbs"},
    {"Sign", unary, "Sign"},
    {"Floor", unary, "Floor"},
    {"Ceil", unary, "Ceil"},
    {"Round", unary, "Round"},
    {"Rint", unary, "Round"},
    {"Reciprocal", unary, "Reciprocal"},
    {"Inv", unary, "Reciprocal"},
    {"Erf", unary, "Erf"},
    {"Sin", unary, "Sin"},
    {"Cos", unary, "Cos"},
    {"Tan", unary, "Tan"},
    {"Asin", unary, "Asin"},
    {"Acos", unary, "Acos"},
    {"Atan", unary, "Atan"},
    {"Sinh", unary, "Sinh"},
    {"Cosh", unary, "Cosh"},
    {"Asinh", unary, "Asinh"},
    {"Acosh", unary, "Acosh"},
    {"Atanh", unary, "Atanh"},
    {"LogicalNot", unary, "Not"},
    {"IsNan", unary, "IsNaN"},
    {"IsInf", unary, "IsInf"},
    {"Invert", unary, "BitwiseNot"},
    {"Cast", cast, "Cast"},
    {"Bitcast", own_unary, "Bitcast"},
    {"Log1p", own_unary, "Log1p"},
    {"Expm1", own_unary, "Expm1"},
    {"Erfc", own_unary, "Erfc"},
    {"Erfinv", own_unary, "Erfinv"},
    {"IsFinite", own_unary, "IsFinite"},
    {"Lgamma", own_unary, "Lgamma"},
    {"Digamma", own_unary, "Digamma"},
    {"Add", broadcast, "Add", 2},
    {"AddV2", broadcast, "Add", 2},
    {"BiasAdd", bias_add, "Add", 2},
    {"BiasAddV1", bias_add, "Add", 2},
    {"Sub", broadcast, "Sub", 2},
    {"Mul", broadcast, "Mul", 2},
    {"RealDiv", broadcast, "Div", 2},
    {"Div", broadcast, "Div", 2},
    {"TruncateDiv", broadcast, "Div", 2},
    {"FloorDiv", floor_divide, "Div,Floor", 2},
    {"DivNoNan", own_broadcast, "DivNoNan", 2},
    {"MulNoNan", own_broadcast, "MulNoNan", 2},
    {"Xdivy", own_broadcast, "Xdivy", 2},
    {"Xlogy", own_broadcast, "Xlogy", 2},
    {"Atan2", own_broadcast, "Atan2", 2},
    {"FloorMod", broadcast, "Mod", 2},
    {"Mod", broadcast, "Mod", 2},
    {"TruncateMod", broadcast, "Mod", 2},
    {"Pow", broadcast, "Pow", 2},
    {"Maximum", broadcast, "Max", 2},
    {"Minimum", broadcast, "Min", 2},
    {"SquaredDifference", squared_difference, "", 2},
    {"AddN", n_ary, "Sum"},
    {"AccumulateNV2", n_ary, "Sum"},
    {"Equal", broadcast, "Equal", 2},
    {"NotEqual", broadcast_then, "Equal,Not", 2},
    {"Greater", broadcast, "Greater", 2},
    {"GreaterEqual", broadcast, "GreaterOrEqual", 2},
    {"Less", broadcast, "Less", 2},
    {"LessEqual", broadcast, "LessOrEqual", 2},
    {"LogicalAnd", broadcast, "And", 2},
    {"LogicalOr", broadcast, "Or", 2},
    {"BitwiseAnd", broadcast, "BitwiseAnd", 2},
    {"BitwiseOr", broadcast, "BitwiseOr", 2},
    {"BitwiseXor", broadcast, "BitwiseXor", 2},
    {"LeftShift", broadcast, "BitShift", 2},
    {"RightShift", broadcast, "BitShift", 2},
    {"Select", select_v1, "Where", 3},
    {"SelectV2", broadcast, "Where", 3},
    {"ClipByValue", clip, "Clip", 3},
};

}  // namespace

std::span<const TfRule> elementwise_tf_rules() { return kRules; }

}  // namespace dfsim::inline graphs
