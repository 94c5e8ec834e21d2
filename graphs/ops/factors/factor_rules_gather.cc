// Factor rules of gathers and scatters. The axis that indices count along is whole, but for lookups
// in floating-point tables, whose rows may lie on several devices (Megatron's vocabulary split).
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"

namespace dfsim::inline graphs {

void factors_gather(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int picked = context.input(1).rank();
  const int axis = FactorContext::axis(context.attributes().int_or("axis", 0), rank);
  for (int dim = 0; dim < rank; ++dim) {
    if (dim != axis) {
      const int factor = context.add(fmt::format("dim{}", dim), context.in_extent(0, dim));
      context.carry_in(0, dim, factor);
      context.carry_out(0, dim < axis ? dim : dim - 1 + picked, factor);
    }
  }
  for (int dim = 0; dim < picked; ++dim) {
    const int factor = context.add(fmt::format("index{}", dim), context.in_extent(1, dim));
    context.carry_in(1, dim, factor);
    context.carry_out(0, axis + dim, factor);
  }
  // partition/sharding/lookup.h makes indices those of a shard's rows; only floating-point tables,
  // see op_factors().
  context.carry_in(0, axis, context.add("rows", context.in_extent(0, axis), Reduction::kSum));
}

void factors_gather_elements(FactorContext& context) {
  const Shape& x = context.input(0);
  const int axis = FactorContext::axis(context.attributes().int_or("axis", 0), x.rank());
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (dim == axis) {
      // Every index sees the whole axis of the source.
      const int factor = context.add("index", context.in_extent(1, dim));
      context.carry_in(1, dim, factor);
      context.carry_out(0, dim, factor);
    } else if (context.in_extent(0, dim) == context.in_extent(1, dim)) {
      const int factor = context.add(fmt::format("dim{}", dim), context.in_extent(0, dim));
      context.carry_in(0, dim, factor);
      context.carry_in(1, dim, factor);
      context.carry_out(0, dim, factor);
    }
  }
}

void factors_gather_nd(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int indices = context.input(1).rank();
  const auto batch = static_cast<int>(context.attributes().int_or("batch_dims", 0));
  const auto depth = static_cast<int>(context.in_extent(1, indices - 1));
  for (int dim = 0; dim < indices - 1; ++dim) {
    const int factor = context.add(fmt::format("index{}", dim), context.in_extent(1, dim));
    context.carry_in(1, dim, factor);
    context.carry_out(0, dim, factor);
    if (dim < batch) {
      context.carry_in(0, dim, factor);
    }
  }
  for (int dim = batch + depth; dim < rank; ++dim) {
    const int factor = context.add(fmt::format("dim{}", dim), context.in_extent(0, dim));
    context.carry_in(0, dim, factor);
    context.carry_out(0, indices - 1 + dim - batch - depth, factor);
  }
}

void factors_scatter_elements(FactorContext& context) {
  const Shape& x = context.input(0);
  std::vector<bool> whole(static_cast<size_t>(x.rank()), false);
  for (int dim = 0; dim < x.rank(); ++dim) {
    whole[static_cast<size_t>(dim)] = context.in_extent(0, dim) != context.in_extent(1, dim);
  }
  context.flag(whole, FactorContext::axis(context.attributes().int_or("axis", 0), x.rank()), true);
  const std::vector<int> factors = add_axis_factors(context, whole);
  for (int dim = 0; dim < x.rank(); ++dim) {
    context.carry_in(1, dim, factors[static_cast<size_t>(dim)]);
    context.carry_in(2, dim, factors[static_cast<size_t>(dim)]);
  }
}

void factors_scatter_nd(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int indices = context.input(1).rank();
  const auto depth = static_cast<int>(context.in_extent(1, indices - 1));
  for (int dim = depth; dim < rank; ++dim) {
    const int factor = context.add(fmt::format("dim{}", dim), context.in_extent(0, dim));
    context.carry_in(0, dim, factor);
    context.carry_in(2, indices - 1 + dim - depth, factor);
    context.carry_out(0, dim, factor);
  }
}

void factors_one_hot(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int axis = FactorContext::axis(context.attributes().int_or("axis", -1), rank + 1);
  for (int dim = 0; dim < rank; ++dim) {
    const int factor = context.add(fmt::format("dim{}", dim), context.in_extent(0, dim));
    context.carry_in(0, dim, factor);
    context.carry_out(0, dim < axis ? dim : dim + 1, factor);
  }
}

}  // namespace dfsim::inline graphs
