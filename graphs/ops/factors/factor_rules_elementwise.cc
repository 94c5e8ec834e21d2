// Factor rules of operators that work element by element.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"

namespace dfsim::inline graphs {
namespace {

// The axis of the output that an input's last dimension belongs to: the last one, or where the
// opset before 7 puts it (`axis` counts from the operand's first dimension).
int last_axis(const FactorContext& context, size_t input, int rank) {
  const bool aligned = context.op().version < 7 && context.op().domain.empty() && input > 0;
  const int own = context.input(input).rank();
  if (!aligned || own == rank) {
    return rank - 1;
  }
  const int64_t fallback = context.op().op_type == "PRelu" ? 1 : rank - own;
  const auto first = FactorContext::axis(context.attributes().int_or("axis", fallback), rank);
  return first + own - 1;
}

bool broadcasts_to(const Shape& from, const Shape& to, int last) {
  for (int dim = 0; dim < from.rank(); ++dim) {
    const int axis = last - (from.rank() - 1 - dim);
    if (from[dim] != Dim(1) && (axis < 0 || axis >= to.rank() || from[dim] != to[axis])) {
      return false;
    }
  }
  return true;
}

}  // namespace

void factors_elementwise(FactorContext& context) {
  const Shape& out = context.output(0);
  if (!context.has_output(0)) {
    context.set_unsplittable("its first output is left out");
    return;
  }
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!broadcasts_to(context.input(i), out, last_axis(context, i, out.rank()))) {
      context.set_unsplittable("its operands do not broadcast to its output");
      return;
    }
  }
  std::vector<int> factors;
  for (int axis = 0; axis < out.rank(); ++axis) {
    // An axis that no operand has comes from values (the length of a range).
    bool in_operand = false;
    for (size_t i = 0; i < context.input_count(); ++i) {
      const Shape& in = context.input(i);
      const int dim = axis - (last_axis(context, i, out.rank()) - (in.rank() - 1));
      in_operand = in_operand || (dim >= 0 && dim < in.rank() && in[dim] == out[axis]);
    }
    factors.push_back(in_operand
                          ? context.add(fmt::format("dim{}", axis), context.out_extent(0, axis))
                          : FactorDim::kWhole);
    for (size_t o = 0; o < context.output_count(); ++o) {
      if (context.output(o) == out) {
        context.carry_out(o, axis, factors.back());
      }
    }
  }
  for (size_t i = 0; i < context.input_count(); ++i) {
    context.carry_broadcast(i, factors, last_axis(context, i, out.rank()));
  }
}

void factors_first_only(FactorContext& context) {
  add_axis_factors(context, std::vector<bool>(static_cast<size_t>(context.input(0).rank()), false));
}

void factors_quantize(FactorContext& context) {
  const Shape& x = context.input(0);
  const Shape& scale = context.input(1);
  std::vector<bool> whole(static_cast<size_t>(x.rank()), false);
  const bool per_axis = scale.rank() == 1 && scale[0] != Dim(1);
  if (scale.rank() > 1) {
    // Blocks of elements share a scale: axes along which the extents differ stay whole.
    for (int axis = 0; axis < x.rank(); ++axis) {
      whole[static_cast<size_t>(axis)] = scale.rank() != x.rank() || scale[axis] != x[axis];
    }
  }
  const std::vector<int> factors = add_axis_factors(context, whole);
  const int axis = FactorContext::axis(context.attributes().int_or("axis", 1), x.rank());
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const Shape& operand = context.input(i);
    if (per_axis && operand.rank() == 1) {
      context.carry_in(i, 0, context.at(factors, axis));
    } else if (operand.rank() > 1) {
      for (int dim = 0; dim < operand.rank(); ++dim) {
        context.carry_in(i, dim, context.at(factors, dim));
      }
    }
  }
}

void factors_random(FactorContext& context) {
  context.set_unsplittable("devices that drew their own numbers would not agree with one device");
}

