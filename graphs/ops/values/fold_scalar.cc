// Functions of one operand.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "graphs/ops/values/fold.h"
#include "graphs/ops/values/functions.h"
#include "graphs/ops/values/stored_constant.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

// `int_op` and `float_op` per element, the type unchanged.
template <typename IntOp, typename FloatOp>
void fold_unary(InferContext& context, IntOp int_op, FloatOp float_op) {
  const ConstValue* a = context.value(0);
  if (a == nullptr || !has_arithmetic(a->dtype)) {
    return;
  }
  ConstValue out = *a;
  for (int64_t& value : out.ints) {
    if (value == kSmallest) {
      return;
    }
    value = wrap_to(out.dtype, int_op(value));
  }
  for (double& value : out.floats) {
    value = round_to(out.dtype, float_op(value));
  }
  context.set_value(0, std::move(out));
}

template <typename Predicate>
void fold_test_of_floats(InferContext& context, Predicate predicate) {
  const ConstValue* a = context.value(0);
  if (a == nullptr || !is_floating(a->dtype) || !has_arithmetic(a->dtype)) {
    return;
  }
  ConstValue out = empty_value(DType::kBool, a->extents);
  for (const double value : a->floats) {
    out.ints.push_back(int64_t{predicate(value)});
  }
  context.set_value(0, std::move(out));
}

double same(double value) { return value; }

// An activation with up to two parameters: attributes, or their defaults.
struct Activation {
  std::string_view op_type;
  std::array<std::string_view, 2> names;
  std::array<double, 2> defaults;
  double (*function)(double x, double p, double q);
};

double leaky_relu(double x, double alpha, double) { return x < 0 ? alpha * x : x; }
double thresholded_relu(double x, double alpha, double) { return x > alpha ? x : 0; }
double elu(double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x) : x; }
double celu(double x, double alpha, double) {
  return std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha));
}
double selu(double x, double alpha, double gamma) {
  return gamma * (x <= 0 ? alpha * std::expm1(x) : x);
}
double hard_sigmoid(double x, double alpha, double beta) {
  return std::clamp(alpha * x + beta, 0.0, 1.0);
}
double shrink(double x, double lambd, double bias) {
  return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
}
double swish(double x, double alpha, double) { return x / (1 + std::exp(-alpha * x)); }

constexpr std::array kActivations = {
    Activation{"LeakyRelu", {"alpha", ""}, {0.01, 0}, leaky_relu},
    Activation{"ThresholdedRelu", {"alpha", ""}, {1, 0}, thresholded_relu},
    Activation{"Elu", {"alpha", ""}, {1, 0}, elu},
    Activation{"Celu", {"alpha", ""}, {1, 0}, celu},
    Activation{"Selu", {"alpha", "gamma"}, {1.6732632423543772, 1.0507009873554805}, selu},
    Activation{"HardSigmoid", {"alpha", "beta"}, {0.2, 0.5}, hard_sigmoid},
    Activation{"Shrink", {"lambd", "bias"}, {0.5, 0}, shrink},
    Activation{"Swish", {"alpha", ""}, {1, 0}, swish},
};

// The stored bits of an element, and the element of such bits; 16-bit floats are left out.
std::optional<uint64_t> bits_of_element(const ConstValue& a, size_t i) {
  switch (a.dtype) {
    case DType::kFloat64:
      return std::bit_cast<uint64_t>(a.floats[i]);
    case DType::kFloat32:
      return std::bit_cast<uint32_t>(static_cast<float>(a.floats[i]));
    case DType::kFloat16:
    case DType::kBFloat16:
      return std::nullopt;
    default:
      return static_cast<uint64_t>(a.ints[i]);
  }
}

