// Data movement: transpose, concat, split, expand, tile, space-depth; slice.cc and resize.cc have
// the larger rules.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/families/layout/movement_rules.h"
#include "graphs/ops/families/nn/fold_nn.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

StatusOr<std::vector<int>> permutation(const InferContext& context, int rank) {
  std::vector<int> perm(static_cast<size_t>(rank));
  std::iota(perm.rbegin(), perm.rend(), 0);
  const auto* given = context.attributes().get_ints("perm");
  if (given == nullptr) {
    return perm;
  }
  std::vector<bool> seen(perm.size(), false);
  if (given->size() != perm.size()) {
    return context.error(
        fmt::format("perm has {} entries, the input has rank {}", given->size(), rank));
  }
  for (size_t i = 0; i < perm.size(); ++i) {
    DFSIM_ASSIGN_OR_RETURN(perm[i], context.axis((*given)[i], rank));
    if (seen[static_cast<size_t>(perm[i])]) {
      return context.error(fmt::format("perm names axis {} twice", perm[i]));
    }
    seen[static_cast<size_t>(perm[i])] = true;
  }
  return perm;
}

Status infer_transpose(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const auto perm, permutation(context, x.rank()));
  Dims dims;
  for (const int axis : perm) {
    dims.push_back(x[axis]);
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_concat(InferContext& context) {
  if (context.input_count() == 0) {
    return context.error("has no inputs; expected at least one");
  }
  const Shape& first = context.shape(0);
  if (!first.has_rank()) {
    return ok_status();
  }
  const int64_t fallback = context.version() < 4 ? 1 : 0;
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", fallback), first.rank()));
  Dims dims = first.dims();
  Count total(0);
  bool total_known = true;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const Shape& shape = context.shape(i);
    if (!shape.has_rank()) {
      return ok_status();
    }
    if (shape.rank() != first.rank()) {
      return context.error(fmt::format("input {} has shape {}, input 0 has {}: ranks differ", i,
                                       format_shape(shape), format_shape(first)));
    }
    for (int d = 0; d < shape.rank(); ++d) {
      Dim& out = dims[static_cast<size_t>(d)];
      if (d != axis && shape[d].known() && out.known() && shape[d] != out) {
        return context.error(
            fmt::format("input {} has shape {}, input 0 has {}: they differ on axis {}", i,
                        format_shape(shape), format_shape(first), d));
      }
      if (d != axis && shape[d].known()) {
        out = shape[d];
      }
    }
    total_known = total_known && shape[axis].known();
    total += shape[axis].known() ? Count(shape[axis].extent()) : Count(0);
  }
  if (total.overflowed()) {
    return context.error("the joined axis does not fit in 63 bits");
  }
  dims[static_cast<size_t>(axis)] = total_known ? Dim(total.value()) : Dim::unknown();
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// Joins along any axis: the output is a row of blocks, one per input, for each index of the axes in
// front of the joined one.
void fold_concat(InferContext& context) {
  const Shape& out_shape = context.output_shape(0);
  if (!out_shape.is_static()) {
    return;
  }
  const int64_t fallback = context.version() < 4 ? 1 : 0;
  const auto axis = context.axis(context.attributes().int_or("axis", fallback), out_shape.rank());
  size_t total = 0;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.value(i) == nullptr) {
      return;
    }
    total += context.value(i)->size();
  }
  const std::vector<int64_t> extents = out_shape.extents();
  if (!axis.ok() || total > static_cast<size_t>(kMaxConstElements) ||
      static_cast<int64_t>(total) != out_shape.elements().value()) {
    return;
  }
  size_t rows = 1;
  for (int i = 0; i < *axis; ++i) {
    rows *= static_cast<size_t>(extents[static_cast<size_t>(i)]);
  }
  ConstValue out{context.dtype(0), extents, {}, {}};
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < context.input_count(); ++i) {
      const ConstValue& part = *context.value(i);
      const size_t block = part.size() / rows;
      for (size_t k = row * block; k < (row + 1) * block; ++k) {
        if (is_floating(out.dtype)) {
          out.floats.push_back(part.as_double(k));
        } else {
          out.ints.push_back(part.as_int(k));
        }
      }
    }
  }
  context.set_value(0, std::move(out));
}

