// Factor rules of normalisations and softmax: the axes that are summed over stay whole.
#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"

namespace dfsim::inline graphs {
namespace {

// Axes [first, end) whole.
std::vector<bool> whole_range(int rank, int first, int end) {
  std::vector<bool> whole(static_cast<size_t>(rank), false);
  for (int axis = std::max(first, 0); axis < std::min(end, rank); ++axis) {
    whole[static_cast<size_t>(axis)] = true;
  }
  return whole;
}

std::vector<int> add_all_but(FactorContext& context, int first, int end) {
  return add_axis_factors(context, whole_range(context.input(0).rank(), first, end));
}

}  // namespace

void factors_batch_norm(FactorContext& context) {
  const int rank = context.input(0).rank();
  const bool statistics = context.output_count() > 1;  // of the whole batch
  const bool training = context.attributes().int_or("training_mode", 0) != 0 || statistics;
  std::vector<bool> whole(static_cast<size_t>(rank), training);
  if (rank < 2 || context.input(1).rank() != 1) {
    context.set_unsplittable("its input has no channels, or its scale is not one per channel");
    return;
  }
  whole[1] = false;
  const std::vector<int> factors = add_axis_factors(context, whole);
  for (size_t i = 1; i < context.input_count(); ++i) {
    context.carry_in(i, 0, factors[1]);
  }
  for (size_t o = 1; o < context.output_count(); ++o) {
    context.carry_out(o, 0, factors[1]);
  }
}

void factors_layer_norm(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int axis = FactorContext::axis(context.attributes().int_or("axis", -1), rank);
  const std::vector<int> factors = add_all_but(context, axis, rank);
  for (size_t i = 1; i < context.input_count(); ++i) {
    context.carry_broadcast(i, factors, rank - 1);
  }
}

void factors_skip_norm(FactorContext& context) {
  const int rank = context.input(0).rank();
  const std::vector<int> factors = add_all_but(context, rank - 1, rank);
  for (size_t i = 1; i < context.input_count(); ++i) {
    context.carry_broadcast(i, factors, rank - 1);
  }
}

void factors_instance_norm(FactorContext& context) {
  const std::vector<int> factors = add_all_but(context, 2, context.input(0).rank());
  context.carry_in(1, 0, context.at(factors, 1));
  context.carry_in(2, 0, context.at(factors, 1));
}

void factors_group_norm(FactorContext& context) {
  add_all_but(context, 1, context.input(0).rank());
}

void factors_mean_variance_norm(FactorContext& context) {
  const int rank = context.input(0).rank();
  const auto* given = context.attributes().get_ints("axes");
  std::vector<bool> whole(static_cast<size_t>(rank), false);
  for (const int64_t axis : given != nullptr ? *given : std::vector<int64_t>{0, 2, 3}) {
    context.flag(whole, FactorContext::axis(axis, rank), true);
  }
  add_axis_factors(context, whole);
}

void factors_lp_norm(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int axis = FactorContext::axis(context.attributes().int_or("axis", -1), rank);
  add_all_but(context, axis, axis + 1);
}

void factors_lrn(FactorContext& context) { add_all_but(context, 1, 2); }

void factors_softmax(FactorContext& context) {
  const int rank = context.input(0).rank();
  // Before opset 13 everything from the axis on is one row.
  const bool rows = context.attributes().int_or("opset", context.op().version) < 13;
  const int axis = FactorContext::axis(context.attributes().int_or("axis", rows ? 1 : -1), rank);
  add_all_but(context, axis, rows ? rank : axis + 1);
}

}  // namespace dfsim::inline graphs
