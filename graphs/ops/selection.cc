// Selection: operators that sort or pick, some with outputs whose extents depend on the data. Those
// take the largest extent they can have, and the tensor is marked data_dependent.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/op_def.h"

namespace dfsim {
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

// n elements through a sort or heap: log2(n) comparisons each.
void work_sort(WorkContext& context) {
  const Count elements = context.input(0).shape.elements();
  int64_t levels = 1;
  for (int64_t n = elements.value(); n > 2; n /= 2) {
    ++levels;
  }
  context.add_flops(elements * Count(levels));
}

constexpr OpDef kOps[] = {
    {"TopK", OpClass::kSort, infer_top_k, work_sort},
    {"NonZero", OpClass::kSort, infer_non_zero, work_per_element, nullptr, 1},
    {"NonMaxSuppression", OpClass::kSort, infer_non_max_suppression, work_sort, nullptr, 0, 2},
};

}  // namespace

std::span<const OpDef> selection_op_defs() { return kOps; }

}  // namespace dfsim
