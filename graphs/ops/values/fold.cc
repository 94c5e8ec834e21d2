#include "graphs/ops/values/fold.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kIntMin = std::numeric_limits<int64_t>::min();

// The output's extents when they are known and small enough to hold a value.
std::optional<std::vector<int64_t>> small_extents(const InferContext& context, size_t output) {
  const Shape& shape = context.output_shape(output);
  if (!shape.is_static()) {
    return std::nullopt;
  }
  const Count elements = shape.elements();
  if (elements.overflowed() || elements.value() > kMaxConstElements) {
    return std::nullopt;
  }
  return shape.extents();
}

size_t at(const std::vector<int64_t>& positions, size_t i) {
  return static_cast<size_t>(positions[i]);
}

// For each output position in row-major order, the position in an operand broadcast to `extents`.
std::vector<int64_t> broadcast_positions(const std::vector<int64_t>& operand,
                                         const std::vector<int64_t>& extents) {
  const std::vector<int64_t> strides = row_major_strides(operand);
  const size_t lead = extents.size() - operand.size();
  std::vector<int64_t> out_strides(extents.size(), 0);
  for (size_t axis = lead; axis < extents.size(); ++axis) {
    out_strides[axis] = operand[axis - lead] != 1 ? strides[axis - lead] : 0;
  }
  return strided_positions(extents, out_strides, 0);
}

// Applies `int_op` or `float_op` to broadcast pairs. `result` kUnknown keeps the operands' dtype.
template <typename IntOp, typename FloatOp>
void fold_binary(InferContext& context, DType result, IntOp int_op, FloatOp float_op) {
  const auto extents = small_extents(context, 0);
  const ConstValue* a = context.value(0);
  const ConstValue* b = context.value(1);
  if (!extents || a == nullptr || b == nullptr) {
    return;
  }
  ConstValue out{result == DType::kUnknown ? a->dtype : result, *extents, {}, {}};
  const auto pa = broadcast_positions(a->extents, *extents);
  const auto pb = broadcast_positions(b->extents, *extents);
  const bool floating = is_floating(a->dtype);
  for (size_t i = 0; i < pa.size(); ++i) {
    if (floating) {
      const auto value = float_op(a->as_double(at(pa, i)), b->as_double(at(pb, i)));
      if (is_floating(out.dtype)) {
        out.floats.push_back(static_cast<double>(value));
      } else {
        out.ints.push_back(static_cast<int64_t>(value));
      }
      continue;
    }
    const std::optional<int64_t> value = int_op(a->as_int(at(pa, i)), b->as_int(at(pb, i)));
    if (!value) {
      return;  // division by zero or overflow: the value stays unknown
    }
    out.ints.push_back(*value);
  }
  context.set_value(0, std::move(out));
}

template <typename IntOp, typename FloatOp>
void fold_unary(InferContext& context, IntOp int_op, FloatOp float_op) {
  const ConstValue* a = context.value(0);
  if (a == nullptr) {
    return;
  }
  ConstValue out = *a;
  for (int64_t& value : out.ints) {
    if (value == kIntMin) {
      return;
    }
    value = int_op(value);
  }
  for (double& value : out.floats) {
    value = float_op(value);
  }
  context.set_value(0, std::move(out));
}

using MaybeInt = std::optional<int64_t>;

template <bool (*Builtin)(int64_t, int64_t, int64_t*)>
MaybeInt checked(int64_t a, int64_t b) {
  int64_t result = 0;
  return Builtin(a, b, &result) ? std::nullopt : MaybeInt(result);
}
bool add_overflows(int64_t a, int64_t b, int64_t* r) { return __builtin_add_overflow(a, b, r); }
bool sub_overflows(int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); }
bool mul_overflows(int64_t a, int64_t b, int64_t* r) { return __builtin_mul_overflow(a, b, r); }

// As runtimes do: the smallest integer stays what it is.
int64_t negated(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }

}  // namespace

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;) {
    // Wraps only beside an extent of 0, where no element is ever addressed.
    strides[i - 1] =
        static_cast<int64_t>(static_cast<uint64_t>(strides[i]) * static_cast<uint64_t>(extents[i]));
  }
  return strides;
}

