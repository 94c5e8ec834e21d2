// Convolutions: Conv, ConvTranspose, ConvInteger, QLinearConv.
#include <fmt/format.h>

#include <numeric>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/families/nn/fold_nn.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {

namespace {

// ONNX Runtime saves weights in blocks with channels that fill the last block; the image that a
// ReorderInput puts into blocks has as many as the model. Blocks have at most 16 channels.
bool has_channels(const InferContext& context, int64_t has, Count wanted) {
  constexpr int64_t kLargestBlock = 16;
  const bool blocked = context.op().domain == kMicrosoftBlocked;
  return Count(has) == wanted || (blocked && !wanted.overflowed() && has < wanted.value() &&
                                  wanted.value() - has < kLargestBlock);
}

}  // namespace

StatusOr<Shape> conv_shape(const InferContext& context, const Shape& x, const Shape& w) {
  if (!x.has_rank() || !w.has_rank()) {
    return Shape();
  }
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return context.error(fmt::format(
        "input {} and weight {}: expected the same rank of 3 or more (batch, channels, space...)",
        format_shape(x), format_shape(w)));
  }
  const int64_t group = context.attributes().int_or("group", 1);
  if (group <= 0) {
    return context.error(fmt::format("group is {}; expected 1 or more", group));
  }
  const Count channels = w[1].known() ? Count(w[1].extent()) * Count(group) : Count();
  if (x[1].known() && w[1].known() && !has_channels(context, x[1].extent(), channels)) {
    return context.error(
        fmt::format("input {} has {} channels, weight {} with {} groups expects {}",
                    format_shape(x), x[1].extent(), format_shape(w), group, channels.value()));
  }
  DFSIM_ASSIGN_OR_RETURN(const Window window, Window::from_conv(context, x.rank() - 2, w));
  Dims dims = {x[0], w[0]};
  DFSIM_RETURN_IF_ERROR(window.append_output(context, x, /*ceil=*/false, &dims));
  return Shape(std::move(dims));
}

Status infer_conv_like(InferContext& context, size_t weight_input, DType dtype) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape,
                         conv_shape(context, context.shape(0), context.shape(weight_input)));
  context.set_output(0, dtype, std::move(shape));
  return ok_status();
}

// Each output element takes C_in/group * prod(kernel) multiply-adds: prod(W.shape[1:]).
void conv_macs(WorkContext& context, size_t weight_input) {
  Count macs = context.output(0).shape.elements();
  const Shape& w = context.input(weight_input).shape;
  for (int i = 1; i < w.rank(); ++i) {
    macs *= Count(w[i].extent());
  }
  context.add_macs(macs);
  context.set_matrix();
}

void add_bias(WorkContext& context, size_t bias_input) {
  if (context.has_input(bias_input)) {
    context.add_flops(context.output(0).shape.elements());
  }
}