StatusOr<std::vector<int64_t>> split_sizes(const InferContext& context, Dim extent, size_t parts) {
  bool absent = false;
  const auto given = context.ints_from("split", 1, &absent);
  if (given) {
    if (given->size() < parts) {
      return context.error(fmt::format("split has {} sizes for {} outputs", given->size(), parts));
    }
    Count sum(0);
    for (const int64_t size : *given) {
      if (size < 0) {
        return context.error(fmt::format("split has the size {}; expected 0 or more", size));
      }
      sum += Count(size);
    }
    if (extent.known() && sum != Count(extent.extent())) {
      return context.error(
          fmt::format("split sizes add up to {}, the axis has {}", sum.value(), extent.extent()));
    }
    return *given;
  }
  std::vector<int64_t> sizes;
  if (!absent || !extent.known() || parts == 0) {
    return sizes;  // not known
  }
  // Equal parts; from opset 18 on the last one may be smaller.
  const auto count = static_cast<int64_t>(parts);
  const int64_t size = (extent.extent() + count - 1) / count;
  if (context.version() < 18 && extent.extent() % count != 0) {
    return context.error(
        fmt::format("an axis of {} cannot be split into {} equal parts", extent.extent(), count));
  }
  for (int64_t i = 0; i < count; ++i) {
    sizes.push_back(std::max<int64_t>(0, std::min(size, extent.extent() - i * size)));
  }
  return sizes;
}

Status infer_split(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", 0), x.rank()));
  DFSIM_ASSIGN_OR_RETURN(const auto sizes, split_sizes(context, x[axis], context.output_count()));
  for (size_t i = 0; i < context.output_count(); ++i) {
    Dims dims = x.dims();
    dims[static_cast<size_t>(axis)] = i < sizes.size() ? Dim(sizes[i]) : Dim::unknown();
    context.set_output(i, context.dtype(0), Shape(std::move(dims)));
  }
  return ok_status();
}