std::vector<int64_t> strided_positions(const std::vector<int64_t>& extents,
                                       const std::vector<int64_t>& strides, int64_t base) {
  const auto total = static_cast<size_t>(Shape::of(extents).elements().value());
  std::vector<int64_t> positions(total, base);
  for (size_t flat = 0; flat < total; ++flat) {
    size_t rest = flat;
    for (size_t axis = extents.size(); axis-- > 0;) {
      const auto extent = static_cast<size_t>(extents[axis]);
      positions[flat] += static_cast<int64_t>(rest % extent) * strides[axis];
      rest /= extent;
    }
  }
  return positions;
}

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
  fold_binary(
      context, DType::kUnknown,
      [](int64_t a, int64_t b) {
        return b == 0 || (a == kIntMin && b == -1) ? std::nullopt : MaybeInt(a / b);
      },
      [](double a, double b) { return a / b; });
}
void fold_mod(InferContext& context) {
  const bool c_style = context.attributes().int_or("fmod", 0) != 0;
  fold_binary(
      context, DType::kUnknown,
      [c_style](int64_t a, int64_t b) -> MaybeInt {
        if (b == 0 || b == -1) {
          return b == 0 ? std::nullopt : MaybeInt(0);
        }
        const int64_t rest = a % b;
        return !c_style && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      },
      [](double a, double b) { return std::fmod(a, b); });
}
void fold_min(InferContext& context) {
  if (context.input_count() == 2) {
    fold_binary(
        context, DType::kUnknown, [](int64_t a, int64_t b) { return MaybeInt(std::min(a, b)); },
        [](double a, double b) { return std::min(a, b); });
  }
}
void fold_max(InferContext& context) {
  if (context.input_count() == 2) {
    fold_binary(
        context, DType::kUnknown, [](int64_t a, int64_t b) { return MaybeInt(std::max(a, b)); },
        [](double a, double b) { return std::max(a, b); });
  }
}

#define DFSIM_FOLD_COMPARISON(name, op)                                               \
  void name(InferContext& context) {                                                  \
    fold_binary(                                                                      \
        context, DType::kBool, [](int64_t a, int64_t b) { return MaybeInt(a op b); }, \
        [](double a, double b) { return a op b; });                                   \
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
void fold_not(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return int64_t{a == 0}; }, [](double a) { return a; });
}
void fold_neg(InferContext& context) {
  fold_unary(context, negated, [](double a) { return -a; });
}
void fold_abs(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return a < 0 ? negated(a) : a; },
      [](double a) { return std::abs(a); });
}
void fold_relu(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return std::max<int64_t>(a, 0); },
      [](double a) { return std::max(a, 0.0); });
}
void fold_floor(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return a; }, [](double a) { return std::floor(a); });
}
void fold_ceil(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return a; }, [](double a) { return std::ceil(a); });
}
void fold_sqrt(InferContext& context) {
  fold_unary(
      context, [](int64_t a) { return a; }, [](double a) { return std::sqrt(a); });
}

void fold_cast(InferContext& context) {
  const ConstValue* a = context.value(0);
  const DType to = context.output_dtype(0);
  if (a == nullptr || (!is_floating(to) && !is_integer(to) && to != DType::kBool)) {
    return;
  }
  ConstValue out{to, a->extents, {}, {}};
  for (size_t i = 0; i < a->size(); ++i) {
    if (is_floating(to)) {
      out.floats.push_back(a->as_double(i));
      continue;
    }
    // A value outside the integer's range has no defined cast: it stays unknown.
    if (is_floating(a->dtype) && !(std::abs(a->floats[i]) < 9e18)) {
      return;
    }
    const int64_t value = a->as_int(i);
    out.ints.push_back(to == DType::kBool ? int64_t{a->as_double(i) != 0} : value);
  }
  context.set_value(0, std::move(out));
}

void fold_where(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const ConstValue* condition = context.value(0);
  const ConstValue* a = context.value(1);
  const ConstValue* b = context.value(2);
  if (!extents || condition == nullptr || a == nullptr || b == nullptr) {
    return;
  }
  ConstValue out{a->dtype, *extents, {}, {}};
  const auto pc = broadcast_positions(condition->extents, *extents);
  const auto pa = broadcast_positions(a->extents, *extents);
  const auto pb = broadcast_positions(b->extents, *extents);
  for (size_t i = 0; i < pc.size(); ++i) {
    const bool pick = condition->as_int(at(pc, i)) != 0;
    if (is_floating(a->dtype)) {
      out.floats.push_back(pick ? a->as_double(at(pa, i)) : b->as_double(at(pb, i)));
    } else {
      out.ints.push_back(pick ? a->as_int(at(pa, i)) : b->as_int(at(pb, i)));
    }
  }
  context.set_value(0, std::move(out));
}

void fold_reshape(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const ConstValue* a = context.value(0);
  if (!extents || a == nullptr ||
      Shape::of(*extents).elements().value() != static_cast<int64_t>(a->size())) {
    return;
  }
  ConstValue out = *a;
  out.extents = *extents;
  context.set_value(0, std::move(out));
}

void fold_by_index(InferContext& context, size_t output, const std::vector<int64_t>& extents,
                   const std::vector<int64_t>& sources) {
  const ConstValue* a = context.value(0);
  if (a == nullptr) {
    return;
  }
  ConstValue out{a->dtype, extents, {}, {}};
  for (const int64_t source : sources) {
    if (source < 0 || source >= static_cast<int64_t>(a->size())) {
      return;
    }
    if (is_floating(a->dtype)) {
      out.floats.push_back(a->floats[static_cast<size_t>(source)]);
    } else {
      out.ints.push_back(a->ints[static_cast<size_t>(source)]);
    }
  }
  context.set_value(output, std::move(out));
}

}  // namespace dfsim::inline graphs
