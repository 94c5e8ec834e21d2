// Slice and Pad.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graphs/ops/families/layout/movement_rules.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// One axis of a slice after numpy's clamping. `extent` is known.
struct AxisSlice {
  int axis = 0;
  int64_t start = 0;
  int64_t step = 1;
  int64_t size = 0;
};

AxisSlice clamp_slice(int axis, int64_t start, int64_t end, int64_t step, int64_t extent) {
  const auto clamp = [&](int64_t index, int64_t low, int64_t high) {
    if (index < 0) {
      index = index < -extent ? low : index + extent;
    }
    return std::clamp(index, low, high);
  };
  AxisSlice slice{axis, 0, step, 0};
  if (step > 0) {
    slice.start = clamp(start, 0, extent);
    const int64_t stop = clamp(end, 0, extent);
    slice.size = stop > slice.start ? (stop - slice.start - 1) / step + 1 : 0;
  } else {
    slice.start = clamp(start, -1, extent - 1);
    const int64_t stop = end < -extent ? -1 : clamp(end, -1, extent - 1);
    // Written so that even step INT64_MIN cannot overflow.
    const auto magnitude = uint64_t{0} - static_cast<uint64_t>(step);
    slice.size =
        slice.start > stop
            ? static_cast<int64_t>((static_cast<uint64_t>(slice.start - stop) - 1) / magnitude) + 1
            : 0;
  }
  return slice;
}

// The slices of all listed axes, or nullopt when starts, ends, axes or steps are not known yet.
StatusOr<std::optional<std::vector<AxisSlice>>> slices(const InferContext& context,
                                                       const Shape& x) {
  using Result = std::optional<std::vector<AxisSlice>>;
  bool absent = false;
  const auto starts = context.ints_from("starts", 1, &absent);
  const auto ends = context.ints_from("ends", 2, &absent);
  const auto axes = context.ints_from("axes", 3, &absent);
  const bool axes_unknown = !axes && !absent;
  const auto steps = context.ints_from("steps", 4, &absent);
  if (!starts || !ends || axes_unknown || (!steps && !absent)) {
    return Result(std::nullopt);
  }
  if (starts->size() != ends->size() || (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size())) {
    return context.error("starts, ends, axes and steps have different lengths");
  }
  std::vector<AxisSlice> list;
  for (size_t i = 0; i < starts->size(); ++i) {
    DFSIM_ASSIGN_OR_RETURN(const int axis,
                           context.axis(axes ? (*axes)[i] : static_cast<int64_t>(i), x.rank()));
    const int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0) {
      return context.error("a step is 0; expected another number");
    }
    list.push_back(x[axis].known()
                       ? clamp_slice(axis, (*starts)[i], (*ends)[i], step, x[axis].extent())
                       : AxisSlice{axis, 0, step, -1});
  }
  return Result(std::move(list));
}

}  // namespace

namespace {

// Which axes a slice changes whose starts or ends are not known: those listed, else the first ones.
std::optional<std::vector<int64_t>> axes_of_unknown_slice(const InferContext& context) {
  bool absent = false;
  if (auto axes = context.ints_from("axes", 3, &absent); axes || !absent) {
    return axes;
  }
  const Shape& starts = context.shape(1);
  if (starts.rank() != 1 || !starts[0].known() || starts[0].extent() > kMaxRank) {
    return std::nullopt;
  }
  std::vector<int64_t> axes(static_cast<size_t>(starts[0].extent()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// A slice whose starts or ends the run computes still keeps the axes that it does not name, and
// makes none longer.
Status infer_unknown_slice(InferContext& context) {
  const Shape& x = context.shape(0);
  const auto axes = axes_of_unknown_slice(context);
  if (!axes) {
    context.set_output(0, context.dtype(0), Shape(Dims(static_cast<size_t>(x.rank()))));
    return ok_status();
  }
  for (const int64_t given : *axes) {
    DFSIM_RETURN_IF_ERROR(context.axis(given, x.rank()).status());
  }
  context.set_output(0, context.dtype(0), x);
  context.mark_data_dependent(0);
  return ok_status();
}

}  // namespace

Status infer_slice(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const auto list, slices(context, x));
  if (!list) {
    return infer_unknown_slice(context);
  }
  Dims dims = x.dims();
  for (const AxisSlice& slice : *list) {
    dims[static_cast<size_t>(slice.axis)] = slice.size < 0 ? Dim::unknown() : Dim(slice.size);
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

void fold_slice(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& out_shape = context.output_shape(0);
  const auto list = slices(context, x);
  if (!list.ok() || !*list || !out_shape.is_static()) {
    return;
  }
  // Position in the source = base + sum of index * stride, with stride and base bent by the slices.
  std::vector<int64_t> strides = row_major_strides(x.extents());
  int64_t base = 0;
  for (const AxisSlice& slice : **list) {
    int64_t& stride = strides[static_cast<size_t>(slice.axis)];
    base += slice.start * stride;
    // A step that leaves the axis at once is never taken twice.
    stride *= std::clamp(slice.step, -kMaxConstElements - 1, kMaxConstElements + 1);
  }
  fold_by_index(context, 0, out_shape.extents(),
                strided_positions(out_shape.extents(), strides, base));
}

Status infer_pad(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  bool absent = false;
  auto pads = context.ints_from(
      context.version() < 2 && context.op().domain.empty() ? "paddings" : "pads", 1, &absent);
  if (!pads) {
    if (absent) {
      return context.error("has no pads; expected two per axis");
    }
    context.set_output(0, context.dtype(0), Shape(Dims(static_cast<size_t>(x.rank()))));
    return ok_status();
  }
  std::vector<int64_t> axes;
  if (context.has_input(3)) {
    const auto given = context.ints(3);
    if (!given) {
      return ok_status();
    }
    axes = *given;
  } else {
    axes.resize(static_cast<size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (pads->size() != axes.size() * 2) {
    return context.error(
        fmt::format("pads has {} entries; expected {}", pads->size(), axes.size() * 2));
  }
  Dims dims = x.dims();
  for (size_t i = 0; i < axes.size(); ++i) {
    DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(axes[i], x.rank()));
    Dim& dim = dims[static_cast<size_t>(axis)];
    if (!dim.known()) {
      continue;
    }
    const Count extent = Count(dim.extent()) + Count((*pads)[i]) + Count((*pads)[i + axes.size()]);
    if (extent.overflowed() || extent.value() < 0) {
      return context.error(fmt::format("pads {} and {} on axis {} of {} leave no valid extent",
                                       (*pads)[i], (*pads)[i + axes.size()], axis,
                                       format_shape(x)));
    }
    dim = Dim(extent.value());
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

}  // namespace dfsim::inline graphs
