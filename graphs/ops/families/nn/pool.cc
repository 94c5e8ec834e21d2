// Pooling: windows and global.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/families/nn/fold_nn.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

Status check_rank(const InferContext& context, const Shape& x) {
  if (x.rank() < 3) {
    return context.error(
        fmt::format("input {}: expected batch, channels and space", format_shape(x)));
  }
  return ok_status();
}

Status infer_pool(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  DFSIM_RETURN_IF_ERROR(check_rank(context, x));
  DFSIM_ASSIGN_OR_RETURN(const Window window, Window::from_pool(context, x.rank() - 2));
  Dims dims = {x[0], x[1]};
  const bool ceil = context.attributes().int_or("ceil_mode", 0) != 0;
  DFSIM_RETURN_IF_ERROR(window.append_output(context, x, ceil, &dims));
  context.set_output(0, context.dtype(0), Shape(dims));
  context.set_output(1, DType::kInt64, Shape(dims));  // MaxPool's indices
  return ok_status();
}

Status infer_global_pool(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  DFSIM_RETURN_IF_ERROR(check_rank(context, x));
  Dims dims(static_cast<size_t>(x.rank()), Dim(1));
  dims[0] = x[0];
  dims[1] = x[1];
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// One operation per tap of each window.
void work_pool(WorkContext& context) {
  Count taps(1);
  for (const int64_t extent : *context.op().attributes.get_ints("kernel_shape")) {
    taps *= Count(extent);
  }
  context.add_flops(context.first_output().shape.elements() * taps);
}

void work_global_pool(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements());
}

// clang-format off
constexpr OpDef kPoolOps[] = {
    {.op_type = "MaxPool", .op_class = OpClass::kPool, .infer = infer_pool, .work = work_pool,
     .fold = fold_max_pool, .factors = factors_pool},
    {.op_type = "AveragePool", .op_class = OpClass::kPool, .infer = infer_pool, .work = work_pool,
     .fold = fold_average_pool, .factors = factors_pool},
    {.op_type = "LpPool", .op_class = OpClass::kPool, .infer = infer_pool, .work = work_pool,
     .fold = fold_lp_pool, .factors = factors_pool},
    {.op_type = "GlobalAveragePool", .op_class = OpClass::kPool, .infer = infer_global_pool,
     .work = work_global_pool, .fold = fold_global_pool, .factors = factors_global_pool},
    {.op_type = "GlobalMaxPool", .op_class = OpClass::kPool, .infer = infer_global_pool,
     .work = work_global_pool, .fold = fold_global_pool, .factors = factors_global_pool},
    {.op_type = "GlobalLpPool", .op_class = OpClass::kPool, .infer = infer_global_pool,
     .work = work_global_pool, .factors = factors_global_pool},
    {.op_type = "MaxPool", .op_class = OpClass::kPool, .infer = infer_pool, .work = work_pool,
     .domain = kMicrosoftBlocked, .factors = factors_pool},
    {.op_type = "AveragePool", .op_class = OpClass::kPool, .infer = infer_pool, .work = work_pool,
     .domain = kMicrosoftBlocked, .factors = factors_pool},
    {.op_type = "GlobalAveragePool", .op_class = OpClass::kPool, .infer = infer_global_pool,
     .work = work_global_pool, .domain = kMicrosoftBlocked, .factors = factors_global_pool},
    {.op_type = "GlobalMaxPool", .op_class = OpClass::kPool, .infer = infer_global_pool,
     .work = work_global_pool, .domain = kMicrosoftBlocked, .factors = factors_global_pool},
};
// clang-format on

constexpr WorkNote kPoolNotes[] = {
    {work_pool, "1 per tap of each window"},
    {work_global_pool, "1 per input element"},
};

}  // namespace

OpFamily pool_op_defs() { return {kPoolOps, kPoolNotes}; }

}  // namespace dfsim::inline graphs
