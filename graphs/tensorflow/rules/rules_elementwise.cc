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

// clang-format off
constexpr TfRule kElementwiseRules[] = {
    {.type = "Relu", .translate = unary, .target = "Relu"},
    {.type = "Relu6", .translate = relu6, .target = "Clip"},
    {.type = "LeakyRelu", .translate = leaky_relu, .target = "LeakyRelu"},
    {.type = "Elu", .translate = unary, .target = "Elu"},
    {.type = "Selu", .translate = unary, .target = "Selu"},
    {.type = "Sigmoid", .translate = unary, .target = "Sigmoid"},
    {.type = "Tanh", .translate = unary, .target = "Tanh"},
    {.type = "Softplus", .translate = unary, .target = "Softplus"},
    {.type = "Softsign", .translate = unary, .target = "Softsign"},
    {.type = "Gelu", .translate = gelu, .target = "Gelu"},
    {.type = "Exp", .translate = unary, .target = "Exp"},
    {.type = "Log", .translate = unary, .target = "Log"},
    {.type = "Sqrt", .translate = unary, .target = "Sqrt"},
    {.type = "Rsqrt", .translate = chain, .target = "Sqrt,Reciprocal"},
    {.type = "Square", .translate = square, .target = "Mul"},
    {.type = "Neg", .translate = unary, .target = "Neg"},
    {.type = "Abs", .translate = unary, .target = "Abs"},
    {.type = "ComplexAbs", .translate = own_unary, .target = "ComplexAbs"},
    {.type = "Sign", .translate = unary, .target = "Sign"},
    {.type = "Floor", .translate = unary, .target = "Floor"},
    {.type = "Ceil", .translate = unary, .target = "Ceil"},
    {.type = "Round", .translate = unary, .target = "Round"},
    {.type = "Rint", .translate = unary, .target = "Round"},
    {.type = "Reciprocal", .translate = unary, .target = "Reciprocal"},
    {.type = "Inv", .translate = unary, .target = "Reciprocal"},
    {.type = "Erf", .translate = unary, .target = "Erf"},
    {.type = "Sin", .translate = unary, .target = "Sin"},
    {.type = "Cos", .translate = unary, .target = "Cos"},
    {.type = "Tan", .translate = unary, .target = "Tan"},
    {.type = "Asin", .translate = unary, .target = "Asin"},
    {.type = "Acos", .translate = unary, .target = "Acos"},
    {.type = "Atan", .translate = unary, .target = "Atan"},
    {.type = "Sinh", .translate = unary, .target = "Sinh"},
    {.type = "Cosh", .translate = unary, .target = "Cosh"},
    {.type = "Asinh", .translate = unary, .target = "Asinh"},
    {.type = "Acosh", .translate = unary, .target = "Acosh"},
    {.type = "Atanh", .translate = unary, .target = "Atanh"},
    {.type = "LogicalNot", .translate = unary, .target = "Not"},
    {.type = "IsNan", .translate = unary, .target = "IsNaN"},
    {.type = "IsInf", .translate = unary, .target = "IsInf"},
    {.type = "Invert", .translate = unary, .target = "BitwiseNot"},
    {.type = "Cast", .translate = cast, .target = "Cast"},
    {.type = "Bitcast", .translate = own_unary, .target = "Bitcast"},
    {.type = "Log1p", .translate = own_unary, .target = "Log1p"},
    {.type = "Expm1", .translate = own_unary, .target = "Expm1"},
    {.type = "Erfc", .translate = own_unary, .target = "Erfc"},
    {.type = "Erfinv", .translate = own_unary, .target = "Erfinv"},
    {.type = "IsFinite", .translate = own_unary, .target = "IsFinite"},
    {.type = "Lgamma", .translate = own_unary, .target = "Lgamma"},
    {.type = "Digamma", .translate = own_unary, .target = "Digamma"},
    {.type = "Conj", .translate = own_unary, .target = "Conj"},
    {.type = "PopulationCount", .translate = own_unary, .target = "PopulationCount"},
    {.type = "CumulativeLogsumexp", .translate = own_unary, .target = "CumulativeLogsumexp"},
    {.type = "BesselI0", .translate = own_unary, .target = "BesselI0"},
    {.type = "BesselI0e", .translate = own_unary, .target = "BesselI0e"},
    {.type = "BesselI1", .translate = own_unary, .target = "BesselI1"},
    {.type = "BesselI1e", .translate = own_unary, .target = "BesselI1e"},
    {.type = "BesselJ0", .translate = own_unary, .target = "BesselJ0"},
    {.type = "BesselJ1", .translate = own_unary, .target = "BesselJ1"},
    {.type = "BesselK0", .translate = own_unary, .target = "BesselK0"},
    {.type = "BesselK0e", .translate = own_unary, .target = "BesselK0e"},
    {.type = "BesselY0", .translate = own_unary, .target = "BesselY0"},
    {.type = "Expint", .translate = own_unary, .target = "Expint"},
    {.type = "Dawsn", .translate = own_unary, .target = "Dawsn"},
    {.type = "FresnelCos", .translate = own_unary, .target = "FresnelCos"},
    {.type = "FresnelSin", .translate = own_unary, .target = "FresnelSin"},
    {.type = "Ndtri", .translate = own_unary, .target = "Ndtri"},
    {.type = "Spence", .translate = own_unary, .target = "Spence"},
    {.type = "Add", .translate = broadcast, .target = "Add", .required_inputs = 2},
    {.type = "AddV2", .translate = broadcast, .target = "Add", .required_inputs = 2},
    {.type = "BiasAdd", .translate = bias_add, .target = "Add", .required_inputs = 2},
    {.type = "BiasAddV1", .translate = bias_add, .target = "Add", .required_inputs = 2},
    {.type = "Sub", .translate = broadcast, .target = "Sub", .required_inputs = 2},
    {.type = "Mul", .translate = broadcast, .target = "Mul", .required_inputs = 2},
    {.type = "RealDiv", .translate = broadcast, .target = "Div", .required_inputs = 2},
    {.type = "Div", .translate = broadcast, .target = "Div", .required_inputs = 2},
    {.type = "TruncateDiv", .translate = broadcast, .target = "Div", .required_inputs = 2},
    {.type = "FloorDiv", .translate = floor_divide, .target = "Div,Floor", .required_inputs = 2},
    {.type = "DivNoNan", .translate = own_broadcast, .target = "DivNoNan", .required_inputs = 2},
    {.type = "MulNoNan", .translate = own_broadcast, .target = "MulNoNan", .required_inputs = 2},
    {.type = "Xdivy", .translate = own_broadcast, .target = "Xdivy", .required_inputs = 2},
    {.type = "Xlogy", .translate = own_broadcast, .target = "Xlogy", .required_inputs = 2},
    {.type = "Atan2", .translate = own_broadcast, .target = "Atan2", .required_inputs = 2},
    {.type = "Igamma", .translate = own_broadcast, .target = "Igamma",
     .required_inputs = 2},
    {.type = "Igammac", .translate = own_broadcast, .target = "Igammac",
     .required_inputs = 2},
    {.type = "Zeta", .translate = own_broadcast, .target = "Zeta",
     .required_inputs = 2},
    {.type = "Polygamma", .translate = own_broadcast, .target = "Polygamma",
     .required_inputs = 2},
    {.type = "NextAfter", .translate = own_broadcast, .target = "NextAfter",
     .required_inputs = 2},
    {.type = "FloorMod", .translate = broadcast, .target = "Mod", .required_inputs = 2},
    {.type = "Mod", .translate = broadcast, .target = "Mod", .required_inputs = 2},
    {.type = "TruncateMod", .translate = broadcast, .target = "Mod", .required_inputs = 2},
    {.type = "Pow", .translate = broadcast, .target = "Pow", .required_inputs = 2},
    {.type = "Maximum", .translate = broadcast, .target = "Max", .required_inputs = 2},
    {.type = "Minimum", .translate = broadcast, .target = "Min", .required_inputs = 2},
    {.type = "SquaredDifference", .translate = squared_difference, .required_inputs = 2},
    {.type = "AddN", .translate = n_ary, .target = "Sum"},
    {.type = "AccumulateNV2", .translate = n_ary, .target = "Sum"},
    {.type = "Equal", .translate = broadcast, .target = "Equal", .required_inputs = 2},
    {.type = "NotEqual", .translate = broadcast_then, .target = "Equal,Not", .required_inputs = 2},
    {.type = "Greater", .translate = broadcast, .target = "Greater", .required_inputs = 2},
    {.type = "GreaterEqual", .translate = broadcast, .target = "GreaterOrEqual",
     .required_inputs = 2},
    {.type = "Less", .translate = broadcast, .target = "Less", .required_inputs = 2},
    {.type = "LessEqual", .translate = broadcast, .target = "LessOrEqual", .required_inputs = 2},
    {.type = "LogicalAnd", .translate = broadcast, .target = "And", .required_inputs = 2},
    {.type = "LogicalOr", .translate = broadcast, .target = "Or", .required_inputs = 2},
    {.type = "BitwiseAnd", .translate = broadcast, .target = "BitwiseAnd", .required_inputs = 2},
    {.type = "BitwiseOr", .translate = broadcast, .target = "BitwiseOr", .required_inputs = 2},
    {.type = "BitwiseXor", .translate = broadcast, .target = "BitwiseXor", .required_inputs = 2},
    {.type = "LeftShift", .translate = broadcast, .target = "BitShift", .required_inputs = 2},
    {.type = "RightShift", .translate = broadcast, .target = "BitShift", .required_inputs = 2},
    {.type = "Select", .translate = select_v1, .target = "Where", .required_inputs = 3},
    {.type = "SelectV2", .translate = broadcast, .target = "Where", .required_inputs = 3},
    {.type = "ClipByValue", .translate = clip, .target = "Clip", .required_inputs = 3},
};
// clang-format on

}  // namespace

std::span<const TfRule> elementwise_tf_rules() { return kElementwiseRules; }

}  // namespace dfsim::inline graphs
