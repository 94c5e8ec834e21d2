// Arithmetic, comparison and logic of operands that broadcast, with any number of operands.
//
// Floating elements are computed as doubles and rounded to their type after each operation, which
// equals the type's own arithmetic for + - * / (a double has more than twice the digits).
#include <algorithm>
#include <cmath>
#include <limits>

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kIntMin = std::numeric_limits<int64_t>::min();

using MaybeInt = std::optional<int64_t>;

// The element as an unsigned number of its type; only uint64 differs from the stored number.
uint64_t as_unsigned(int64_t value) { return static_cast<uint64_t>(value); }

// Applies `int_op` or `float_op` to broadcast pairs. `result` kUnknown keeps the operands' dtype.
template <typename IntOp, typename FloatOp>
void fold_binary(InferContext& context, DType result, IntOp int_op, FloatOp float_op) {
  const auto extents = small_extents(context, 0);
  const ConstValue* a = context.value(0);
  const ConstValue* b = context.value(1);
  if (!extents || a == nullptr || b == nullptr || !has_arithmetic(a->dtype) ||
      !has_arithmetic(b->dtype)) {
    return;
  }
  ConstValue out = empty_value(result == DType::kUnknown ? a->dtype : result, *extents);
  const auto pa = broadcast_positions(a->extents, *extents);
  const auto pb = broadcast_positions(b->extents, *extents);
  const bool floating = is_floating(a->dtype) || is_floating(b->dtype);
  for (size_t i = 0; i < pa.size(); ++i) {
    const auto ia = static_cast<size_t>(pa[i]);
    const auto ib = static_cast<size_t>(pb[i]);
    if (floating) {
      if (!append_double(&out, static_cast<double>(float_op(a->as_double(ia), b->as_double(ib))))) {
        return;
      }
      continue;
    }
    const MaybeInt value = int_op(a->as_int(ia), b->as_int(ib));
    if (!value) {
      return;  // division by zero or overflow: the value stays unknown
    }
    append_int(&out, *value);
  }
  context.set_value(0, std::move(out));
}

// Combines all operands from the left.
template <typename IntOp, typename FloatOp>
std::optional<ConstValue> combined(const InferContext& context, IntOp int_op, FloatOp float_op) {
  const auto extents = small_extents(context, 0);
  const ConstValue* first = context.value(0);
  if (!extents || first == nullptr || !has_arithmetic(first->dtype)) {
    return std::nullopt;
  }
  ConstValue out = empty_value(first->dtype, *extents);
  for (const int64_t position : broadcast_positions(first->extents, *extents)) {
    append_element_of(*first, position, &out);
  }
  for (size_t k = 1; k < context.input_count(); ++k) {
    const ConstValue* next = context.value(k);
    if (next == nullptr || next->dtype != first->dtype) {
      return std::nullopt;
    }
    const auto positions = broadcast_positions(next->extents, *extents);
    for (size_t i = 0; i < positions.size(); ++i) {
      const auto at = static_cast<size_t>(positions[i]);
      if (is_floating(out.dtype)) {
        out.floats[i] = round_to(out.dtype, float_op(out.floats[i], next->floats[at]));
      } else if (const MaybeInt value = int_op(out.ints[i], next->ints[at])) {
        out.ints[i] = wrap_to(out.dtype, *value);
      } else {
        return std::nullopt;
      }
    }
  }
  return out;
}

template <bool (*Builtin)(int64_t, int64_t, int64_t*)>
MaybeInt checked(int64_t a, int64_t b) {
  int64_t result = 0;
  return Builtin(a, b, &result) ? std::nullopt : MaybeInt(result);
}
bool add_overflows(int64_t a, int64_t b, int64_t* r) { return __builtin_add_overflow(a, b, r); }
bool sub_overflows(int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); }
bool mul_overflows(int64_t a, int64_t b, int64_t* r) { return __builtin_mul_overflow(a, b, r); }

