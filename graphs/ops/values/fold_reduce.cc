// Reductions over axes, arg-reductions and running sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// Which input position adds to which output position.
struct Reduction {
  Extents extents;              // of the output
  std::vector<int64_t> target;  // per input element
  int64_t count = 1;            // how many elements become one
};

std::optional<Reduction> plan_reduction(const InferContext& context, const ConstValue& a) {
  const auto extents = small_extents(context, 0);
  bool absent = false;
  const auto axes = context.ints_from("axes", 1, &absent);
  if (!extents || (!axes && !absent) || !has_arithmetic(a.dtype)) {
    return std::nullopt;
  }
  const auto rank = static_cast<int64_t>(a.extents.size());
  const bool all = !axes || axes->empty();
  if (all && context.attributes().int_or("noop_with_empty_axes", 0) != 0) {
    return std::nullopt;
  }
  std::vector<bool> reduced(a.extents.size(), all);
  for (const int64_t axis : axes.value_or(Extents{})) {
    reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  Extents kept;
  for (size_t i = 0; i < reduced.size(); ++i) {
    kept.push_back(reduced[i] ? 1 : a.extents[i]);
  }
  Reduction plan;
  plan.extents = *extents;
  plan.target = broadcast_positions(kept, a.extents);
  for (size_t i = 0; i < reduced.size(); ++i) {
    plan.count *= reduced[i] ? a.extents[i] : 1;
  }
  return plan;
}

// Starts each output with `start`, adds each element with `add`, and ends with `finish`.
template <typename Add, typename Finish>
void reduce_floats(InferContext& context, double start, Add add, Finish finish) {
  const ConstValue* a = context.value(0);
  const auto plan = a != nullptr ? plan_reduction(context, *a) : std::nullopt;
  if (!plan) {
    return;
  }
  std::vector<double> sums(static_cast<size_t>(small_product(plan->extents)), start);
  for (size_t i = 0; i < plan->target.size(); ++i) {
    double& sum = sums[static_cast<size_t>(plan->target[i])];
    sum = add(sum, a->as_double(i));
  }
  ConstValue out = empty_value(a->dtype, plan->extents);
  for (const double sum : sums) {
    if (!append_double(&out, finish(sum, plan->count))) {
      return;
    }
  }
  context.set_value(0, std::move(out));
}

// `add` returns false when the result does not fit.
template <typename Add>
void reduce_ints(InferContext& context, int64_t start, Add add) {
  const ConstValue* a = context.value(0);
  const auto plan = a != nullptr ? plan_reduction(context, *a) : std::nullopt;
  if (!plan) {
    return;
  }
  std::vector<int64_t> sums(static_cast<size_t>(small_product(plan->extents)), start);
  for (size_t i = 0; i < plan->target.size(); ++i) {
    if (!add(&sums[static_cast<size_t>(plan->target[i])], a->ints[i])) {
      return;
    }
  }
  ConstValue out = empty_value(a->dtype, plan->extents);
  for (const int64_t sum : sums) {
    append_int(&out, sum);
  }
  context.set_value(0, std::move(out));
}

double unchanged(double sum, int64_t /*count*/) { return sum; }
double plus(double a, double b) { return a + b; }

bool is_int_operand(const InferContext& context) { return !is_floating(context.dtype(0)); }

bool reduces_nothing(const InferContext& context) {
  const Shape& x = context.shape(0);
  return x.is_static() && x.elements() == Count(0);
}

// The extreme of no integers is that of the type, which dfsim only knows for booleans.
bool has_no_extreme(const InferContext& context) {
  return is_int_operand(context) && context.dtype(0) != DType::kBool && reduces_nothing(context);
}

bool passes_through(InferContext& context) {
  bool absent = false;
  const auto axes = context.ints_from("axes", 1, &absent);
  if (context.attributes().int_or("noop_with_empty_axes", 0) == 0 || (axes && !axes->empty())) {
    return false;
  }
  fold_reshape(context);
  return true;
}

}  // namespace

void fold_reduce_sum(InferContext& context) {
  if (passes_through(context)) {
    return;
  }
  if (is_int_operand(context)) {
    reduce_ints(context, 0,
                [](int64_t* sum, int64_t x) { return !__builtin_add_overflow(*sum, x, sum); });
  } else {
    reduce_floats(context, 0, plus, unchanged);
  }
}

void fold_reduce_prod(InferContext& context) {
  if (passes_through(context)) {
    return;
  }
  if (is_int_operand(context)) {
    reduce_ints(context, 1,
                [](int64_t* sum, int64_t x) { return !__builtin_mul_overflow(*sum, x, sum); });
  } else {
    reduce_floats(
        context, 1, [](double a, double b) { return a * b; }, unchanged);
  }
}

void fold_reduce_mean(InferContext& context) {
  if (!passes_through(context) && !reduces_nothing(context)) {
    reduce_floats(context, 0, plus,
                  [](double sum, int64_t count) { return sum / static_cast<double>(count); });
  }
}

