// Functions of fp16 that ONNX Runtime has a kernel for in fp32 only. It looks for a kernel of the
// type that the model has; where there is none and ONNX defines the operator by others, those run,
// and casts round them bring them to fp32 afterwards. So an fp16 model on a CPU runs five operators
// for a Softmax, and a LeakyRelu between convolutions no longer goes into the one before it.
//
// A body that ONNX wrote for an older opset counts only as long as the operators in it are those of
// the model's opset. Most have a Constant and a CastLike, which changed with opset 19.
#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include "graphs/ops/rules.h"
#include "graphs/passes/cleanup/function_body.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kAxesAsOperand = 18;  // ReduceMax takes them so from this opset on
constexpr double kEluAlpha = 1;
constexpr double kLeakyAlpha = 0.01;
constexpr double kSeluAlpha = 1.67326319217681884765625;
constexpr double kSeluGamma = 1.05070102214813232421875;
constexpr double kHardSigmoidAlpha = 0.2;
constexpr double kHardSigmoidBeta = 0.5;

double attribute(const FunctionBody& body, std::string_view name, double fallback) {
  return body.call().attributes.get_float(name).value_or(fallback);
}

// Min and Max have a kernel of fp16, and ONNX Runtime may keep them so.
TensorId half(FunctionBody& body, double value) { return body.number(value, DType::kFloat16); }

TensorId below_zero(FunctionBody& body) {
  const TensorId x = body.operand(0);
  return body.add("Less", {x, body.number(0)}, DType::kBool, Shape(body.shape(x)));
}

void write_relu(FunctionBody body) { body.finish("Max", {body.operand(0), half(body, 0)}); }

void write_leaky_relu(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId low =
      body.elementwise("Mul", {x, body.number(attribute(body, "alpha", kLeakyAlpha))});
  body.finish("Where", {below_zero(body), low, x});
}

void write_prelu(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId low = body.elementwise("Mul", {x, body.operand(1)});
  body.finish("Where", {below_zero(body), low, x});
}

void write_elu(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId less_one = body.elementwise("Sub", {body.elementwise("Exp", {x}), body.number(1)});
  const TensorId low =
      body.elementwise("Mul", {less_one, body.number(attribute(body, "alpha", kEluAlpha))});
  body.finish("Where", {below_zero(body), low, x});
}

void write_selu(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId alpha = body.number(attribute(body, "alpha", kSeluAlpha));
  const TensorId gamma = body.number(attribute(body, "gamma", kSeluGamma));
  const TensorId grown = body.elementwise("Mul", {body.elementwise("Exp", {x}), alpha});
  const TensorId low = body.elementwise("Mul", {body.elementwise("Sub", {grown, alpha}), gamma});
  const TensorId high = body.elementwise("Mul", {x, gamma});
  body.finish("Where", {below_zero(body), low, high});
}

void write_softplus(FunctionBody body) {
  const TensorId grown = body.elementwise("Exp", {body.operand(0)});
  body.finish("Log", {body.elementwise("Add", {grown, body.number(1)})});
}

void write_softsign(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId size = body.elementwise("Abs", {x});
  body.finish("Div", {x, body.elementwise("Add", {size, body.number(1)})});
}

void write_hard_sigmoid(FunctionBody body) {
  const TensorId scaled = body.elementwise(
      "Mul", {body.operand(0), body.number(attribute(body, "alpha", kHardSigmoidAlpha))});
  const TensorId moved =
      body.elementwise("Add", {scaled, body.number(attribute(body, "beta", kHardSigmoidBeta))});
  body.finish("Max", {body.elementwise("Min", {moved, half(body, 1)}), half(body, 0)});
}

void write_thresholded_relu(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId alpha = body.number(attribute(body, "alpha", 1));
  const TensorId above = body.add("Less", {alpha, x}, DType::kBool, Shape(body.shape(x)));
  body.finish("Where", {above, x, body.number(0)});
}

