// Operators that give tensors other shapes, ask for shapes, or make constants: folded or free.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

void identity(NodeContext& node, std::string_view /*target*/) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    node.set_value(i, node.input(i));
  }
}

// Both branches see the same data; which of them runs was decided when they met.
void switch_node(NodeContext& node, std::string_view /*target*/) {
  node.set_value(0, node.input(0));
  node.set_value(1, node.input(0));
}

void reshape(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)}, {{"allowzero", int64_t{1}}}));
}

void squeeze(NodeContext& node, std::string_view target) {
  std::vector<int64_t> axes = node.attr_ints("squeeze_dims");
  const Shape shape = node.shape(0);
  if (axes.empty()) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == Dim(1)) {
        axes.push_back(i);
      }
    }
  }
  if (axes.empty()) {
    node.set_value(0, node.input(0));
    return;
  }
  node.set(0, node.emit(target, {node.plain(0), node.emitter().add_ints(axes)}));
}

void expand_dims(NodeContext& node, std::string_view target) {
  const auto axis = node.integer(1);
  if (!axis) {
    node.unresolved("its axis is not known before the run");
    return;
  }
  node.set(0, node.emit(target, {node.plain(0), node.emitter().add_ints({*axis})}));
}

void shape_of(NodeContext& node, std::string_view target) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    const TensorId tensor = node.plain(i);
    node.set(i, i == 0 ? node.emit(target, {tensor}) : node.help(target, {tensor}));
  }
}

void rank_of(NodeContext& node, std::string_view /*target*/) {
  node.set(0, node.emitter().add_constant({DType::kInt32, {}, {node.rank(0)}, {}}, node.name()));
}

// Zeros or ones like the input.
void fill_like(NodeContext& node, std::string_view target) {
  const DType dtype = node.dtype(0);
  const Shape shape = node.shape(0);
  const int64_t one = target == "1" ? 1 : 0;
  ConstValue value{dtype, {1}, {}, {}};
  if (is_floating(dtype)) {
    value.floats = {static_cast<double>(one)};
  } else {
    value.ints = {one};
  }
  node.set(0, node.emit("ConstantOfShape", {node.emitter().add_ints(shape.extents())},
                        {{"value", std::move(value)}}));
}

// A scalar repeated.
void fill(NodeContext& node, std::string_view /*target*/) {
  const auto extents = node.ints(0);
  if (!extents) {
    node.unresolved("its shape is not known before the run");
    return;
  }
  if (const ConstValue* value = node.value(1); value != nullptr && value->size() == 1) {
    ConstValue one = *value;
    one.extents = {1};
    node.set(0, node.emit("ConstantOfShape", {node.emitter().add_ints(*extents)},
                          {{"value", std::move(one)}}));
    return;
  }
  node.set(0, node.emit("Expand", {node.plain(1), node.emitter().add_ints(*extents)}));
}

void broadcast_to(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)}));
}

// The shape that several shapes broadcast to, and for gradients the axes to sum over.
void broadcast_args(NodeContext& node, std::string_view /*target*/) {
  const auto a = node.ints(0);
  const auto b = node.ints(1);
  if (!a || !b) {
    node.unresolved("the shapes to broadcast are not known before the run");
    return;
  }
  std::string conflict;
  const auto valid = [](const std::vector<int64_t>& list) {
    return std::all_of(list.begin(), list.end(),
                       [](int64_t e) { return e >= 0 && e <= kMaxExtent; });
  };
  const Shape shape =
      valid(*a) && valid(*b) ? broadcast_shapes(Shape::of(*a), Shape::of(*b), &conflict) : Shape();
  if (!shape.is_static() || !conflict.empty()) {
    node.error(conflict.empty() ? "its operands are not shapes" : conflict);
    return;
  }
  const std::vector<int64_t> whole = shape.extents();
  const auto constant = [&](const std::vector<int64_t>& list, size_t output) {
    node.set(output,
             node.emitter().add_constant(
                 {DType::kInt32, {static_cast<int64_t>(list.size())}, list, {}}, node.name()));
  };
  if (node.type() == "BroadcastArgs") {
    constant(whole, 0);
    return;
  }
  const auto reduced = [&](const std::vector<int64_t>& own) {
    std::vector<int64_t> axes;
    const size_t lead = whole.size() - own.size();
    for (size_t i = 0; i < whole.size(); ++i) {
      const bool grows = i < lead || (own[i - lead] == 1 && whole[i] != 1);
      const bool of_one = i >= lead && own[i - lead] == 1;
      if (grows || (of_one && whole[i] == 1)) {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    return axes;
  };
  constant(reduced(*a), 0);
  constant(reduced(*b), 1);
}

void range(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, node.all_plain()));
}

// Uniform or normal numbers of a shape that is an input.
void random(NodeContext& node, std::string_view target) {
  const auto extents = node.ints(0);
  const bool whole = node.type() == "RandomUniformInt";  // its attribute has another name
  const DType dtype = node.attr_dtype(whole ? "Tout" : "dtype");
  if (!extents || std::any_of(extents->begin(), extents->end(),
                              [](int64_t e) { return e < 0 || e > kMaxExtent; })) {
    node.unresolved("its shape is not known before the run");
    return;
  }
  const TensorId result = node.emit(target, {}, {{"shape", *extents}});
  if (result.valid() && dtype != DType::kUnknown) {
    node.emitter().builder().tensor(result).dtype = dtype;
  }
  node.set(0, result);
}

