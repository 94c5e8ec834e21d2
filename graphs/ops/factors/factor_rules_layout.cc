// Factor rules of operators that only move or rename elements.
#include <fmt/format.h>

#include <numeric>

#include "graphs/ops/factors/factor_rules.h"

namespace dfsim::inline graphs {
namespace {

// Axes of input 0 whose extent the output keeps pass through; the others are whole.
std::vector<bool> changed_axes(const FactorContext& context) {
  const Shape& x = context.input(0);
  const Shape& y = context.output(0);
  std::vector<bool> whole(static_cast<size_t>(x.rank()), true);
  for (int axis = 0; axis < x.rank() && y.rank() == x.rank(); ++axis) {
    whole[static_cast<size_t>(axis)] = x[axis] != y[axis];
  }
  return whole;
}

// A constant shape must name every axis of the output, so that the shard's shape can replace it.
bool take_shape_operand(FactorContext& context, size_t input, std::string_view attribute) {
  bool absent = false;
  const auto given = context.ints_from(attribute, input, &absent);
  if (given && given->size() == static_cast<size_t>(context.output(0).rank())) {
    if (context.has_input(input)) {
      context.map().shape_input = static_cast<int>(input);
    } else {
      context.map().shape_attribute = std::string(attribute);
    }
    return true;
  }
  return absent;
}

}  // namespace

void factors_transpose(FactorContext& context) {
  const int rank = context.input(0).rank();
  const auto* perm = context.attributes().get_ints("perm");
  for (int out = 0; out < rank; ++out) {
    const int in = perm != nullptr ? FactorContext::axis((*perm)[static_cast<size_t>(out)], rank)
                                   : rank - 1 - out;
    const int factor = context.add(fmt::format("dim{}", in), context.in_extent(0, in));
    context.carry_in(0, in, factor);
    context.carry_out(0, out, factor);
  }
}

void factors_concat(FactorContext& context) {
  const int rank = context.output(0).rank();
  const int axis = FactorContext::axis(
      context.attributes().int_or("axis", context.op().version < 4 ? 1 : 0), rank);
  for (int dim = 0; dim < rank; ++dim) {
    const int factor = dim == axis
                           ? FactorDim::kWhole
                           : context.add(fmt::format("dim{}", dim), context.out_extent(0, dim));
    // Quantised operands follow the result's scale and zero point, each with its own behind it.
    const bool quantised = context.op().op_type == "QLinearConcat";
    for (size_t i = quantised ? 2 : 0; i < context.input_count(); i += quantised ? 3 : 1) {
      context.carry_in(i, dim, factor);
    }
    context.carry_out(0, dim, factor);
  }
}

void factors_batch(FactorContext& context) {
  std::vector<bool> whole(static_cast<size_t>(context.input(0).rank()), true);
  context.flag(whole, 0, false);
  add_axis_factors(context, whole);
}

void factors_split(FactorContext& context) {
  const int rank = context.input(0).rank();
  std::vector<bool> whole(static_cast<size_t>(rank), false);
  context.flag(whole, FactorContext::axis(context.attributes().int_or("axis", 0), rank), true);
  add_axis_factors(context, whole);
}

void factors_same_extents(FactorContext& context) {
  add_axis_factors(context, changed_axes(context));
}

void factors_slice(FactorContext& context) {
  // A step of -1 keeps the extent and turns the axis round.
  bool absent = false;
  std::vector<bool> whole = changed_axes(context);
  const auto starts = context.ints_from("starts", 1, &absent);
  const auto axes = context.ints_from("axes", 3, &absent);
  const bool all_axes = absent;
  const auto steps = context.ints_from("steps", 4, &absent);
  if (!starts || (!axes && !all_axes) || (!steps && !absent)) {
    context.set_unsplittable("its axes are not known");
    return;
  }
  for (size_t i = 0; steps && i < steps->size(); ++i) {
    const int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    if ((*steps)[i] != 1) {
      context.flag(whole, FactorContext::axis(axis, context.input(0).rank()), true);
    }
  }
  // With steps of 1 an axis keeps its extent only from its first to its last element, and numpy's
  // clamping makes the same starts and ends mean the same on a shorter axis.
  add_axis_factors(context, whole);
}

void factors_pad(FactorContext& context) {
  bool absent = false;
  const auto pads = context.ints_from(context.op().version < 2 ? "paddings" : "pads", 1, &absent);
  const auto axes = context.ints_from("", 3, &absent);
  const int rank = context.input(0).rank();
  const size_t count = axes ? axes->size() : static_cast<size_t>(rank);
  if (!pads || (!axes && !absent) || pads->size() != count * 2) {
    context.set_unsplittable("its padding is not known");
    return;
  }
  std::vector<bool> whole(static_cast<size_t>(rank), false);
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    if ((*pads)[i] != 0 || (*pads)[i + count] != 0) {
      context.flag(whole, FactorContext::axis(axis, rank), true);
    }
  }
  add_axis_factors(context, whole);
}