// sqrt(2 / pi) (x + 0.044715 x^3)
TensorId tanh_argument(FunctionBody& body) {
  constexpr double kCubic = 0.044715;
  const TensorId x = body.operand(0);
  const TensorId root = body.elementwise("Sqrt", {body.number(2 / std::numbers::pi)});
  const TensorId cubed = body.elementwise("Pow", {x, body.number(3)});
  const TensorId term = body.elementwise("Mul", {cubed, body.number(kCubic)});
  return body.elementwise("Mul", {body.elementwise("Sum", {x, term}), root});
}

// x / 2 (1 + erf(x / sqrt(2))), or by tanh. ONNX Runtime takes the root in every run.
void write_gelu(FunctionBody body) {
  const TensorId x = body.operand(0);
  const bool by_tanh = body.call().attributes.string_or("approximate", "none") == "tanh";
  const TensorId curve =
      by_tanh
          ? body.elementwise("Tanh", {tanh_argument(body)})
          : body.elementwise(
                "Erf", {body.elementwise("Div", {x, body.elementwise("Sqrt", {body.number(2)})})});
  const TensorId share = body.elementwise("Sum", {curve, body.number(1)});
  const TensorId halved = body.elementwise("Mul", {x, body.number(0.5)});
  body.finish("Mul", {halved, share});
}

// com.microsoft's: x (1 + erf(x / sqrt(2))) / 2, with the halves on the other side.
void write_microsoft_gelu(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId curve =
      body.elementwise("Erf", {body.elementwise("Mul", {x, body.number(1 / std::numbers::sqrt2)})});
  const TensorId share = body.elementwise("Add", {curve, body.number(1)});
  body.finish("Mul", {x, body.elementwise("Mul", {share, body.number(0.5)})});
}

// x / 2 (1 + tanh(x (0.797885 + 0.035677 x^2))), perhaps of x + bias
void write_fast_gelu(FunctionBody body) {
  constexpr double kLinear = 0.797885;
  constexpr double kCubic = 0.035677;
  const auto& inputs = body.call().inputs;
  const bool has_bias = inputs.size() > 1 && inputs[1].valid();
  const TensorId x = has_bias ? body.elementwise("Add", {inputs[0], inputs[1]}) : body.operand(0);
  const TensorId squares = body.elementwise("Mul", {x, x});
  const TensorId factor = body.elementwise(
      "Add", {body.elementwise("Mul", {squares, body.number(kCubic)}), body.number(kLinear)});
  const TensorId curve = body.elementwise("Tanh", {body.elementwise("Mul", {x, factor})});
  const TensorId share = body.elementwise("Add", {curve, body.number(1)});
  body.finish("Mul", {body.elementwise("Mul", {x, share}), body.number(0.5)});
}

struct Shifted {
  TensorId x;      // less the maximum along the axis
  TensorId grown;  // its exponential
  TensorId sum;    // of that along the axis
};

Shifted shift(FunctionBody& body) {
  const TensorId x = body.operand(0);
  const Shape& shape = body.shape(x);
  const int64_t rank = shape.rank();
  const int64_t given = body.call().attributes.int_or("axis", -1);
  const int64_t axis = given < 0 ? given + rank : given;
  std::vector<int64_t> extents = shape.extents();
  extents[static_cast<size_t>(axis)] = 1;
  const Shape reduced = Shape::of(extents);
  const TensorId axes = body.ints({axis});
  const DType dtype = body.dtype(x);
  const TensorId most =
      body.call().version >= kAxesAsOperand
          ? body.add("ReduceMax", {x, axes}, dtype, reduced, {{"keepdims", int64_t{1}}})
          : body.add("ReduceMax", {x}, dtype, reduced,
                     {{"axes", std::vector<int64_t>{axis}}, {"keepdims", int64_t{1}}});
  const TensorId shifted = body.elementwise("Sub", {x, most});
  const TensorId grown = body.elementwise("Exp", {shifted});
  const TensorId sum =
      body.add("ReduceSum", {grown, axes}, dtype, reduced, {{"keepdims", int64_t{1}}});
  return {shifted, grown, sum};
}

void write_softmax(FunctionBody body) {
  const Shifted parts = shift(body);
  body.finish("Div", {parts.grown, parts.sum});
}

void write_log_softmax(FunctionBody body) {
  const Shifted parts = shift(body);
  body.finish("Sub", {parts.x, body.elementwise("Log", {parts.sum})});
}