void append_bits(uint64_t bits, ConstValue* out) {
  switch (out->dtype) {
    case DType::kFloat64:
      out->floats.push_back(std::bit_cast<double>(bits));
      return;
    case DType::kFloat32:
      out->floats.push_back(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
      return;
    case DType::kFloat16:
      out->floats.push_back(half_to_double(static_cast<uint16_t>(bits)));
      return;
    case DType::kBFloat16:
      out->floats.push_back(bfloat_to_double(static_cast<uint16_t>(bits)));
      return;
    default:
      append_int(out, static_cast<int64_t>(bits));
      return;
  }
}

double round_half_even(double value) { return std::nearbyint(value); }

}  // namespace

void fold_function(InferContext& context, double (*function)(double)) {
  const ConstValue* a = context.value(0);
  if (a == nullptr || !has_arithmetic(a->dtype) || !is_floating(a->dtype)) {
    return;
  }
  fold_unary(
      context, [](int64_t value) { return value; }, function);
}

void fold_not(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return int64_t{a == 0}; }, same);
}
void fold_bit_not(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return ~a; }, same);
}
void fold_neg(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return -a; }, [](double a) { return -a; });
}
void fold_abs(InferContext& context) {
  const bool wide = context.dtype(0) == DType::kUInt64;
  fold_unary(
      context, [wide](int64_t a) { return a < 0 && !wide ? -a : a; },
      [](double a) { return std::abs(a); });
}
void fold_sign(InferContext& context) {
  const bool wide = context.dtype(0) == DType::kUInt64;
  fold_unary(
      context,
      [wide](int64_t a) { return wide ? int64_t{a != 0} : int64_t{a > 0} - int64_t{a < 0}; },
      [](double a) { return std::isnan(a) ? a : static_cast<double>((a > 0) - (a < 0)); });
}
void fold_relu(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return std::max<int64_t>(a, 0); },
      [](double a) { return a < 0 ? 0.0 : a; });
}

void fold_whole(InferContext& context) {
  const std::string& type = context.op().op_type;
  double (*function)(double) = type == "Floor"  ? static_cast<double (*)(double)>(std::floor)
                               : type == "Ceil" ? static_cast<double (*)(double)>(std::ceil)
                                                : round_half_even;
  fold_unary(
      context, [](int64_t value) { return value; }, function);
}

void fold_cast(InferContext& context) {
  const ConstValue* a = context.value(0);
  const DType to = context.output_dtype(0);
  if (a == nullptr || !has_arithmetic(a->dtype) || !has_arithmetic(to)) {
    return;
  }
  ConstValue out = empty_value(to, a->extents);
  for (size_t i = 0; i < a->size(); ++i) {
    if (!is_floating(a->dtype) && !is_floating(to) && to != DType::kBool) {
      append_int(&out, a->as_int(i));
      continue;
    }
    const bool wide = a->dtype == DType::kUInt64 && a->ints[i] < 0;
    const double value =
        wide ? static_cast<double>(static_cast<uint64_t>(a->ints[i])) : a->as_double(i);
    // A value outside the integer's range has no defined cast: it stays unknown.
    if (!append_double(&out, value)) {
      return;
    }
  }
  context.set_value(0, std::move(out));
}

void fold_clip(InferContext& context) {
  const ConstValue* a = context.value(0);
  const ConstValue* low = context.value(1);
  const ConstValue* high = context.value(2);
  const auto from_attribute = [&](std::string_view name, double fallback) {
    return context.attributes().get_float(name).value_or(fallback);
  };
  if (a == nullptr || (low != nullptr && low->size() != 1) ||
      (high != nullptr && high->size() != 1)) {
    return;
  }
  if (!is_floating(a->dtype)) {
    const int64_t least = low != nullptr ? low->as_int(0) : kSmallest;
    const int64_t most = high != nullptr ? high->as_int(0) : std::numeric_limits<int64_t>::max();
    fold_unary(
        context, [=](int64_t x) { return std::min(std::max(x, least), most); }, same);
    return;
  }
  const double least = low != nullptr ? low->as_double(0) : from_attribute("min", -HUGE_VAL);
  const double most = high != nullptr ? high->as_double(0) : from_attribute("max", HUGE_VAL);
  fold_unary(
      context, [](int64_t x) { return x; },
      [=](double x) { return x < least  ? std::min(least, most)
                             : x > most ? most
                                        : x; });
}