// Key and counter of a random generator, from its seed: numbers that no shape depends on.
void random_key(NodeContext& node, std::string_view /*target*/) {
  node.set(0, node.emitter().add_constant({DType::kUInt64, {1}, {0}, {}}, node.name()));
  node.set(1, node.emitter().add_constant({DType::kUInt64, {2}, {0, 0}, {}}, node.name() + ":1"));
}

void random_algorithm(NodeContext& node, std::string_view /*target*/) {
  node.set(0, node.emitter().add_constant({DType::kInt32, {}, {1}, {}}, node.name()));
}

// Above or below some diagonals all is 0.
void band_part(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0)}));
}

void nothing(NodeContext& /*node*/, std::string_view /*target*/) {}

// clang-format off
constexpr TfRule kShapeRules[] = {
    {.type = "Identity", .translate = identity, .tolerant = true},
    {.type = "IdentityN", .translate = identity, .tolerant = true},
    {.type = "StopGradient", .translate = identity, .tolerant = true},
    {.type = "PreventGradient", .translate = identity, .tolerant = true},
    {.type = "CheckNumerics", .translate = identity, .tolerant = true},
    {.type = "CheckNumericsV2", .translate = identity, .tolerant = true},
    {.type = "Snapshot", .translate = identity, .tolerant = true},
    {.type = "EnsureShape", .translate = identity, .tolerant = true},
    {.type = "Copy", .translate = identity, .tolerant = true},
    {.type = "CopyHost", .translate = identity, .tolerant = true},
    {.type = "DebugIdentity", .translate = identity, .tolerant = true},
    {.type = "RefIdentity", .translate = identity, .tolerant = true},
    {.type = "ReadVariableOp", .translate = identity, .tolerant = true},
    {.type = "PlaceholderWithDefault", .translate = identity, .tolerant = true},
    {.type = "LoopCond", .translate = identity, .tolerant = true},
    {.type = "NextIteration", .translate = identity, .tolerant = true},
    {.type = "Exit", .translate = identity, .tolerant = true},
    {.type = "OptimizationBarrier", .translate = identity, .tolerant = true},
    {.type = "_Retval", .translate = identity, .tolerant = true},
    {.type = "Switch", .translate = switch_node, .tolerant = true},
    {.type = "RefSwitch", .translate = switch_node, .tolerant = true},
    {.type = "NoOp", .translate = nothing, .required_inputs = 0, .tolerant = true},
    {.type = "ControlTrigger", .translate = nothing, .required_inputs = 0, .tolerant = true},
    {.type = "Assert", .translate = nothing, .required_inputs = 0, .tolerant = true},
    {.type = "Print", .translate = identity, .tolerant = true},
    {.type = "PrintV2", .translate = nothing, .required_inputs = 0, .tolerant = true},
    {.type = "Reshape", .translate = reshape, .target = "Reshape", .required_inputs = 2},
    {.type = "Squeeze", .translate = squeeze, .target = "Squeeze"},
    {.type = "ExpandDims", .translate = expand_dims, .target = "Unsqueeze", .required_inputs = 2},
    {.type = "Shape", .translate = shape_of, .target = "Shape"},
    {.type = "ShapeN", .translate = shape_of, .target = "Shape"},
    {.type = "Size", .translate = shape_of, .target = "Size"},
    {.type = "VariableShape", .translate = shape_of, .target = "Shape"},
    {.type = "Rank", .translate = rank_of},
    {.type = "ZerosLike", .translate = fill_like, .target = "0"},
    {.type = "OnesLike", .translate = fill_like, .target = "1"},
    {.type = "Fill", .translate = fill, .required_inputs = 2},
    {.type = "BroadcastTo", .translate = broadcast_to, .target = "Expand", .required_inputs = 2},
    {.type = "BroadcastArgs", .translate = broadcast_args, .required_inputs = 2},
    {.type = "BroadcastGradientArgs", .translate = broadcast_args, .required_inputs = 2},
    {.type = "Range", .translate = range, .target = "Range", .required_inputs = 3},
    {.type = "RandomUniform", .translate = random, .target = "RandomUniform"},
    {.type = "RandomStandardNormal", .translate = random, .target = "RandomNormal"},
    {.type = "TruncatedNormal", .translate = random, .target = "RandomNormal"},
    {.type = "StatelessRandomUniform", .translate = random, .target = "RandomUniform"},
    {.type = "StatelessRandomUniformV2", .translate = random, .target = "RandomUniform"},
    {.type = "StatelessRandomNormal", .translate = random, .target = "RandomNormal"},
    {.type = "StatelessRandomNormalV2", .translate = random, .target = "RandomNormal"},
    {.type = "StatelessTruncatedNormal", .translate = random, .target = "RandomNormal"},
    {.type = "StatelessTruncatedNormalV2", .translate = random, .target = "RandomNormal"},
    {.type = "RandomUniformInt", .translate = random, .target = "RandomUniform"},
    {.type = "StatelessRandomUniformInt", .translate = random, .target = "RandomUniform"},
    {.type = "StatelessRandomUniformIntV2", .translate = random, .target = "RandomUniform"},
    {.type = "StatelessRandomUniformFullInt", .translate = random, .target = "RandomUniform"},
    {.type = "StatelessRandomUniformFullIntV2", .translate = random, .target = "RandomUniform"},
    {.type = "StatelessRandomGetKeyCounter", .translate = random_key, .tolerant = true},
    {.type = "StatelessRandomGetAlg", .translate = random_algorithm, .required_inputs = 0,
     .tolerant = true},
    {.type = "MatrixBandPart", .translate = band_part, .target = "Trilu"},
};
// clang-format on

}  // namespace

std::span<const TfRule> shape_tf_rules() { return kShapeRules; }

}  // namespace dfsim::inline graphs
