#include "graphs/ops/runtime_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/rules.h"
#include "graphs/ops/window.h"

namespace dfsim {
namespace {

// x [..., K] times a weight [K, N], plus a bias [N].
Status infer_linear(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, context.shape(0), context.shape(1)));
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

void work_linear(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  context.add_macs(context.output(0).shape.elements() * Count(x[x.rank() - 1].extent()));
  add_bias(context, 2);
  context.set_matrix();
}

// Rows by all axes of x but the last, columns of the weight; the bias is added once.
void factors_linear(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int k = context.add("k", context.in_extent(0, rank - 1), Reduction::kSum);
  context.carry_in(0, rank - 1, k);
  context.carry_in(1, 0, k);
  for (int axis = 0; axis + 1 < rank; ++axis) {
    const int rows = context.add(fmt::format("rows{}", axis), context.in_extent(0, axis));
    context.carry_in(0, axis, rows);
    context.carry_out(0, axis, rows);
  }
  const int n = context.add("n", context.in_extent(1, 1));
  context.carry_in(1, 1, n);
  context.carry_out(0, rank - 1, n);
  if (context.has_input(2)) {
    context.carry_in(2, 0, n);
    context.map().addends.push_back(2);
  }
}

// Whoever fuses operators knows their shapes.
Status infer_nothing(InferContext& /*context*/) { return ok_status(); }

void work_compiled(WorkContext& context) {
  context.add_flops(Count(std::max<int64_t>(0, context.op().attributes.int_or("flops", 0))));
}

// ---- Operators on 8 bits of ONNX Runtime, whose channels come last where the attribute says so.

bool channels_last(const Attributes& attributes) {
  return attributes.int_or("channels_last", 0) != 0;
}

// [N, space..., C] as [N, C, space...].
Shape channels_second(const Shape& shape) {
  Dims dims = shape.dims();
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return Shape(std::move(dims));
}

// Extents of a window's result on input 0, `channels` of them; unknown rank when the input's is.
StatusOr<Shape> window_shape(const InferContext& context, const Window& window, bool last,
                             Dim channels) {
  const Shape& x = context.shape(0);
  Dims dims = {x[0], channels};
  const bool ceil = context.attributes().int_or("ceil_mode", 0) != 0;
  DFSIM_RETURN_IF_ERROR(window.append_output(context, last ? channels_second(x) : x, ceil, &dims));
  if (last) {
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  }
  return Shape(std::move(dims));
}

// x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias
Status infer_q_conv(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(3);
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const Window window, Window::from_conv(context, x.rank() - 2, w));
  DFSIM_ASSIGN_OR_RETURN(Shape shape,
                         window_shape(context, window, channels_last(context.attributes()), w[0]));
  context.set_output(0, context.dtype(7), std::move(shape));
  return ok_status();
}

void work_q_conv(WorkContext& context) {
  conv_macs(context, 3);
  add_bias(context, 8);
  context.add_flops(context.output(0).shape.elements(), 2);  // requantise: scale and round
  context.set_dtype(DType::kInt8);
}

Status infer_q_pool(InferContext& context) {
  const Shape& x = context.shape(0);
  if (x.rank() < 3) {
    return ok_status();
  }
  const bool last = context.op().op_type == "NhwcMaxPool" || channels_last(context.attributes());
  DFSIM_ASSIGN_OR_RETURN(const Window window, Window::from_pool(context, x.rank() - 2));
  DFSIM_ASSIGN_OR_RETURN(Shape shape,
                         window_shape(context, window, last, last ? x[x.rank() - 1] : x[1]));
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

void work_q_pool(WorkContext& context) {
  Count taps(1);
  for (const int64_t extent : *context.op().attributes.get_ints("kernel_shape")) {
    taps *= Count(extent);
  }
  context.add_flops(context.output(0).shape.elements() * taps);
}

constexpr OpDef kOps[] = {
    {"QLinearConv", OpClass::kConv, infer_q_conv, work_q_conv, nullptr, 0, 8, kMicrosoft},
    {"NhwcMaxPool", OpClass::kPool, infer_q_pool, work_q_pool, nullptr, 0, 1, kMicrosoft},
    {"QLinearAveragePool", OpClass::kPool, infer_q_pool, work_q_pool, nullptr, 0, 5, kMicrosoft},
    {"linear", OpClass::kMatMul, infer_linear, work_linear, nullptr, 0, 2, kAten, factors_linear},
    {"rsqrt", OpClass::kElementwise, infer_same_as_first, work_per_element, nullptr, 2, 1, kAten},
    {"pointwise", OpClass::kElementwise, infer_nothing, work_compiled, nullptr, 0, 1, kCompiled},
    {"reduction", OpClass::kReduce, infer_nothing, work_compiled, nullptr, 0, 1, kCompiled},
    {"norm", OpClass::kNorm, infer_nothing, work_compiled, nullptr, 0, 1, kCompiled},
    {"softmax", OpClass::kSoftmax, infer_nothing, work_compiled, nullptr, 0, 1, kCompiled},
};

constexpr WorkNote kNotes[] = {
    {work_linear, "MACs = output elements x contracted length; 1 per output element for a bias"},
    {work_q_conv, "as Conv on 8-bit integers; 2 per output element to requantise"},
    {work_q_pool, "1 per tap of each window"},
    {work_compiled, "what the operators in it count; reads and writes what none of them makes"},
};

}  // namespace

OpFamily runtime_op_defs() { return {kOps, kNotes}; }

}  // namespace dfsim