void factors_expand(FactorContext& context) {
  const Shape& x = context.input(0);
  const Shape& y = context.output(0);
  if (!take_shape_operand(context, 1, "shape")) {
    // The target may be shorter than the output: then its axes are the last ones.
    context.set_unsplittable("its target shape does not name every axis");
    return;
  }
  for (int axis = 0; axis < y.rank(); ++axis) {
    const int dim = axis - (y.rank() - x.rank());
    const int factor = context.add(fmt::format("dim{}", axis), context.out_extent(0, axis));
    context.carry_out(0, axis, factor);
    if (dim >= 0 && context.in_extent(0, dim) != 1) {
      context.carry_in(0, dim, factor);
    }
  }
}

void factors_resize(FactorContext& context) {
  const auto* mode = context.attributes().get_string("coordinate_transformation_mode");
  if (mode != nullptr && *mode == "tf_crop_and_resize") {
    context.set_unsplittable("it crops to a region of each axis");
    return;
  }
  const bool sizes = context.op().op_type == "Resize" && context.has_input(3);
  if (sizes && !take_shape_operand(context, 3, "sizes")) {
    context.set_unsplittable("its sizes do not name every axis");
    return;
  }
  add_axis_factors(context, changed_axes(context));
}

void factors_depth_space(FactorContext& context) {
  const int64_t block = context.attributes().int_or("blocksize", 1);
  const bool to_depth = context.op().op_type == "SpaceToDepth";
  const int batch = context.add("batch", context.in_extent(0, 0));
  context.carry_in(0, 0, batch);
  context.carry_out(0, 0, batch);
  for (int axis = 2; axis < 4; ++axis) {
    const int64_t coarse = to_depth ? context.out_extent(0, axis) : context.in_extent(0, axis);
    const int factor = context.add(fmt::format("space{}", axis - 2), coarse);
    context.carry_in(0, axis, factor, to_depth ? block : 1);
    context.carry_out(0, axis, factor, to_depth ? 1 : block);
  }
  // Channels are the outer part of the depth in CRD order only.
  if (!to_depth && context.attributes().string_or("mode", "DCR") == "CRD") {
    const int channels = context.add("channels", context.out_extent(0, 1));
    context.carry_in(0, 1, channels, block * block);
    context.carry_out(0, 1, channels);
  }
}

void factors_reverse_sequence(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int batch = FactorContext::axis(context.attributes().int_or("batch_axis", 1), rank);
  const int time = FactorContext::axis(context.attributes().int_or("time_axis", 0), rank);
  std::vector<bool> whole(static_cast<size_t>(rank), false);
  context.flag(whole, time, true);
  const std::vector<int> factors = add_axis_factors(context, whole);
  context.carry_in(1, 0, context.at(factors, batch));
}

// The last two axes are one matrix (Trilu, Det).
void factors_matrix_rows(FactorContext& context) {
  const int rank = context.input(0).rank();
  std::vector<bool> whole(static_cast<size_t>(rank), false);
  for (int axis = std::max(0, rank - 2); axis < rank; ++axis) {
    whole[static_cast<size_t>(axis)] = true;
  }
  add_axis_factors(context, whole);
}

// Both shapes are cut where their products of leading extents agree. In each piece the first axes
// (those above 1) share a factor: the greatest common divisor of their extents.
void factors_reshape(FactorContext& context) {
  const Shape& x = context.input(0);
  const Shape& y = context.output(0);
  if (context.op().op_type == "Reshape" && !take_shape_operand(context, 1, "shape")) {
    context.set_unsplittable("its target shape is not known");
    return;
  }
  int i = 0;
  int o = 0;
  const auto skip_ones = [](const Shape& shape, int* at) {
    while (*at < shape.rank() && shape[*at] == Dim(1)) {
      ++*at;
    }
  };
  for (skip_ones(x, &i), skip_ones(y, &o); i < x.rank() && o < y.rank();
       skip_ones(x, &i), skip_ones(y, &o)) {
    const int64_t in = x[i].extent();
    const int64_t out = y[o].extent();
    const int64_t shared = std::gcd(in, out);
    const int factor = context.add(fmt::format("dim{}", i), shared);
    context.carry_in(0, i, factor, in / shared);
    context.carry_out(0, o, factor, out / shared);
    Count volume_in(in);
    Count volume_out(out);
    ++i;
    ++o;
    while (volume_in != volume_out) {
      const bool grow_in = volume_in.value() < volume_out.value();
      if (volume_in.overflowed() || volume_out.overflowed() ||
          (grow_in ? i >= x.rank() : o >= y.rank())) {
        context.set_unsplittable("its shapes do not hold the same number of elements");
        return;
      }
      if (grow_in) {
        volume_in *= Count(x[i++].extent());
      } else {
        volume_out *= Count(y[o++].extent());
      }
    }
  }
}

}  // namespace dfsim::inline graphs
