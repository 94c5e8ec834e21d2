// Elementwise operators: activations, arithmetic, comparison, logic, select, cast.
//
// Work: scalar operations per output element by the operator's definition, each of them one FLOP
// whatever its hardware cost (exp, erf and sqrt too). Sigmoid = negate, exp, add, divide = 4.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"
#include "graphs/ops/values/functions.h"

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

// clang-format off
constexpr OpDef kElementwiseOps[] = {
    {.op_type = "Add", .op_class = OpClass::kElementwise, .infer = infer_arithmetic,
     .work = work_per_element, .fold = fold_add, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Sub", .op_class = OpClass::kElementwise, .infer = infer_arithmetic,
     .work = work_per_element, .fold = fold_sub, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Mul", .op_class = OpClass::kElementwise, .infer = infer_arithmetic,
     .work = work_per_element, .fold = fold_mul, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Div", .op_class = OpClass::kElementwise, .infer = infer_arithmetic,
     .work = work_per_element, .fold = fold_div, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Mod", .op_class = OpClass::kElementwise, .infer = infer_arithmetic,
     .work = work_per_element, .fold = fold_mod, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Pow", .op_class = OpClass::kElementwise, .infer = infer_arithmetic,
     .work = work_per_element, .fold = fold_pow, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Min", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .fold = fold_min, .flops_per_element = 1},
    {.op_type = "Max", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .fold = fold_max, .flops_per_element = 1},
    {.op_type = "Mean", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .fold = fold_mean, .flops_per_element = 2},
    {.op_type = "Sum", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .fold = fold_sum, .flops_per_element = 1},
    {.op_type = "PRelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_prelu, .flops_per_element = 2, .required_inputs = 2},
    {.op_type = "And", .op_class = OpClass::kElementwise, .infer = infer_comparison,
     .work = work_per_element, .fold = fold_and, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Or", .op_class = OpClass::kElementwise, .infer = infer_comparison,
     .work = work_per_element, .fold = fold_or, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Xor", .op_class = OpClass::kElementwise, .infer = infer_comparison,
     .work = work_per_element, .fold = fold_xor, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Equal", .op_class = OpClass::kElementwise, .infer = infer_comparison,
     .work = work_per_element, .fold = fold_equal, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "Greater", .op_class = OpClass::kElementwise, .infer = infer_comparison,
     .work = work_per_element, .fold = fold_greater, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "GreaterOrEqual", .op_class = OpClass::kElementwise, .infer = infer_comparison,
     .work = work_per_element, .fold = fold_greater_equal, .flops_per_element = 1,
     .required_inputs = 2},
    {.op_type = "Less", .op_class = OpClass::kElementwise, .infer = infer_comparison,
     .work = work_per_element, .fold = fold_less, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "LessOrEqual", .op_class = OpClass::kElementwise, .infer = infer_comparison,
     .work = work_per_element, .fold = fold_less_equal, .flops_per_element = 1,
     .required_inputs = 2},
    {.op_type = "BitShift", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .fold = fold_bit_shift, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "BitwiseAnd", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .fold = fold_bit_and, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "BitwiseOr", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .fold = fold_bit_or, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "BitwiseXor", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .fold = fold_bit_xor, .flops_per_element = 1, .required_inputs = 2},
    {.op_type = "BitwiseNot", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_bit_not, .flops_per_element = 1},
    {.op_type = "Where", .op_class = OpClass::kElementwise, .infer = infer_where,
     .work = work_per_element, .fold = fold_where, .flops_per_element = 1, .required_inputs = 3},
    {.op_type = "Not", .op_class = OpClass::kElementwise, .infer = infer_predicate,
     .work = work_per_element, .fold = fold_not, .flops_per_element = 1},
    {.op_type = "IsNaN", .op_class = OpClass::kElementwise, .infer = infer_predicate,
     .work = work_per_element, .fold = fold_is_nan, .flops_per_element = 1},
    {.op_type = "IsInf", .op_class = OpClass::kElementwise, .infer = infer_predicate,
     .work = work_per_element, .fold = fold_is_inf, .flops_per_element = 1},
    {.op_type = "Cast", .op_class = OpClass::kElementwise, .infer = infer_cast,
     .work = work_per_element, .fold = fold_cast, .flops_per_element = 1},
    {.op_type = "CastLike", .op_class = OpClass::kElementwise, .infer = infer_cast_like,
     .work = work_per_element, .fold = fold_cast, .flops_per_element = 1, .required_inputs = 2,
     .factors = factors_first_only},
    // The same bytes by another name.
    {.op_type = "BitCast", .op_class = OpClass::kView, .infer = infer_cast, .work = work_none, .fold = fold_bit_cast},
    {.op_type = "Dropout", .op_class = OpClass::kElementwise, .infer = infer_dropout,
     .work = work_dropout, .fold = fold_dropout},
    {.op_type = "Abs", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_abs, .flops_per_element = 1},
    {.op_type = "Neg", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_neg, .flops_per_element = 1},
    {.op_type = "Ceil", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_whole, .flops_per_element = 1},
    {.op_type = "Floor", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_whole, .flops_per_element = 1},
    {.op_type = "Round", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_whole, .flops_per_element = 1},
    {.op_type = "Sign", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_sign, .flops_per_element = 1},
    {.op_type = "Sqrt", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<sqrt_of>, .flops_per_element = 1},
    {.op_type = "Reciprocal", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<reciprocal_of>, .flops_per_element = 1},
    {.op_type = "Exp", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<exp_of>, .flops_per_element = 1},
    {.op_type = "Log", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<log_of>, .flops_per_element = 1},
    {.op_type = "Erf", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<erf_of>, .flops_per_element = 1},
    {.op_type = "Sin", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<sin_of>, .flops_per_element = 1},
    {.op_type = "Cos", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<cos_of>, .flops_per_element = 1},
    {.op_type = "Tan", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<tan_of>, .flops_per_element = 1},
    {.op_type = "Asin", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<asin_of>, .flops_per_element = 1},
    {.op_type = "Acos", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<acos_of>, .flops_per_element = 1},
    {.op_type = "Atan", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<atan_of>, .flops_per_element = 1},
    {.op_type = "Sinh", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<sinh_of>, .flops_per_element = 1},
    {.op_type = "Cosh", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<cosh_of>, .flops_per_element = 1},
    {.op_type = "Tanh", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<tanh_of>, .flops_per_element = 1},
    {.op_type = "Asinh", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<asinh_of>, .flops_per_element = 1},
    {.op_type = "Acosh", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<acosh_of>, .flops_per_element = 1},
    {.op_type = "Atanh", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<atanh_of>, .flops_per_element = 1},
    {.op_type = "Relu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_relu, .flops_per_element = 1},
    {.op_type = "LeakyRelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_activation, .flops_per_element = 2},
    {.op_type = "ThresholdedRelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_activation, .flops_per_element = 1},
    {.op_type = "Clip", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_clip, .flops_per_element = 2},
    {.op_type = "Shrink", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_activation, .flops_per_element = 3},
    {.op_type = "Sigmoid", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<sigmoid_of>, .flops_per_element = 4},
    {.op_type = "HardSigmoid", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_activation, .flops_per_element = 4},
    {.op_type = "HardSwish", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<hard_swish_of>, .flops_per_element = 5},
    {.op_type = "Softplus", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<softplus_of>, .flops_per_element = 3},
    {.op_type = "Softsign", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<softsign_of>, .flops_per_element = 3},
    {.op_type = "Elu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_activation, .flops_per_element = 4},
    {.op_type = "Celu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_activation, .flops_per_element = 5},
    {.op_type = "Selu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_activation, .flops_per_element = 5},
    {.op_type = "Mish", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_each<mish_of>, .flops_per_element = 5},
    {.op_type = "Swish", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_activation, .flops_per_element = 5},
    {.op_type = "SwiGLU", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_swiglu, .flops_per_element = 6, .required_inputs = 2},
    // x / sqrt(2), erf, add, times x, times 1/2
    {.op_type = "Gelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_gelu, .flops_per_element = 5},
};
// clang-format on

constexpr WorkNote kElementwiseNotes[] = {
    {work_dropout, "nothing in inference; 2 per element in training"},
};

}  // namespace

OpFamily elementwise_op_defs() { return {kElementwiseOps, kElementwiseNotes}; }

}  // namespace dfsim::inline graphs
