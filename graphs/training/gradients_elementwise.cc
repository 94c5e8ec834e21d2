// Gradients of operators that work element by element, of softmax, and what serves any operator.
#include <algorithm>
#include <cmath>

#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/infer.h"
#include "graphs/training/gradient_context.h"

namespace dfsim::inline graphs {
namespace {

// The derivative costs about what the operator costs, and one multiplication with the gradient.
int64_t gradient_flops(const Op& op) {
  const OpDef* def = find_op_def(op.domain, op.op_type);
  return 1 + (def == nullptr ? 1 : static_cast<int64_t>(std::ceil(def->flops_per_element)));
}

// `inputs` behind the gradient; the result has the gradient's shape.
TensorId elementwise(GradientContext& context, std::vector<TensorId> inputs) {
  inputs.insert(inputs.begin(), context.gradient());
  const Shape shape = context.shape_of(context.gradient());
  return context.emit(kTrainingDomain, "ElementwiseGrad", std::move(inputs), shape,
                      {{"of", context.op().op_type}, {"flops", gradient_flops(context.op())}});
}

void gradient_of_add(GradientContext& context) {
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.wanted(i)) {
      context.set(i, context.sum_to(context.gradient(), context.shape(i)));
    }
  }
}

void gradient_of_sub(GradientContext& context) {
  if (context.wanted(0)) {
    context.set(0, context.sum_to(context.gradient(), context.shape(0)));
  }
  if (context.wanted(1)) {
    const TensorId sum = context.sum_to(context.gradient(), context.shape(1));
    context.set(1, context.emit("", "Neg", {sum}, context.shape(1)));
  }
}

void gradient_of_mul(GradientContext& context) {
  for (size_t i = 0; i < 2; ++i) {
    if (context.wanted(i)) {
      const TensorId gradient = context.gradient();
      const TensorId scaled =
          context.emit("", "Mul", {gradient, context.value(1 - i)}, context.shape_of(gradient));
      context.set(i, context.sum_to(scaled, context.shape(i)));
    }
  }
}

void gradient_of_div(GradientContext& context) {
  const TensorId gradient = context.gradient();
  if (context.wanted(0)) {
    const TensorId scaled =
        context.emit("", "Div", {gradient, context.value(1)}, context.shape_of(gradient));
    context.set(0, context.sum_to(scaled, context.shape(0)));
  }
  if (context.wanted(1)) {
    const TensorId all = elementwise(context, {context.value(1), context.result()});
    context.set(1, context.sum_to(all, context.shape(1)));
  }
}

// The derivative follows from the result, which the next operator keeps anyway.
void gradient_by_result(GradientContext& context) {
  if (context.wanted(0)) {
    context.set(0, elementwise(context, {context.result()}));
  }
}

// PyTorch's kernel for softmax reads the product of gradient and result, which another kernel wrote
// before: together they move twice the bytes of one that multiplies itself. That for the logarithm
// reads the gradient.
void gradient_of_softmax(GradientContext& context) {
  if (!context.wanted(0)) {
    return;
  }
  TensorId gradient = context.gradient();
  if (context.op().op_type == "Softmax") {
    gradient = context.emit("", "Mul", {gradient, context.result()}, context.shape(0));
  }
  // Before opset 13 everything from the axis on is one row: the rule of factors looks at both.
  const bool rows = context.op().version < 13 && context.op().domain.empty();
  const int rank = context.shape(0).rank();
  int64_t axis = context.attributes().int_or("axis", rows ? 1 : -1);
  axis += axis < 0 ? rank : 0;
  context.set(0, context.emit(kTrainingDomain, "SoftmaxGrad", {gradient, context.result()},
                              context.shape(0), {{"axis", axis}, {"of", context.op().op_type}}));
}

// By a number, autograd computes gradient x (exponent x input^(exponent - 1)) in three kernels, of
// which no one is fused. Exponents that are tensors are rare.
void gradient_of_pow(GradientContext& context) {
  const bool by_number = context.shape(1).elements() == Count(1) && !context.wanted(1);
  if (!by_number) {
    gradient_of_elementwise(context);
    return;
  }
  if (context.wanted(0)) {
    const Shape shape = context.shape_of(context.gradient());
    const TensorId power =
        context.emit("", "Pow", {context.value(0), context.value(1)}, context.shape(0));
    const TensorId slope = context.emit("", "Mul", {power, context.value(1)}, context.shape(0));
    const TensorId scaled = context.emit("", "Mul", {context.gradient(), slope}, shape);
    context.set(0, context.sum_to(scaled, context.shape(0)));
  }
}

}  // namespace

void gradient_of_elementwise(GradientContext& context) {
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.wanted(i)) {
      continue;
    }
    std::vector<TensorId> inputs;
    for (size_t k = 0; k < context.input_count(); ++k) {
      if (context.has_input(k)) {
        inputs.push_back(context.value(k));
      }
    }
    context.set(i, context.sum_to(elementwise(context, std::move(inputs)), context.shape(i)));
  }
}

void gradient_by_backward(GradientContext& context) {
  std::vector<TensorId> inputs;
  for (size_t o = 0; o < context.op().outputs.size(); ++o) {
    if (context.gradient(o).valid()) {
      inputs.push_back(context.gradient(o));
    }
  }
  std::vector<int64_t> operands;
  std::vector<size_t> asked;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) {
      continue;
    }
    if (context.wanted(i)) {
      operands.push_back(static_cast<int64_t>(inputs.size()));
      asked.push_back(i);
      shapes.push_back(context.shape(i));
    }
    inputs.push_back(context.value(i));
  }
  const auto work = op_work(context.graph(), context.id());
  const int64_t macs = work.ok() ? work->macs : 0;
  const int64_t flops = work.ok() ? std::max<int64_t>(0, work->flops - 2 * macs) : 0;
  const auto results = context.emit_many(kTrainingDomain, "Backward", std::move(inputs), shapes,
                                         {{"of", context.op().op_type},
                                          {"operands", operands},
                                          {"macs", macs},
                                          {"other_flops", flops}});
  for (size_t k = 0; k < asked.size(); ++k) {
    context.set(asked[k], results[k]);
  }
}

std::vector<GradientEntry> elementwise_gradients() {
  return {{"Add", gradient_of_add},         {"Sum", gradient_of_add},
          {"Sub", gradient_of_sub},         {"Mul", gradient_of_mul},
          {"Div", gradient_of_div},         {"Relu", gradient_by_result},
          {"Sigmoid", gradient_by_result},  {"Tanh", gradient_by_result},
          {"Exp", gradient_by_result},      {"Sqrt", gradient_by_result},
          {"Softmax", gradient_of_softmax}, {"LogSoftmax", gradient_of_softmax},
          {"Pow", gradient_of_pow}};
}

}  // namespace dfsim::inline graphs