namespace {

Status infer_conv(InferContext& context) { return infer_conv_like(context, 1, context.dtype(0)); }

Status infer_conv_integer(InferContext& context) {
  return infer_conv_like(context, 1, DType::kInt32);
}

Status infer_qlinear_conv(InferContext& context) {
  // x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias; an engine's
  // also has an image that it adds, and its scale and zero point
  return infer_conv_like(context, 3, context.dtype(7));
}

Status infer_conv_transpose(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  if (!x.has_rank() || !w.has_rank()) {
    return ok_status();
  }
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return context.error(fmt::format(
        "input {} and weight {}: expected the same rank of 3 or more (batch, channels, space...)",
        format_shape(x), format_shape(w)));
  }
  const int spatial = x.rank() - 2;
  const int64_t group = context.attributes().int_or("group", 1);
  if (group <= 0) {
    return context.error(fmt::format("group is {}; expected 1 or more", group));
  }
  DFSIM_ASSIGN_OR_RETURN(const Window window, Window::from_conv(context, spatial, w));
  const Count channels = w[1].known() ? Count(w[1].extent()) * Count(group) : Count();
  Dims dims = {x[0], w[1].known() && !channels.overflowed() ? Dim(channels.value()) : Dim()};
  DFSIM_RETURN_IF_ERROR(window.append_transposed_output(context, x, &dims));
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// x [N, C, L], weight [C, 1, K], bias, past state [N, C, K - 1]: each channel on its own. ONNX
// Runtime's may have [N, L, C], of which it takes `input_channels`.
Status infer_causal_conv(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  context.set_output(0, context.dtype(0), x);
  if (x.rank() != 3 || w.rank() != 3) {
    return !x.has_rank() || !w.has_rank()
               ? ok_status()
               : context.error(fmt::format("input {} and weight {}: expected rank 3 of both",
                                           format_shape(x), format_shape(w)));
  }
  if (w[2].known()) {
    const Dim past(std::max<int64_t>(0, w[2].extent() - 1));
    context.set_output(1, context.dtype(0), Shape({x[0], w[0], past}));
  }
  if (context.attributes().int_or("channels_last", 0) != 0) {
    context.set_output(0, context.dtype(0), Shape({x[0], x[1], w[0]}));
  }
  return ok_status();
}

void work_causal_conv(WorkContext& context) {
  const Count elements = context.output(0).shape.elements();
  context.add_macs(elements * Count(context.input(1).shape[2].extent()));
  add_bias(context, 2);
  const bool activated = context.op().attributes.string_or("activation", "none") != "none";
  context.add_flops(elements, activated ? 5 : 0);
}

void work_conv(WorkContext& context) {
  conv_macs(context, 1);
  add_bias(context, 2);
}

void work_conv_integer(WorkContext& context) {
  conv_macs(context, 1);
  context.set_dtype(DType::kInt8);
}

void work_qlinear_conv(WorkContext& context) {
  conv_macs(context, 3);
  add_bias(context, 8);
  const bool adds_image = context.has_input(kQLinearConvAddend);
  // Requantise: scale and round; what is added is scaled first.
  context.add_flops(context.output(0).shape.elements(), adds_image ? 4 : 2);
  context.set_dtype(DType::kInt8);
}

void work_conv_transpose(WorkContext& context) {
  // Each input element meets every tap of its filters: prod(input) * prod(W.shape[1:]).
  Count macs = context.input(0).shape.elements();
  const Shape& w = context.input(1).shape;
  for (int i = 1; i < w.rank(); ++i) {
    macs *= Count(w[i].extent());
  }
  context.add_macs(macs);
  context.set_matrix();
  add_bias(context, 2);
}

// clang-format off
constexpr OpDef kConvOps[] = {
    {.op_type = "Conv", .op_class = OpClass::kConv, .infer = infer_conv, .work = work_conv,
     .fold = fold_conv, .required_inputs = 2, .factors = factors_conv},
    {.op_type = "CausalConvWithState", .op_class = OpClass::kConv, .infer = infer_causal_conv,
     .work = work_causal_conv, .fold = fold_causal_conv, .required_inputs = 2},
    {.op_type = "CausalConvWithState", .op_class = OpClass::kConv, .infer = infer_causal_conv,
     .work = work_causal_conv, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "ConvTranspose", .op_class = OpClass::kConv, .infer = infer_conv_transpose,
     .work = work_conv_transpose, .fold = fold_conv_transpose, .required_inputs = 2, .factors = factors_conv_transpose},
    {.op_type = "ConvInteger", .op_class = OpClass::kConv, .infer = infer_conv_integer,
     .work = work_conv_integer, .fold = fold_conv_integer, .required_inputs = 2, .factors = factors_conv},
    {.op_type = "QLinearConv", .op_class = OpClass::kConv, .infer = infer_qlinear_conv,
     .work = work_qlinear_conv, .fold = fold_qlinear_conv, .required_inputs = 8, .factors = factors_conv},
};
// clang-format on

constexpr WorkNote kConvNotes[] = {
    {work_causal_conv,
     "MACs = output elements x kernel; 1 per element with a bias, 5 with an activation"},
    {work_conv, "MACs = output elements x C_in/group x kernel; 1 per output element with a bias"},
    {work_conv_integer, "as Conv, on 8-bit integers"},
    {work_qlinear_conv,
     "as Conv on 8-bit integers; 2 per output element to requantise, 4 with a sum"},
    {work_conv_transpose,
     "MACs = input elements x C_out/group x kernel; 1 per output element with a bias"},
};

}  // namespace

OpFamily conv_op_defs() { return {kConvOps, kConvNotes}; }

}  // namespace dfsim::inline graphs