// Whether the first operand is uint64, whose upper half is stored as negative numbers.
bool is_wide_unsigned(const InferContext& context) { return context.dtype(0) == DType::kUInt64; }

MaybeInt int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    return base == 1 ? MaybeInt(1) : std::nullopt;
  }
  int64_t result = 1;
  int64_t square = base;
  for (int64_t rest = exponent; rest > 0; rest /= 2) {
    if (rest % 2 == 1 && __builtin_mul_overflow(result, square, &result)) {
      return std::nullopt;
    }
    if (rest > 1 && __builtin_mul_overflow(square, square, &square)) {
      return std::nullopt;
    }
  }
  return result;
}

}  // namespace

void fold_add(InferContext& context) {
  fold_binary(context, DType::kUnknown, checked<add_overflows>,
              [](double a, double b) { return a + b; });
}
void fold_sub(InferContext& context) {
  fold_binary(context, DType::kUnknown, checked<sub_overflows>,
              [](double a, double b) { return a - b; });
}
void fold_mul(InferContext& context) {
  fold_binary(context, DType::kUnknown, checked<mul_overflows>,
              [](double a, double b) { return a * b; });
}
void fold_div(InferContext& context) {
  const bool wide = is_wide_unsigned(context);
  fold_binary(
      context, DType::kUnknown,
      [wide](int64_t a, int64_t b) -> MaybeInt {
        if (b == 0 || (!wide && a == kIntMin && b == -1)) {
          return std::nullopt;
        }
        return wide ? static_cast<int64_t>(as_unsigned(a) / as_unsigned(b)) : a / b;
      },
      [](double a, double b) { return a / b; });
}
void fold_mod(InferContext& context) {
  const bool c_style = context.attributes().int_or("fmod", 0) != 0;
  const bool wide = is_wide_unsigned(context);
  fold_binary(
      context, DType::kUnknown,
      [c_style, wide](int64_t a, int64_t b) -> MaybeInt {
        if (wide && b != 0) {
          return static_cast<int64_t>(as_unsigned(a) % as_unsigned(b));
        }
        if (b == 0 || b == -1) {
          return b == 0 ? std::nullopt : MaybeInt(0);
        }
        const int64_t rest = a % b;
        return !c_style && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      },
      [](double a, double b) { return std::fmod(a, b); });
}
void fold_pow(InferContext& context) {
  fold_binary(context, DType::kUnknown, int_power,
              [](double a, double b) { return std::pow(a, b); });
}