Status infer_expand(InferContext& context) {
  const auto target = context.ints(1);
  const Shape& x = context.shape(0);
  if (!target || !x.has_rank()) {
    return ok_status();
  }
  for (const int64_t extent : *target) {
    if (extent < 0) {
      return context.error(fmt::format("the target shape has the extent {}", extent));
    }
  }
  std::string conflict;
  Shape shape = broadcast_shapes(x, Shape::of(*target), &conflict);
  if (!conflict.empty()) {
    return context.error(conflict);
  }
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

// Before opset 6 with a third input: so often along one axis.
Status infer_tile_axis(InferContext& context) {
  const Shape& x = context.shape(0);
  const auto tiles = context.ints(1);
  const auto axes = context.ints(2);
  if (!x.has_rank() || !tiles || !axes || tiles->size() != 1 || axes->size() != 1) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(axes->front(), x.rank()));
  Dims dims = x.dims();
  Dim& dim = dims[static_cast<size_t>(axis)];
  const Count extent = dim.known() ? Count(dim.extent()) * Count(tiles->front()) : Count(0);
  if (tiles->front() < 0 || extent.overflowed()) {
    return context.error(
        fmt::format("cannot repeat axis {} of {} {} times", axis, format_shape(x), tiles->front()));
  }
  dim = dim.known() ? Dim(extent.value()) : Dim::unknown();
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_tile(InferContext& context) {
  if (context.version() < 6 && context.has_input(2)) {
    return infer_tile_axis(context);
  }
  const Shape& x = context.shape(0);
  const auto repeats = context.ints(1);
  if (!x.has_rank()) {
    return ok_status();
  }
  if (!repeats) {
    context.set_output(0, context.dtype(0), Shape(Dims(static_cast<size_t>(x.rank()))));
    return ok_status();
  }
  if (repeats->size() != static_cast<size_t>(x.rank())) {
    return context.error(
        fmt::format("has {} repeats for an input of rank {}", repeats->size(), x.rank()));
  }
  Dims dims = x.dims();
  for (size_t i = 0; i < dims.size(); ++i) {
    const Count extent =
        dims[i].known() ? Count(dims[i].extent()) * Count((*repeats)[i]) : Count(0);
    if ((*repeats)[i] < 0 || extent.overflowed()) {
      return context.error(
          fmt::format("cannot repeat axis {} of {} {} times", i, format_shape(x), (*repeats)[i]));
    }
    dims[i] = dims[i].known() ? Dim(extent.value()) : Dim::unknown();
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

StatusOr<int64_t> block_size(const InferContext& context) {
  const int64_t block = context.attributes().int_or("blocksize", 0);
  if (block <= 0 || block > (int64_t{1} << 20)) {
    return context.error(fmt::format("blocksize is {}; expected 1 or more", block));
  }
  return block;
}

Status infer_depth_space(InferContext& context, bool to_depth) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  if (x.rank() != 4) {
    return context.error(fmt::format("input {}: expected rank 4", format_shape(x)));
  }
  DFSIM_ASSIGN_OR_RETURN(const int64_t block, block_size(context));
  const auto scaled = [&](Dim dim, int64_t factor, bool grow) {
    if (!dim.known()) {
      return Dim::unknown();
    }
    const Count grown = Count(dim.extent()) * Count(factor);
    return grow ? Dim(grown.value()) : Dim(dim.extent() / factor);
  };
  context.set_output(0, context.dtype(0),
                     Shape({x[0], scaled(x[1], block * block, to_depth),
                            scaled(x[2], block, !to_depth), scaled(x[3], block, !to_depth)}));
  return ok_status();
}
Status infer_space_to_depth(InferContext& context) { return infer_depth_space(context, true); }
Status infer_depth_to_space(InferContext& context) { return infer_depth_space(context, false); }

Status infer_reverse_sequence(InferContext& context) { return infer_same_as_first(context); }

void fold_transpose(InferContext& context) {
  const Shape& x = context.shape(0);
  const auto perm = permutation(context, x.rank());
  if (!perm.ok() || !context.output_shape(0).is_static()) {
    return;
  }
  const std::vector<int64_t> in_strides = row_major_strides(x.extents());
  std::vector<int64_t> strides;
  for (const int axis : *perm) {
    strides.push_back(in_strides[static_cast<size_t>(axis)]);
  }
  const std::vector<int64_t> extents = context.output_shape(0).extents();
  fold_by_index(context, 0, extents, strided_positions(extents, strides, 0));
}

// clang-format off
constexpr OpDef kMovementOps[] = {
    {.op_type = "Transpose", .op_class = OpClass::kDataMovement, .infer = infer_transpose,
     .work = work_copy, .fold = fold_transpose, .factors = factors_transpose},
    {.op_type = "Concat", .op_class = OpClass::kDataMovement, .infer = infer_concat,
     .fold = fold_concat, .factors = factors_concat},
    {.op_type = "Split", .op_class = OpClass::kDataMovement, .infer = infer_split,
     .fold = fold_split, .factors = factors_split},
    {.op_type = "Slice", .op_class = OpClass::kDataMovement, .infer = infer_slice,
     .work = work_copy, .fold = fold_slice, .factors = factors_slice},
    {.op_type = "Pad", .op_class = OpClass::kDataMovement, .infer = infer_pad, .work = work_copy, .fold = fold_pad,
     .factors = factors_pad},
    {.op_type = "Pad", .op_class = OpClass::kDataMovement, .infer = infer_pad, .work = work_copy,
     .required_inputs = 2, .domain = kMicrosoft, .factors = factors_pad},
    {.op_type = "Expand", .op_class = OpClass::kDataMovement, .infer = infer_expand,
     .work = work_copy, .fold = fold_expand, .required_inputs = 2, .factors = factors_expand},
    {.op_type = "Tile", .op_class = OpClass::kDataMovement, .infer = infer_tile, .work = work_copy, .fold = fold_tile,
     .required_inputs = 2, .factors = factors_same_extents},
    {.op_type = "SpaceToDepth", .op_class = OpClass::kDataMovement, .infer = infer_space_to_depth,
     .work = work_copy, .fold = fold_depth_space, .factors = factors_depth_space},
    {.op_type = "DepthToSpace", .op_class = OpClass::kDataMovement, .infer = infer_depth_to_space,
     .work = work_copy, .fold = fold_depth_space, .factors = factors_depth_space},
    {.op_type = "Resize", .op_class = OpClass::kDataMovement, .infer = infer_resize,
     .work = work_resize, .fold = fold_resize, .factors = factors_resize},
    {.op_type = "Upsample", .op_class = OpClass::kDataMovement, .infer = infer_resize,
     .work = work_resize, .fold = fold_resize, .factors = factors_resize},
    {.op_type = "Upsample", .op_class = OpClass::kDataMovement, .infer = infer_resize,
     .work = work_resize, .domain = kMicrosoftBlocked, .factors = factors_resize},
    {.op_type = "ReverseSequence", .op_class = OpClass::kDataMovement,
     .infer = infer_reverse_sequence, .work = work_copy, .fold = fold_reverse_sequence, .required_inputs = 2,
     .factors = factors_reverse_sequence},
    {.op_type = "Trilu", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .work = work_copy, .fold = fold_trilu, .factors = factors_matrix_rows},
};
// clang-format on

constexpr WorkNote kMovementNotes[] = {
    {work_resize, "2 per tap: 1 (nearest: none), 2 (linear) or 4 (cubic) taps per resized axis"},
};

}  // namespace

OpFamily movement_op_defs() { return {kMovementOps, kMovementNotes}; }

}  // namespace dfsim::inline graphs
