// Reductions over axes: sums, means, extrema, norms, argmin and argmax, cumulative sums.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

StatusOr<Shape> reduced_shape(const InferContext& context, const Shape& x,
                              const std::vector<int64_t>& axes, bool keep_dims) {
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), axes.empty());
  for (const int64_t given : axes) {
    DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(given, x.rank()));
    reduced[static_cast<size_t>(axis)] = true;
  }
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      dims.push_back(x[i]);
    } else if (keep_dims) {
      dims.emplace_back(1);
    }
  }
  return Shape(std::move(dims));
}

Status infer_reduce(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  bool absent = false;
  const auto axes = context.ints_from("axes", 1, &absent);
  const bool keep_dims = context.attributes().int_or("keepdims", 1) != 0;
  if (!axes && !absent) {
    // Which axes is not known: with kept dimensions at least the rank is.
    if (keep_dims) {
      context.set_output(0, context.dtype(0), Shape(Dims(static_cast<size_t>(x.rank()))));
    }
    return ok_status();
  }
  const std::vector<int64_t> list = axes.value_or(std::vector<int64_t>{});
  if (list.empty() && context.attributes().int_or("noop_with_empty_axes", 0) != 0) {
    return infer_same_as_first(context);
  }
  DFSIM_ASSIGN_OR_RETURN(Shape shape, reduced_shape(context, x, list, keep_dims));
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

Status infer_arg_reduce(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  const bool keep_dims = context.attributes().int_or("keepdims", 1) != 0;
  DFSIM_ASSIGN_OR_RETURN(
      Shape shape, reduced_shape(context, x, {context.attributes().int_or("axis", 0)}, keep_dims));
  context.set_output(0, DType::kInt64, std::move(shape));
  return ok_status();
}

// Counted per element that is read, not per element that comes out.
void work_reduce(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements(), context.flops_per_element());
}

// clang-format off
constexpr OpDef kReduceOps[] = {
    {.op_type = "ReduceSum", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_sum, .flops_per_element = 1,
     .factors = factors_reduce},
    {.op_type = "ReduceMean", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_mean, .flops_per_element = 1, .factors = factors_reduce},
    {.op_type = "ReduceMax", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_max, .flops_per_element = 1,
     .factors = factors_reduce},
    {.op_type = "ReduceMin", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_min, .flops_per_element = 1,
     .factors = factors_reduce},
    {.op_type = "ReduceProd", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_prod, .flops_per_element = 1,
     .factors = factors_reduce},
    {.op_type = "ReduceL1", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_l1, .flops_per_element = 2, .factors = factors_reduce},
    {.op_type = "ReduceL2", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_l2, .flops_per_element = 2, .factors = factors_reduce},
    {.op_type = "ReduceSumSquare", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_sum_square, .flops_per_element = 2, .factors = factors_reduce},
    {.op_type = "ReduceLogSum", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_log_sum, .flops_per_element = 1, .factors = factors_reduce},
    {.op_type = "ReduceLogSumExp", .op_class = OpClass::kReduce, .infer = infer_reduce,
     .work = work_reduce, .fold = fold_reduce_log_sum_exp, .flops_per_element = 2, .factors = factors_reduce},
    {.op_type = "ArgMax", .op_class = OpClass::kReduce, .infer = infer_arg_reduce,
     .work = work_reduce, .fold = fold_arg_reduce, .flops_per_element = 1, .factors = factors_arg_reduce},
    {.op_type = "ArgMin", .op_class = OpClass::kReduce, .infer = infer_arg_reduce,
     .work = work_reduce, .fold = fold_arg_reduce, .flops_per_element = 1, .factors = factors_arg_reduce},
    {.op_type = "CumProd", .op_class = OpClass::kReduce, .infer = infer_same_as_first,
     .work = work_reduce, .fold = fold_cumulative, .flops_per_element = 1, .required_inputs = 2, .factors = factors_cumsum},
    {.op_type = "CumSum", .op_class = OpClass::kReduce, .infer = infer_same_as_first,
     .work = work_reduce, .fold = fold_cumulative, .flops_per_element = 1, .required_inputs = 2,
     .factors = factors_cumsum},
};
// clang-format on

constexpr WorkNote kReduceNotes[] = {
    {work_reduce, "{} per input element"},
};

}  // namespace

OpFamily reduce_op_defs() { return {kReduceOps, kReduceNotes}; }

}  // namespace dfsim::inline graphs
