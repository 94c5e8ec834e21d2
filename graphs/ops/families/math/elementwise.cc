// Elementwise operators: activations, arithmetic, comparison, logic, select, cast.
//
// Work: scalar operations per output element by the operator's definition, each of them one FLOP
// whatever its hardware cost (exp, erf and sqrt too). Sigmoid = negate, exp, add, divide = 4.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_def.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// Before opset 7 the second operand was aligned at `axis` instead of at the end.
Status infer_arithmetic(InferContext& context) {
  if (context.version() < 7 && context.op().domain.empty()) {
    return infer_same_as_first(context);
  }
  return infer_broadcast(context);
}

Status infer_comparison(InferContext& context) {
  DFSIM_RETURN_IF_ERROR(infer_arithmetic(context));
  context.set_output(0, DType::kBool, context.output_shape(0));
  return ok_status();
}

Status infer_predicate(InferContext& context) {
  context.set_output(0, DType::kBool, context.shape(0));
  return ok_status();
}

Status infer_where(InferContext& context) {
  DFSIM_RETURN_IF_ERROR(infer_broadcast(context));
  context.set_output(0, context.dtype(1), context.output_shape(0));
  return ok_status();
}

Status infer_cast(InferContext& context) {
  DType to = DType::kUnknown;
  if (const auto code = context.attributes().get_int("to")) {
    to = dtype_from_onnx(*code);
  } else if (const std::string* name = context.attributes().get_string("to")) {
    to = dtype_from_name(to_lower_dtype(*name));  // opset 1 wrote "FLOAT"
  }
  if (to == DType::kUnknown) {
    return context.error("attribute 'to' is missing or names no element type");
  }
  context.set_output(0, to, context.shape(0));
  return ok_status();
}

Status infer_cast_like(InferContext& context) {
  context.set_output(0, context.dtype(1), context.shape(0));
  return ok_status();
}

// Whether values are dropped at all: in training mode, with a ratio that is not 0.
bool drops_values(const InferContext& context) {
  const ConstValue* ratio = context.value(1);
  const ConstValue* training = context.value(2);
  const auto is = [](const ConstValue* value, double number) {
    return value != nullptr && value->size() == 1 && value->as_double(0) == number;
  };
  return context.has_input(2) && !is(training, 0) && !is(ratio, 0);
}

// Y and, when asked for, the mask.
Status infer_dropout(InferContext& context) {
  context.set_output(0, context.dtype(0), context.shape(0));
  context.set_output(1, context.version() >= 10 ? DType::kBool : context.dtype(0),
                     context.shape(0));
  if (!drops_values(context)) {
    context.set_class(OpClass::kView);
  }
  return ok_status();
}

void work_dropout(WorkContext& context) {
  if (context.op().op_class == OpClass::kView) {
    context.set_no_traffic();
  } else {
    context.add_flops(context.first_output().shape.elements(), 2);
  }
}

constexpr OpClass kE = OpClass::kElementwise;