void fold_is_nan(InferContext& context) {
  fold_test_of_floats(context, [](double value) { return std::isnan(value); });
}

void fold_is_inf(InferContext& context) {
  const bool negative = context.attributes().int_or("detect_negative", 1) != 0;
  const bool positive = context.attributes().int_or("detect_positive", 1) != 0;
  fold_test_of_floats(context, [=](double value) {
    return std::isinf(value) && (value < 0 ? negative : positive);
  });
}

void fold_activation(InferContext& context) {
  for (const Activation& activation : kActivations) {
    if (activation.op_type != context.op().op_type) {
      continue;
    }
    std::array<double, 2> parameters = activation.defaults;
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] = context.attributes().get_float(activation.names[i]).value_or(parameters[i]);
    }
    if (is_floating(context.dtype(0))) {
      fold_unary(
          context, [](int64_t x) { return x; },
          [&](double x) { return activation.function(x, parameters[0], parameters[1]); });
    } else if (activation.op_type == "Shrink") {
      fold_unary(
          context,
          [&](int64_t x) {
            return to_whole(shrink(static_cast<double>(x), parameters[0], parameters[1]));
          },
          same);
    }
  }
}

void fold_gelu(InferContext& context) {
  fold_function(context, context.attributes().string_or("approximate", "none") == "tanh"
                             ? gelu_tanh_of
                             : gelu_of);
}

void fold_swiglu(InferContext& context) {
  const ConstValue* a = context.value(0);
  const ConstValue* b = context.value(1);
  if (a == nullptr || b == nullptr || !is_floating(a->dtype) || a->extents != b->extents ||
      a->dtype != b->dtype || !has_arithmetic(a->dtype)) {
    return;
  }
  const double alpha = context.attributes().get_float("alpha").value_or(1);
  ConstValue out = empty_value(a->dtype, a->extents);
  for (size_t i = 0; i < a->size(); ++i) {
    append_double(&out, swish(a->floats[i], alpha, 0) * b->floats[i]);
  }
  context.set_value(0, std::move(out));
}

// The same bits as another type of the same width.
void fold_bit_cast(InferContext& context) {
  const ConstValue* a = context.value(0);
  const DType to = context.output_dtype(0);
  if (a == nullptr || !has_arithmetic(a->dtype) || !has_arithmetic(to) ||
      dtype_bits(a->dtype) != dtype_bits(to)) {
    return;
  }
  ConstValue out = empty_value(to, a->extents);
  for (size_t i = 0; i < a->size(); ++i) {
    const auto bits = bits_of_element(*a, i);
    if (!bits) {
      return;
    }
    append_bits(*bits, &out);
  }
  context.set_value(0, std::move(out));
}

// Outside training everything passes.
void fold_dropout(InferContext& context) {
  const ConstValue* a = context.value(0);
  if (a == nullptr || context.op().op_class != OpClass::kView) {
    return;
  }
  ConstValue kept = empty_value(DType::kBool, a->extents);
  kept.ints.assign(a->size(), 1);
  context.set_value(0, ConstValue(*a));  // from here on, `a` may have moved
  if (context.output_dtype(1) == DType::kBool) {
    context.set_value(1, std::move(kept));
  }
}

void fold_reshape(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const ConstValue* a = context.value(0);
  if (!extents || a == nullptr || small_product(*extents) != static_cast<int64_t>(a->size())) {
    return;
  }
  ConstValue out = *a;
  out.extents = *extents;
  context.set_value(0, std::move(out));
}

}  // namespace dfsim::inline graphs
