// Operators of ONNX Runtime (com.microsoft) with the channels last: convolutions and pools.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/contrib_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/families/nn/window.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {

Shape channels_behind_batch(const Shape& shape) {
  if (shape.rank() < 3) {
    return shape;
  }
  Dims dims = shape.dims();
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return Shape(std::move(dims));
}

Shape channels_last(const Shape& shape) {
  if (shape.rank() < 3) {
    return shape;
  }
  Dims dims = shape.dims();
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return Shape(std::move(dims));
}

StatusOr<Shape> pooled_shape(const InferContext& context, bool last) {
  const Shape& given = context.shape(0);
  if (!given.has_rank()) {
    return Shape();
  }
  if (given.rank() < 3) {
    return context.error(
        fmt::format("input {}: expected batch, channels and space", format_shape(given)));
  }
  const Shape x = last ? channels_behind_batch(given) : given;
  DFSIM_ASSIGN_OR_RETURN(const Window window, Window::from_pool(context, x.rank() - 2));
  Dims dims = {x[0], x[1]};
  const bool ceil = context.attributes().int_or("ceil_mode", 0) != 0;
  DFSIM_RETURN_IF_ERROR(window.append_output(context, x, ceil, &dims));
  const Shape shape(std::move(dims));
  return last ? channels_last(shape) : shape;
}

void work_pool_taps(WorkContext& context) {
  const auto* kernel = context.op().attributes.get_ints("kernel_shape");
  Count taps(1);
  for (const int64_t extent : kernel != nullptr ? *kernel : std::vector<int64_t>()) {
    taps *= Count(extent);
  }
  context.add_flops(context.first_output().shape.elements() * taps);
}

namespace {

// x [N, space..., C], weight [M, C/group, kernel...] as in Conv.
Status infer_nhwc_conv(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(
      const Shape shape,
      conv_shape(context, channels_behind_batch(context.shape(0)), context.shape(1)));
  context.set_output(0, context.dtype(0), channels_last(shape));
  return ok_status();
}

void work_nhwc_conv(WorkContext& context) {
  conv_macs(context, 1);
  add_bias(context, 2);
}

void work_nhwc_fused_conv(WorkContext& context) {
  work_nhwc_conv(context);
  add_bias(context, 3);  // the sum with a skip connection
  context.add_flops(context.output(0).shape.elements());
}

Status infer_nhwc_pool(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(const Shape shape, pooled_shape(context, /*last=*/true));
  context.set_output(0, context.dtype(0), shape);
  return ok_status();
}

// The blocked side has the channels behind the batch, whatever the other one has.
Status infer_reorder_input(InferContext& context) {
  const bool last = context.attributes().int_or("channels_last", 0) != 0;
  const Shape& x = context.shape(0);
  context.set_output(0, context.dtype(0), last && x.has_rank() ? channels_behind_batch(x) : x);
  return ok_status();
}

// `channels`: how many there are without those that fill the last block.
Status infer_reorder_output(InferContext& context) {
  Shape y = context.shape(0);
  const int64_t channels = context.attributes().int_or("channels", 0);
  if (y.has_rank() && y.rank() > 1 && channels > 0) {
    Dims dims = y.dims();
    dims[1] = Dim(channels);
    y = Shape(std::move(dims));
  }
  const bool last = context.attributes().int_or("channels_last", 0) != 0;
  context.set_output(0, context.dtype(0), last && y.has_rank() ? channels_last(y) : y);
  return ok_status();
}

// clang-format off
constexpr OpDef kContribLayoutOps[] = {
    {.op_type = "ReorderInput", .op_class = OpClass::kDataMovement, .infer = infer_reorder_input,
     .work = work_copy, .domain = kMicrosoftBlocked, .factors = factors_batch},
    {.op_type = "ReorderOutput", .op_class = OpClass::kDataMovement, .infer = infer_reorder_output,
     .work = work_copy, .domain = kMicrosoftBlocked, .factors = factors_batch},
    {.op_type = "NhwcConv", .op_class = OpClass::kConv, .infer = infer_nhwc_conv,
     .work = work_nhwc_conv, .required_inputs = 2, .domain = kMicrosoft, .factors = factors_conv},
    {.op_type = "NhwcFusedConv", .op_class = OpClass::kConv, .infer = infer_nhwc_conv,
     .work = work_nhwc_fused_conv, .required_inputs = 2, .domain = kMicrosoft, .factors = factors_conv},
    {.op_type = "NhwcMaxPool", .op_class = OpClass::kPool, .infer = infer_nhwc_pool,
     .work = work_pool_taps, .domain = kMicrosoft, .factors = factors_pool},
};
// clang-format on

constexpr WorkNote kContribLayoutNotes[] = {
    {work_nhwc_conv,
     "MACs = output elements x C_in/group x kernel; 1 per output element with a bias"},
    {work_nhwc_fused_conv,
     "as Conv; 1 per output element for the activation, 1 for a sum with a skip connection"},
    {work_pool_taps, "1 per tap of each window"},
};

}  // namespace

OpFamily contrib_layout_op_defs() { return {kContribLayoutOps, kContribLayoutNotes}; }

}  // namespace dfsim::inline graphs
