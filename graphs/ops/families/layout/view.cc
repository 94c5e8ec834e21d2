// Views: operators that give existing bytes another shape or name and move nothing.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// The product of known extents; `unknown` counts the others.
Count known_product(const Shape& shape, int* unknown) {
  Count product(1);
  *unknown = 0;
  for (const Dim dim : shape.dims()) {
    if (dim.known()) {
      product *= Count(dim.extent());
    } else {
      ++*unknown;
    }
  }
  return product;
}

// Fills the one -1 of a reshape from the element count; leaves it unknown when that is not known.
Status resolve_wildcard(const InferContext& context, const Shape& x, Dims* dims, size_t wildcard) {
  if (!x.is_static()) {
    return ok_status();
  }
  (*dims)[wildcard] = Dim(1);
  int unknown = 0;
  const Count rest = known_product(Shape(*dims), &unknown);
  (*dims)[wildcard] = Dim::unknown();
  const Count total = x.elements();
  if (unknown > 0 || rest.overflowed() || total.overflowed()) {
    return ok_status();
  }
  if (rest.value() == 0 ? total.value() != 0 : total.value() % rest.value() != 0) {
    return context.error(fmt::format("{} elements of {} do not divide by the {} of the other axes",
                                     total.value(), format_shape(x), rest.value()));
  }
  (*dims)[wildcard] = Dim(rest.value() == 0 ? 0 : total.value() / rest.value());
  return ok_status();
}

Status infer_reshape(InferContext& context) {
  const Shape& x = context.shape(0);
  bool absent = false;
  const auto target = context.ints_from("shape", 1, &absent);
  if (!target) {
    if (absent) {
      return context.error("has no target shape");
    }
    // Not even the values are known, but the rank may be.
    const Shape& list = context.shape(1);
    constexpr int64_t kMaxRank = 64;
    if (list.is_static() && list.rank() == 1 && list[0].extent() <= kMaxRank) {
      context.set_output(0, context.dtype(0), Shape(Dims(static_cast<size_t>(list[0].extent()))));
    }
    return ok_status();
  }
  const bool allow_zero = context.attributes().int_or("allowzero", 0) != 0;
  Dims dims;
  size_t wildcard = SIZE_MAX;
  for (size_t i = 0; i < target->size(); ++i) {
    const int64_t extent = (*target)[i];
    if (extent == -1 && wildcard == SIZE_MAX) {
      wildcard = i;
      dims.push_back(Dim::unknown());
    } else if (extent == 0 && !allow_zero) {
      if (x.has_rank() && static_cast<int>(i) >= x.rank()) {
        return context.error(fmt::format("target axis {} copies from {}, which has no such axis", i,
                                         format_shape(x)));
      }
      dims.push_back(x.has_rank() ? x[static_cast<int>(i)] : Dim::unknown());
    } else if (extent >= 0) {
      dims.emplace_back(extent);
    } else {
      return context.error(
          fmt::format("the target shape has a second -1 or the extent {}", extent));
    }
  }
  if (wildcard != SIZE_MAX) {
    DFSIM_RETURN_IF_ERROR(resolve_wildcard(context, x, &dims, wildcard));
  }
  const Shape shape(std::move(dims));
  if (shape.is_static() && x.is_static() && shape.elements() != x.elements()) {
    return context.error(fmt::format("cannot give {} ({} elements) the shape {} ({} elements)",
                                     format_shape(x), x.elements().value(), format_shape(shape),
                                     shape.elements().value()));
  }
  context.set_output(0, context.dtype(0), shape);
  return ok_status();
}

Status infer_flatten(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  const int64_t given = context.attributes().int_or("axis", 1);
  if (given < -x.rank() || given > x.rank()) {
    return context.error(fmt::format("axis {} is outside the input's rank {}", given, x.rank()));
  }
  const auto axis = static_cast<size_t>(given < 0 ? given + x.rank() : given);
  const auto product = [&](size_t begin, size_t end) {
    int unknown = 0;
    const Count count =
        known_product(Shape(Dims(x.dims().begin() + static_cast<std::ptrdiff_t>(begin),
                                 x.dims().begin() + static_cast<std::ptrdiff_t>(end))),
                      &unknown);
    return unknown > 0 || count.overflowed() ? Dim::unknown() : Dim(count.value());
  };
  context.set_output(0, context.dtype(0),
                     Shape({product(0, axis), product(axis, x.dims().size())}));
  return ok_status();
}

Status infer_squeeze(InferContext& context) {
  const Shape& x = context.shape(0);
  bool absent = false;
  const auto axes = context.ints_from("axes", 1, &absent);
  if (!x.has_rank() || (!axes && !absent)) {
    return ok_status();
  }
  std::vector<bool> removed(static_cast<size_t>(x.rank()), false);
  if (axes) {
    for (const int64_t given : *axes) {
      DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(given, x.rank()));
      if (x[axis].known() && x[axis] != Dim(1)) {
        return context.error(fmt::format("axis {} of {} is not 1", axis, format_shape(x)));
      }
      removed[static_cast<size_t>(axis)] = true;
    }
  } else {
    for (int i = 0; i < x.rank(); ++i) {
      if (!x[i].known()) {
        return ok_status();  // whether it is 1 decides about the rank
      }
      removed[static_cast<size_t>(i)] = x[i] == Dim(1);
    }
  }
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!removed[static_cast<size_t>(i)]) {
      dims.push_back(x[i]);
    }
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_unsqueeze(InferContext& context) {
  const Shape& x = context.shape(0);
  bool absent = false;
  const auto axes = context.ints_from("axes", 1, &absent);
  if (absent) {
    return context.error("has no axes");
  }
  if (!x.has_rank() || !axes) {
    return ok_status();
  }
  const int rank = x.rank() + static_cast<int>(axes->size());
  std::vector<bool> inserted(static_cast<size_t>(rank), false);
  for (const int64_t given : *axes) {
    DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(given, rank));
    if (inserted[static_cast<size_t>(axis)]) {
      return context.error(fmt::format("axis {} is inserted twice", axis));
    }
    inserted[static_cast<size_t>(axis)] = true;
  }
  Dims dims;
  int next = 0;
  for (const bool is_new : inserted) {
    dims.push_back(is_new ? Dim(1) : x[next++]);
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// clang-format off
constexpr OpDef kViewOps[] = {
    {.op_type = "Reshape", .op_class = OpClass::kView, .infer = infer_reshape, .work = work_none,
     .fold = fold_reshape, .factors = factors_reshape},
    {.op_type = "Flatten", .op_class = OpClass::kView, .infer = infer_flatten, .work = work_none,
     .fold = fold_reshape, .factors = factors_reshape},
    {.op_type = "Squeeze", .op_class = OpClass::kView, .infer = infer_squeeze, .work = work_none,
     .fold = fold_reshape, .factors = factors_reshape},
    {.op_type = "Unsqueeze", .op_class = OpClass::kView, .infer = infer_unsqueeze,
     .work = work_none, .fold = fold_reshape, .factors = factors_reshape},
    {.op_type = "Identity", .op_class = OpClass::kView, .infer = infer_same_as_first,
     .work = work_none, .fold = fold_reshape, .factors = factors_reshape},
};
// clang-format on

}  // namespace

OpFamily view_op_defs() { return {kViewOps}; }

}  // namespace dfsim::inline graphs
