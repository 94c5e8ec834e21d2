// Factor rules of reductions, running sums and selections along an axis.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"

namespace dfsim::inline graphs {
namespace {

// How partial results of a split reduction are joined; kNone when a function follows the sum.
Reduction joined_by(std::string_view type) {
  if (type == "ReduceSum" || type == "ReduceL1" || type == "ReduceSumSquare") {
    return Reduction::kSum;
  }
  if (type == "ReduceMean") {
    return Reduction::kMean;
  }
  if (type == "ReduceMax") {
    return Reduction::kMax;
  }
  if (type == "ReduceMin") {
    return Reduction::kMin;
  }
  return type == "ReduceProd" ? Reduction::kProd : Reduction::kNone;
}

// Axes that are reduced are contracted when `reduction` can join their parts, else whole.
void add_reduction(FactorContext& context, const std::vector<bool>& reduced, bool keep_dims,
                   Reduction reduction) {
  int out = 0;
  for (int axis = 0; axis < context.input(0).rank(); ++axis) {
    const bool is_reduced = reduced[static_cast<size_t>(axis)];
    if (is_reduced && reduction == Reduction::kNone) {
      out += keep_dims ? 1 : 0;
      continue;
    }
    const int factor = context.add(fmt::format("dim{}", axis), context.in_extent(0, axis),
                                   is_reduced ? reduction : Reduction::kNone);
    context.carry_in(0, axis, factor);
    if (!is_reduced) {
      context.carry_out(0, out, factor);
    }
    out += !is_reduced || keep_dims ? 1 : 0;
  }
}

void add_all_but(FactorContext& context, int axis) {
  std::vector<bool> whole(static_cast<size_t>(context.input(0).rank()), false);
  if (axis < 0 || axis >= static_cast<int>(whole.size())) {
    context.set_unsplittable("its axis is not known");
    return;
  }
  whole[static_cast<size_t>(axis)] = true;
  add_axis_factors(context, whole);
}

}  // namespace

void factors_reduce(FactorContext& context) {
  bool absent = false;
  const auto axes = context.ints_from("axes", 1, &absent);
  const int rank = context.input(0).rank();
  if (!axes && !absent) {
    context.set_unsplittable("its axes are not known");
    return;
  }
  const bool none = !axes || axes->empty();
  const bool noop = none && context.attributes().int_or("noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(static_cast<size_t>(rank), none && !noop);
  for (const int64_t axis : axes.value_or(std::vector<int64_t>{})) {
    context.flag(reduced, FactorContext::axis(axis, rank), true);
  }
  add_reduction(context, reduced, noop || context.attributes().int_or("keepdims", 1) != 0,
                joined_by(context.op().op_type));
}

void factors_arg_reduce(FactorContext& context) {
  const int rank = context.input(0).rank();
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  const int axis = FactorContext::axis(context.attributes().int_or("axis", 0), rank);
  context.flag(reduced, axis, true);
  add_reduction(context, reduced, context.attributes().int_or("keepdims", 1) != 0,
                Reduction::kNone);
}

void factors_cumsum(FactorContext& context) {
  bool absent = false;
  const auto axis = context.ints_from("axis", 1, &absent);
  add_all_but(context, axis && axis->size() == 1
                           ? FactorContext::axis((*axis)[0], context.input(0).rank())
                           : -1);
}

void factors_top_k(FactorContext& context) {
  add_all_but(context, FactorContext::axis(context.attributes().int_or("axis", -1),
                                           context.input(0).rank()));
}

}  // namespace dfsim::inline graphs