constexpr OpDef kOps[] = {
    {"Add", kE, infer_arithmetic, work_per_element, fold_add, 1, 2},
    {"Sub", kE, infer_arithmetic, work_per_element, fold_sub, 1, 2},
    {"Mul", kE, infer_arithmetic, work_per_element, fold_mul, 1, 2},
    {"Div", kE, infer_arithmetic, work_per_element, fold_div, 1, 2},
    {"Mod", kE, infer_arithmetic, work_per_element, fold_mod, 1, 2},
    {"Pow", kE, infer_arithmetic, work_per_element, nullptr, 1, 2},
    {"Min", kE, infer_broadcast, work_per_element, fold_min, 1},
    {"Max", kE, infer_broadcast, work_per_element, fold_max, 1},
    {"Mean", kE, infer_broadcast, work_per_element, nullptr, 2},
    {"Sum", kE, infer_broadcast, work_per_element, nullptr, 1},
    {"PRelu", kE, infer_same_as_first, work_per_element, nullptr, 2, 2},
    {"And", kE, infer_comparison, work_per_element, fold_and, 1, 2},
    {"Or", kE, infer_comparison, work_per_element, fold_or, 1, 2},
    {"Xor", kE, infer_comparison, work_per_element, nullptr, 1, 2},
    {"Equal", kE, infer_comparison, work_per_element, fold_equal, 1, 2},
    {"Greater", kE, infer_comparison, work_per_element, fold_greater, 1, 2},
    {"GreaterOrEqual", kE, infer_comparison, work_per_element, fold_greater_equal, 1, 2},
    {"Less", kE, infer_comparison, work_per_element, fold_less, 1, 2},
    {"LessOrEqual", kE, infer_comparison, work_per_element, fold_less_equal, 1, 2},
    {"BitShift", kE, infer_broadcast, work_per_element, nullptr, 1, 2},
    {"BitwiseAnd", kE, infer_broadcast, work_per_element, nullptr, 1, 2},
    {"BitwiseOr", kE, infer_broadcast, work_per_element, nullptr, 1, 2},
    {"BitwiseXor", kE, infer_broadcast, work_per_element, nullptr, 1, 2},
    {"BitwiseNot", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Where", kE, infer_where, work_per_element, fold_where, 1, 3},
    {"Not", kE, infer_predicate, work_per_element, fold_not, 1},
    {"IsNaN", kE, infer_predicate, work_per_element, nullptr, 1},
    {"IsInf", kE, infer_predicate, work_per_element, nullptr, 1},
    {"Cast", kE, infer_cast, work_per_element, fold_cast, 1},
    {"CastLike", kE, infer_cast_like, work_per_element, fold_cast, 1, 2, "", factors_first_only},
    {"BitCast", OpClass::kView, infer_cast, work_none},  // the same bytes by another name
    {"Dropout", kE, infer_dropout, work_dropout},
    {"Abs", kE, infer_same_as_first, work_per_element, fold_abs, 1},
    {"Neg", kE, infer_same_as_first, work_per_element, fold_neg, 1},
    {"Ceil", kE, infer_same_as_first, work_per_element, fold_ceil, 1},
    {"Floor", kE, infer_same_as_first, work_per_element, fold_floor, 1},
    {"Round", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Sign", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Sqrt", kE, infer_same_as_first, work_per_element, fold_sqrt, 1},
    {"Reciprocal", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Exp", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Log", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Erf", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Sin", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Cos", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Tan", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Asin", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Acos", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Atan", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Sinh", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Cosh", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Tanh", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Asinh", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Acosh", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Atanh", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Relu", kE, infer_same_as_first, work_per_element, fold_relu, 1},
    {"LeakyRelu", kE, infer_same_as_first, work_per_element, nullptr, 2},
    {"ThresholdedRelu", kE, infer_same_as_first, work_per_element, nullptr, 1},
    {"Clip", kE, infer_same_as_first, work_per_element, nullptr, 2},
    {"Shrink", kE, infer_same_as_first, work_per_element, nullptr, 3},
    {"Sigmoid", kE, infer_same_as_first, work_per_element, nullptr, 4},
    {"HardSigmoid", kE, infer_same_as_first, work_per_element, nullptr, 4},
    {"HardSwish", kE, infer_same_as_first, work_per_element, nullptr, 5},
    {"Softplus", kE, infer_same_as_first, work_per_element, nullptr, 3},
    {"Softsign", kE, infer_same_as_first, work_per_element, nullptr, 3},
    {"Elu", kE, infer_same_as_first, work_per_element, nullptr, 4},
    {"Celu", kE, infer_same_as_first, work_per_element, nullptr, 5},
    {"Selu", kE, infer_same_as_first, work_per_element, nullptr, 5},
    {"Mish", kE, infer_same_as_first, work_per_element, nullptr, 5},
    {"Swish", kE, infer_same_as_first, work_per_element, nullptr, 5},
    {"SwiGLU", kE, infer_same_as_first, work_per_element, nullptr, 6, 2},
    // x / sqrt(2), erf, add, times x, times 1/2
    {"Gelu", kE, infer_same_as_first, work_per_element, nullptr, 5},
};

constexpr WorkNote kNotes[] = {
    {work_dropout, "nothing in inference; 2 per element in training"},
};

}  // namespace

OpFamily elementwise_op_defs() { return {kOps, kNotes}; }

}  // namespace dfsim::inline graphs
