// Selection: operators that sort or pick, some with outputs whose extents depend on the data. Those
// take the largest extent they can have, and the tensor is marked data_dependent.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

Status infer_top_k(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", -1), x.rank()));
  Dims dims = x.dims();
  Dim& extent = dims[static_cast<size_t>(axis)];
  const auto k = context.has_input(1) ? context.ints(1) : std::nullopt;
  if (k && k->size() == 1 && (*k)[0] >= 0) {
    extent = Dim((*k)[0]);
  } else if (const auto attribute = context.attributes().get_int("k")) {
    extent = Dim(std::max<int64_t>(0, *attribute));
  } else {
    context.mark_data_dependent(0);  // the axis itself is the bound
    context.mark_data_dependent(1);
  }
  context.set_output(0, context.dtype(0), Shape(dims));
  context.set_output(1, DType::kInt64, Shape(std::move(dims)));
  return ok_status();
}

Status infer_non_zero(InferContext& context) {
  const Shape& x = context.shape(0);
  context.mark_data_dependent(0);
  if (x.is_static() && !x.elements().overflowed()) {
    context.set_output(0, DType::kInt64, Shape({Dim(x.rank()), Dim(x.elements().value())}));
  }
  return ok_status();
}

Status infer_non_max_suppression(InferContext& context) {
  const Shape& boxes = context.shape(0);   // [batch, boxes, 4]
  const Shape& scores = context.shape(1);  // [batch, classes, boxes]
  context.mark_data_dependent(0);
  if (!boxes.is_static() || !scores.is_static() || boxes.rank() != 3 || scores.rank() != 3) {
    return ok_status();
  }
  int64_t per_class = boxes[1].extent();
  if (const auto limit = context.has_input(2) ? context.ints(2) : std::nullopt;
      limit && limit->size() == 1) {
    per_class = std::clamp<int64_t>((*limit)[0], 0, per_class);
  }
  const Count selected = Count(per_class) * Count(scores[0].extent()) * Count(scores[1].extent());
  if (!selected.overflowed()) {
    context.set_output(0, DType::kInt64, Shape({Dim(selected.value()), Dim(3)}));
  }
  return ok_status();
}

// The slices (or, without an axis, elements) whose condition holds; a condition shorter than the
// axis leaves the rest out.
Status infer_compress(InferContext& context) {
  const Shape& x = context.shape(0);
  const std::optional<int64_t> given = context.attributes().get_int("axis");
  if (!x.has_rank() || (!given && !x.is_static())) {
    return ok_status();
  }
  Dims dims = {Dim(given ? 0 : x.elements().value())};
  size_t axis = 0;
  if (given) {
    DFSIM_ASSIGN_OR_RETURN(const int checked, context.axis(*given, x.rank()));
    axis = static_cast<size_t>(checked);
    dims = x.dims();
  }
  Dim& extent = dims[axis];
  if (const auto condition = context.ints(1)) {
    const auto end = extent.known() && extent.extent() < static_cast<int64_t>(condition->size())
                         ? condition->begin() + extent.extent()
                         : condition->end();
    extent = Dim(std::count_if(condition->begin(), end, [](int64_t value) { return value != 0; }));
  } else {
    const Shape& bound = context.shape(1);
    if (bound.rank() == 1 && bound[0].known() && extent.known()) {
      extent = Dim(std::min(extent.extent(), bound[0].extent()));
    }
    context.mark_data_dependent(0);
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// At most as many as there are: the values (slices along an axis), where each was first seen, how
// often, and, exactly as many as went in, which one each became.
Status infer_unique(InferContext& context) {
  const Shape& x = context.shape(0);
  const std::optional<int64_t> given = context.attributes().get_int("axis");
  for (const size_t i : {0, 1, 3}) {
    context.mark_data_dependent(i);
  }
  if (!x.has_rank() || (!given && !x.is_static())) {
    return ok_status();
  }
  Dim count(given ? 0 : x.elements().value());
  if (given) {
    DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(*given, x.rank()));
    count = x[axis];
  }
  context.set_output(0, context.dtype(0), given ? x : Shape({count}));
  for (const size_t i : {1, 2, 3}) {
    context.set_output(i, DType::kInt64, Shape({count}));
  }
  return ok_status();
}

// Draws sample_size classes per row of [batch, classes].
Status infer_multinomial(InferContext& context) {
  const Shape& x = context.shape(0);
  const int64_t samples = context.attributes().int_or("sample_size", 1);
  if (!x.has_rank()) {
    return ok_status();
  }
  if (x.rank() != 2 || samples < 0) {
    return context.error(
        fmt::format("{} samples of {}; expected 0 or more, of rank 2", samples, format_shape(x)));
  }
  const DType dtype = dtype_from_onnx(context.attributes().int_or("dtype", 6));  // 6 = int32
  context.set_output(0, dtype, Shape({x[0], Dim(samples)}));
  return ok_status();
}

// Sums up the row's probabilities, then searches for each sample.
void work_multinomial(WorkContext& context) {
  const Count levels(static_cast<int64_t>(
      std::bit_width(static_cast<uint64_t>(context.input(0).shape[1].extent()))));
  context.add_flops(context.input(0).shape.elements() +
                    context.output(0).shape.elements() * levels);
}

// n elements through a sort or heap: log2(n) comparisons each.
void work_sort(WorkContext& context) {
  const Count elements = context.input(0).shape.elements();
  int64_t levels = 1;
  for (int64_t n = elements.value(); n > 2; n /= 2) {
    ++levels;
  }
  context.add_flops(elements * Count(levels));
}

// clang-format off
constexpr OpDef kSelectionOps[] = {
    {.op_type = "TopK", .op_class = OpClass::kSort, .infer = infer_top_k, .work = work_sort, .fold = fold_top_k,
     .factors = factors_top_k},
    {.op_type = "NonZero", .op_class = OpClass::kSort, .infer = infer_non_zero,
     .work = work_per_element, .fold = fold_non_zero, .flops_per_element = 1},
    {.op_type = "Multinomial", .op_class = OpClass::kSort, .infer = infer_multinomial,
     .work = work_multinomial},
    {.op_type = "Compress", .op_class = OpClass::kGather, .infer = infer_compress,
     .work = work_copy, .fold = fold_compress, .required_inputs = 2},
    {.op_type = "Unique", .op_class = OpClass::kSort, .infer = infer_unique, .work = work_sort, .fold = fold_unique},
    {.op_type = "NonMaxSuppression", .op_class = OpClass::kSort, .infer = infer_non_max_suppression,
     .work = work_sort, .fold = fold_non_max_suppression, .required_inputs = 2},
};
// clang-format on

constexpr WorkNote kSelectionNotes[] = {
    {work_multinomial, "1 per input element, log2(classes) per sample"},
    {work_sort, "elements x log2(elements)"},
};

}  // namespace

OpFamily selection_op_defs() { return {kSelectionOps, kSelectionNotes}; }

}  // namespace dfsim::inline graphs