// The sum reduces the axes of the call.
BodyAttributes as_called(const FunctionBody& body) {
  return {{"keepdims", body.call().attributes.int_or("keepdims", 1)},
          {"noop_with_empty_axes", body.call().attributes.int_or("noop_with_empty_axes", 0)}};
}

std::vector<TensorId> with_axes(const FunctionBody& body, TensorId terms) {
  std::vector<TensorId> inputs = body.call().inputs;
  inputs[0] = terms;
  return inputs;
}

void write_reduce_l1(FunctionBody body) {
  const TensorId sizes = body.elementwise("Abs", {body.operand(0)});
  body.finish("ReduceSum", with_axes(body, sizes), as_called(body));
}

void write_reduce_sum_square(FunctionBody body) {
  const TensorId x = body.operand(0);
  body.finish("ReduceSum", with_axes(body, body.elementwise("Mul", {x, x})), as_called(body));
}

void write_reduce_l2(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId squares = body.elementwise("Mul", {x, x});
  const TensorId sum = body.add("ReduceSum", with_axes(body, squares), body.dtype(x),
                                Shape(body.shape(body.call().outputs[0])), as_called(body));
  body.finish("Sqrt", {sum});
}

template <bool kGreater>
void write_or_equal(FunctionBody body) {
  const std::vector<TensorId> both = body.call().inputs;
  const Shape shape = body.shape(body.call().outputs[0]);
  const TensorId beyond = body.add(kGreater ? "Greater" : "Less", both, DType::kBool, shape);
  const TensorId equal = body.add("Equal", both, DType::kBool, shape);
  body.finish("Or", {beyond, equal});
}

struct HalfFunction {
  std::string_view type;
  int from;  // opsets of models that ONNX Runtime writes it out in
  int to;
  void (*write)(FunctionBody);
  std::string_view domain = "";
};

constexpr int kAnyLater = std::numeric_limits<int>::max();
constexpr std::array<HalfFunction, 19> kHalfFunctions = {{
    {"Elu", 18, 18, write_elu},
    {"FastGelu", 1, kAnyLater, write_fast_gelu, kMicrosoft},
    {"Gelu", 1, kAnyLater, write_microsoft_gelu, kMicrosoft},
    {"Gelu", 20, kAnyLater, write_gelu},
    {"GreaterOrEqual", 16, 18, write_or_equal<true>},
    {"HardSigmoid", 18, 18, write_hard_sigmoid},
    {"LeakyRelu", 16, 18, write_leaky_relu},
    {"LessOrEqual", 16, 18, write_or_equal<false>},
    {"LogSoftmax", 13, kAnyLater, write_log_softmax},
    {"PRelu", 16, 18, write_prelu},
    {"ReduceL1", 18, kAnyLater, write_reduce_l1},
    {"ReduceL2", 18, 18, write_reduce_l2},
    {"ReduceSumSquare", 18, kAnyLater, write_reduce_sum_square},
    {"Relu", 18, 18, write_relu},
    {"Selu", 18, 18, write_selu},
    {"Softmax", 13, kAnyLater, write_softmax},
    {"Softplus", 18, 18, write_softplus},
    {"Softsign", 18, 18, write_softsign},
    {"ThresholdedRelu", 18, 18, write_thresholded_relu},
}};

bool can_be_written(const EditableGraph& graph, const Op& op) {
  if (op.inputs.empty() || !op.inputs[0].valid()) {
    return false;
  }
  const Shape& x = graph.shape(op.inputs[0]);
  return graph.tensor(op.inputs[0]).dtype == DType::kFloat16 && x.is_static() && x.rank() > 0;
}

}  // namespace

void write_half_bodies(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (!can_be_written(graph, op)) {
      continue;
    }
    const auto* const found = std::find_if(
        kHalfFunctions.begin(), kHalfFunctions.end(), [&](const HalfFunction& function) {
          return function.type == op.op_type && function.domain == op.domain &&
                 op.version >= function.from && op.version <= function.to;
        });
    if (found != kHalfFunctions.end()) {
      found->write({graph, id});
    }
  }
}

}  // namespace dfsim::inline graphs