namespace {

// As numpy and runtimes do: a NaN on either side stays one.
double least(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double greatest(double a, double b) { return std::isnan(a) || a > b ? a : b; }

void set_combined(InferContext& context, std::optional<ConstValue> value) {
  if (value) {
    context.set_value(0, std::move(*value));
  }
}

}  // namespace

void fold_min(InferContext& context) {
  set_combined(context,
               combined(
                   context,
                   [wide = is_wide_unsigned(context)](int64_t a, int64_t b) {
                     return MaybeInt((wide ? as_unsigned(a) < as_unsigned(b) : a < b) ? a : b);
                   },
                   least));
}
void fold_max(InferContext& context) {
  set_combined(context,
               combined(
                   context,
                   [wide = is_wide_unsigned(context)](int64_t a, int64_t b) {
                     return MaybeInt((wide ? as_unsigned(a) > as_unsigned(b) : a > b) ? a : b);
                   },
                   greatest));
}
void fold_sum(InferContext& context) {
  set_combined(context,
               combined(context, checked<add_overflows>, [](double a, double b) { return a + b; }));
}
void fold_mean(InferContext& context) {
  auto sum = combined(context, checked<add_overflows>, [](double a, double b) { return a + b; });
  if (sum && is_floating(sum->dtype)) {
    for (double& value : sum->floats) {
      value = round_to(sum->dtype, value / static_cast<double>(context.input_count()));
    }
    context.set_value(0, std::move(*sum));
  }
}

#define DFSIM_FOLD_COMPARISON(name, op)                                      \
  void name(InferContext& context) {                                         \
    const bool wide = is_wide_unsigned(context);                             \
    fold_binary(                                                             \
        context, DType::kBool,                                               \
        [wide](int64_t a, int64_t b) {                                       \
          return MaybeInt(wide ? as_unsigned(a) op as_unsigned(b) : a op b); \
        },                                                                   \
        [](double a, double b) { return a op b; });                          \
  }
DFSIM_FOLD_COMPARISON(fold_equal, ==)
DFSIM_FOLD_COMPARISON(fold_greater, >)
DFSIM_FOLD_COMPARISON(fold_less, <)
DFSIM_FOLD_COMPARISON(fold_greater_equal, >=)
DFSIM_FOLD_COMPARISON(fold_less_equal, <=)
#undef DFSIM_FOLD_COMPARISON

void fold_and(InferContext& context) {
  fold_binary(
      context, DType::kBool, [](int64_t a, int64_t b) { return MaybeInt(a != 0 && b != 0); },
      [](double a, double b) { return a != 0 && b != 0; });
}
void fold_or(InferContext& context) {
  fold_binary(
      context, DType::kBool, [](int64_t a, int64_t b) { return MaybeInt(a != 0 || b != 0); },
      [](double a, double b) { return a != 0 || b != 0; });
}
void fold_xor(InferContext& context) {
  fold_binary(
      context, DType::kBool, [](int64_t a, int64_t b) { return MaybeInt((a != 0) != (b != 0)); },
      [](double a, double b) { return (a != 0) != (b != 0); });
}

namespace {

template <typename IntOp>
void fold_bits(InferContext& context, IntOp op) {
  if (!is_floating(context.dtype(0))) {
    fold_binary(context, DType::kUnknown, op, [](double a, double) { return a; });
  }
}

}  // namespace

void fold_bit_and(InferContext& context) {
  fold_bits(context, [](int64_t a, int64_t b) { return MaybeInt(a & b); });
}
void fold_bit_or(InferContext& context) {
  fold_bits(context, [](int64_t a, int64_t b) { return MaybeInt(a | b); });
}
void fold_bit_xor(InferContext& context) {
  fold_bits(context, [](int64_t a, int64_t b) { return MaybeInt(a ^ b); });
}
void fold_bit_shift(InferContext& context) {
  const bool left = context.attributes().string_or("direction", "") == "LEFT";
  fold_bits(context, [left](int64_t a, int64_t b) -> MaybeInt {
    if (b < 0 || b >= 64) {
      return std::nullopt;
    }
    return static_cast<int64_t>(left ? as_unsigned(a) << b : as_unsigned(a) >> b);
  });
}
void fold_prelu(InferContext& context) {
  fold_binary(
      context, DType::kUnknown,
      [](int64_t a, int64_t b) { return a < 0 ? checked<mul_overflows>(a, b) : MaybeInt(a); },
      [](double a, double b) { return a < 0 ? a * b : a; });
}

void fold_where(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const ConstValue* condition = context.value(0);
  const ConstValue* a = context.value(1);
  const ConstValue* b = context.value(2);
  if (!extents || condition == nullptr || a == nullptr || b == nullptr || a->dtype != b->dtype ||
      !has_arithmetic(a->dtype)) {
    return;
  }
  ConstValue out = empty_value(a->dtype, *extents);
  const auto pc = broadcast_positions(condition->extents, *extents);
  const auto pa = broadcast_positions(a->extents, *extents);
  const auto pb = broadcast_positions(b->extents, *extents);
  for (size_t i = 0; i < pc.size(); ++i) {
    const bool pick = condition->as_int(static_cast<size_t>(pc[i])) != 0;
    append_element_of(pick ? *a : *b, pick ? pa[i] : pb[i], &out);
  }
  context.set_value(0, std::move(out));
}

}  // namespace dfsim::inline graphs