void factors_update(FactorContext& context) {
  // Inputs: rate, step, then lists of parameters, gradients and states; outputs: parameters,
  // states.
  const std::string& type = context.op().op_type;
  const size_t lists = type == "Adam" ? 4 : 3;
  const size_t count = (context.input_count() - 2) / lists;
  for (size_t p = 0; p < count; ++p) {
    const Shape& shape = context.input(2 + p);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int factor =
          context.add(fmt::format("parameter{}.dim{}", p, axis), context.in_extent(2 + p, axis));
      for (size_t list = 0; list < lists; ++list) {
        context.carry_in(2 + list * count + p, axis, factor);
      }
      for (size_t list = 0; list + 1 < lists; ++list) {
        context.carry_out(list * count + p, axis, factor);
      }
    }
  }
  if (count != 1) {
    // Outputs of other parameters lack the factor, yet are not partial results.
    context.set_unsplittable("it updates several parameters at once");
  }
}

// Scores [N, C, d...], labels [N, d...]; the loss is [N, d...], or a scalar when reduced.
void factors_loss(FactorContext& context) {
  const std::string how = context.attributes().string_or("reduction", "mean");
  const bool weighted = context.has_input(2) || context.attributes().has("ignore_index");
  if (how == "mean" && weighted) {
    context.set_unsplittable("its mean is over weights that only the whole input tells");
    return;
  }
  const Shape& x = context.input(0);
  const Reduction reduction = how == "sum"    ? Reduction::kSum
                              : how == "mean" ? Reduction::kMean
                                              : Reduction::kNone;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis == 1) {
      continue;
    }
    const int factor =
        context.add(fmt::format("dim{}", axis), context.in_extent(0, axis), reduction);
    context.carry_in(0, axis, factor);
    context.carry_in(1, axis == 0 ? 0 : axis - 1, factor);
    if (reduction == Reduction::kNone) {
      context.carry_out(0, axis == 0 ? 0 : axis - 1, factor);
    }
    context.carry_out(1, axis, factor);
  }
}

// x in heads [B, n, S, h]; packed rows [B, S, n h] stay whole beyond the batch and the positions.
namespace {

// The last axis of rows holds all heads; the tables of cosines hold half of the size of one.
void add_packed_heads(FactorContext& context, size_t cos) {
  const int64_t head = 2 * context.in_extent(cos, context.input(cos).rank() - 1);
  const bool rotates_parts = context.attributes().int_or("rotary_embedding_dim", 0) != 0;
  if (context.input(0).rank() != 3 || rotates_parts || head < 1 ||
      context.in_extent(0, 2) % head != 0) {
    return;
  }
  const int heads = context.add("heads", context.in_extent(0, 2) / head);
  context.carry_in(0, 2, heads, head);
  context.carry_out(0, 2, heads, head);
  if (heads != FactorDim::kWhole && context.attributes().int_or("num_heads", 0) > 0) {
    context.map().divided_attributes.emplace_back("num_heads", heads);
  }
}

}  // namespace

void factors_rotary(FactorContext& context) {
  const Shape& x = context.input(0);
  const bool ours = context.op().domain.empty();  // x, cos, sin, positions; else positions second
  const size_t positions = ours ? 3 : 1;
  const size_t cos = ours ? 1 : 2;
  std::vector<bool> whole(static_cast<size_t>(x.rank()), true);
  context.flag(whole, 0, false);
  if (x.rank() == 4) {
    context.flag(whole, 1, false);
  }
  const std::vector<int> factors = add_axis_factors(context, whole);
  add_packed_heads(context, cos);
  if (context.input(positions).rank() == 2 && context.in_extent(positions, 0) != 1) {
    context.carry_in(positions, 0, context.at(factors, 0));
  }
  for (const size_t cache : {cos, cos + 1}) {
    if (context.input(cache).rank() == 3 && context.in_extent(cache, 0) != 1) {
      context.carry_in(cache, 0, context.at(factors, 0));
    }
  }
}

}  // namespace dfsim::inline graphs