void fold_reduce_max(InferContext& context) {
  if (passes_through(context) || has_no_extreme(context)) {
    return;
  }
  if (is_int_operand(context)) {
    const bool truth = context.dtype(0) == DType::kBool;
    reduce_ints(context, truth ? 0 : std::numeric_limits<int64_t>::min(),
                [](int64_t* most, int64_t x) {
                  *most = std::max(*most, x);
                  return true;
                });
  } else {
    reduce_floats(
        context, -HUGE_VAL, [](double a, double b) { return std::isnan(a) || a > b ? a : b; },
        unchanged);
  }
}

void fold_reduce_min(InferContext& context) {
  if (passes_through(context) || has_no_extreme(context)) {
    return;
  }
  if (is_int_operand(context)) {
    reduce_ints(context, std::numeric_limits<int64_t>::max(), [](int64_t* least, int64_t x) {
      *least = std::min(*least, x);
      return true;
    });
  } else {
    reduce_floats(
        context, HUGE_VAL, [](double a, double b) { return std::isnan(a) || a < b ? a : b; },
        unchanged);
  }
}

void fold_reduce_l1(InferContext& context) {
  reduce_floats(
      context, 0, [](double sum, double x) { return sum + std::abs(x); }, unchanged);
}
void fold_reduce_l2(InferContext& context) {
  reduce_floats(
      context, 0, [](double sum, double x) { return sum + x * x; },
      [](double sum, int64_t) { return std::sqrt(sum); });
}
void fold_reduce_sum_square(InferContext& context) {
  reduce_floats(
      context, 0, [](double sum, double x) { return sum + x * x; }, unchanged);
}
void fold_reduce_log_sum(InferContext& context) {
  reduce_floats(context, 0, plus, [](double sum, int64_t) { return std::log(sum); });
}
void fold_reduce_log_sum_exp(InferContext& context) {
  reduce_floats(
      context, 0, [](double sum, double x) { return sum + std::exp(x); },
      [](double sum, int64_t) { return std::log(sum); });
}

namespace {

// Blocks in front of an axis, its length, and the elements behind each of its indices.
struct AxisView {
  int64_t rows = 1;
  int64_t length = 1;
  int64_t inner = 1;
};

AxisView view_axis(const Extents& extents, size_t axis) {
  AxisView view;
  for (size_t i = 0; i < extents.size(); ++i) {
    (i < axis ? view.rows : i == axis ? view.length : view.inner) *= extents[i];
  }
  return view;
}

}  // namespace

void fold_arg_reduce(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto extents = small_extents(context, 0);
  if (a == nullptr || !extents || a->size() == 0 || a->extents.empty() ||
      !has_arithmetic(a->dtype)) {
    return;
  }
  const auto axis =
      context.axis(context.attributes().int_or("axis", 0), static_cast<int>(a->extents.size()));
  if (!axis.ok()) {
    return;
  }
  const bool most = context.op().op_type == "ArgMax";
  const bool last = context.attributes().int_or("select_last_index", 0) != 0;
  const AxisView view = view_axis(a->extents, static_cast<size_t>(*axis));
  ConstValue out = empty_value(DType::kInt64, *extents);
  for (int64_t row = 0; row < view.rows; ++row) {
    for (int64_t k = 0; k < view.inner; ++k) {
      int64_t best = 0;
      const auto at = [&](int64_t i) {
        return a->as_double(static_cast<size_t>((row * view.length + i) * view.inner + k));
      };
      for (int64_t i = 1; i < view.length; ++i) {
        const bool better = most ? at(i) > at(best) : at(i) < at(best);
        best = better || (last && at(i) == at(best)) ? i : best;
      }
      out.ints.push_back(best);
    }
  }
  context.set_value(0, std::move(out));
}

void fold_cumulative(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto given = context.ints(1);
  if (a == nullptr || !given || given->size() != 1 || !has_arithmetic(a->dtype)) {
    return;
  }
  const auto axis = context.axis((*given)[0], static_cast<int>(a->extents.size()));
  if (!axis.ok()) {
    return;
  }
  const bool product = context.op().op_type == "CumProd";
  const bool exclusive = context.attributes().int_or("exclusive", 0) != 0;
  const bool reverse = context.attributes().int_or("reverse", 0) != 0;
  const AxisView view = view_axis(a->extents, static_cast<size_t>(*axis));
  ConstValue out = *a;
  for (int64_t line = 0; line < view.rows * view.inner; ++line) {
    double sum = product ? 1 : 0;
    int64_t whole = product ? 1 : 0;
    for (int64_t step = 0; step < view.length; ++step) {
      const int64_t i = reverse ? view.length - 1 - step : step;
      const auto at = static_cast<size_t>((line / view.inner * view.length + i) * view.inner +
                                          line % view.inner);
      if (is_floating(a->dtype)) {
        const double next = round_to(a->dtype, product ? sum * a->floats[at] : sum + a->floats[at]);
        out.floats[at] = exclusive ? sum : next;
        sum = next;
        continue;
      }
      int64_t next = 0;
      if (product ? __builtin_mul_overflow(whole, a->ints[at], &next)
                  : __builtin_add_overflow(whole, a->ints[at], &next)) {
        return;
      }
      out.ints[at] = wrap_to(a->dtype, exclusive ? whole : next);
      whole = next;
    }
  }
  context.set_value(0, std::move(out));
}

}  // namespace dfsim::inline graphs
