// Quantised operators of ONNX Runtime (com.microsoft): operands come with scale and zero point.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/contrib_ops.h"
#include "graphs/ops/families/nn/window.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

Status infer_q_binary(InferContext& context) {
  std::string conflict;
  Shape shape = broadcast_shapes(context.shape(0), context.shape(3), &conflict);
  if (!conflict.empty()) {
    return context.error(conflict);
  }
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

// condition, x, x_scale, x_zero_point, y, y_scale, y_zero_point, z_scale, z_zero_point
Status infer_q_where(InferContext& context) {
  std::string conflict;
  Shape shape = broadcast_shapes(context.shape(0), context.shape(1), &conflict);
  shape = broadcast_shapes(shape, context.shape(4), &conflict);
  if (!conflict.empty()) {
    return context.error(conflict);
  }
  context.set_output(0, context.dtype(1), std::move(shape));
  return ok_status();
}

// y_scale, y_zero_point, then three inputs per operand.
Status infer_q_concat(InferContext& context) {
  const Shape& first = context.shape(2);
  if (!first.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", 0), first.rank()));
  Count total;
  for (size_t i = 2; i < context.input_count(); i += 3) {
    const Shape& shape = context.shape(i);
    if (shape.rank() != first.rank() || !shape[axis].known()) {
      return ok_status();
    }
    total += Count(shape[axis].extent());
  }
  Dims dims = first.dims();
  dims[static_cast<size_t>(axis)] = Dim(total.value());
  context.set_output(0, context.dtype(2), Shape(std::move(dims)));
  return ok_status();
}

// x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias; the channels may
// be last, the weight's layout stays.
Status infer_q_conv(InferContext& context) {
  const bool last = context.attributes().int_or("channels_last", 0) != 0;
  const Shape x = last ? channels_behind_batch(context.shape(0)) : context.shape(0);
  DFSIM_ASSIGN_OR_RETURN(const Shape shape, conv_shape(context, x, context.shape(3)));
  context.set_output(0, context.has_input(7) ? context.dtype(7) : context.dtype(0),
                     last ? channels_last(shape) : shape);
  return ok_status();
}

void work_q_conv(WorkContext& context) {
  conv_macs(context, 3);
  add_bias(context, 8);
  context.add_flops(context.output(0).shape.elements(), 2);  // requantise: scale and round
  context.set_dtype(DType::kInt8);
}

Status infer_q_pool(InferContext& context) {
  const bool last = context.attributes().int_or("channels_last", 0) != 0;
  DFSIM_ASSIGN_OR_RETURN(const Shape shape, pooled_shape(context, last));
  context.set_output(0, context.dtype(0), shape);
  return ok_status();
}

// data, data_scale, data_zero_point, reduced_scale, reduced_zero_point
Status infer_q_reduce(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  const auto* axes = context.attributes().get_ints("axes");
  const bool keep_dims = context.attributes().int_or("keepdims", 1) != 0;
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), axes == nullptr || axes->empty());
  for (const int64_t given : axes != nullptr ? *axes : std::vector<int64_t>()) {
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
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_reduce_integer(InferContext& context) {
  DFSIM_RETURN_IF_ERROR(infer_q_reduce(context));
  const DType sum = context.dtype(0) == DType::kUInt8 ? DType::kUInt32 : DType::kInt32;
  context.set_output(0, sum, context.output_shape(0));
  return ok_status();
}

// x [steps, B, I], weights [directions, I, 4 H] and [directions, H, 4 H]: y, last state, last cell.
Status infer_q_lstm(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& r = context.shape(2);
  if (x.rank() != 3 || r.rank() != 3) {
    return ok_status();
  }
  const Shape state({r[0], x[1], r[1]});
  context.set_output(0, context.dtype(0), Shape({x[0], r[0], x[1], r[1]}));
  context.set_output(1, context.dtype(0), state);
  context.set_output(2, context.dtype(0), state);
  return ok_status();
}

// As LSTM: 4 gates of products with the input and the state, 10 operations per gate and unit.
void work_q_lstm(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const Shape& r = context.input(2).shape;
  if (x.rank() != 3 || r.rank() != 3) {
    return;
  }
  const Count steps = Count(x[0].extent()) * Count(x[1].extent()) * Count(r[0].extent());
  const Count gates = steps * Count(r[2].extent());
  context.add_macs(gates * (Count(x[2].extent()) + Count(r[1].extent())));
  context.add_flops(gates, 10);
  context.set_matrix();
  context.set_dtype(DType::kInt8);
}

Status infer_q_global_pool(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank() || x.rank() < 3) {
    return ok_status();
  }
  const bool last = context.attributes().int_or("channels_last", 0) != 0;
  Dims dims(static_cast<size_t>(x.rank()), Dim(1));
  dims[0] = x[0];
  dims[last ? dims.size() - 1 : 1] = x[last ? x.rank() - 1 : 1];
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

void work_q_input(WorkContext& context) { context.add_flops(context.input(0).shape.elements()); }

constexpr std::string_view kMsDomain = kMicrosoft;

// clang-format off
constexpr OpDef kContribQuantizeOps[] = {
    {.op_type = "QLinearAdd", .op_class = OpClass::kElementwise, .infer = infer_q_binary,
     .work = work_per_element, .flops_per_element = 6, .required_inputs = 7, .domain = kMsDomain},
    {.op_type = "QLinearMul", .op_class = OpClass::kElementwise, .infer = infer_q_binary,
     .work = work_per_element, .flops_per_element = 6, .required_inputs = 7, .domain = kMsDomain},
    {.op_type = "QLinearWhere", .op_class = OpClass::kElementwise, .infer = infer_q_where,
     .work = work_per_element, .flops_per_element = 4, .required_inputs = 8, .domain = kMsDomain},
    {.op_type = "QLinearSigmoid", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 8, .required_inputs = 2, .domain = kMsDomain},
    {.op_type = "QLinearLeakyRelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 6, .required_inputs = 2, .domain = kMsDomain},
    {.op_type = "QLinearSoftmax", .op_class = OpClass::kSoftmax, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 9, .required_inputs = 2, .domain = kMsDomain, .factors = factors_softmax},
    {.op_type = "QLinearConcat", .op_class = OpClass::kDataMovement, .infer = infer_q_concat,
     .work = work_per_element, .flops_per_element = 4, .required_inputs = 3, .domain = kMsDomain, .factors = factors_concat},
    {.op_type = "QLinearGlobalAveragePool", .op_class = OpClass::kPool,
     .infer = infer_q_global_pool, .work = work_q_input, .required_inputs = 5, .domain = kMsDomain, .factors = factors_global_pool},
    {.op_type = "QLinearConv", .op_class = OpClass::kConv, .infer = infer_q_conv,
     .work = work_q_conv, .required_inputs = 8, .domain = kMsDomain, .factors = factors_conv},
    {.op_type = "QLinearAveragePool", .op_class = OpClass::kPool, .infer = infer_q_pool,
     .work = work_pool_taps, .required_inputs = 5, .domain = kMsDomain, .factors = factors_pool},
    {.op_type = "QLinearReduceMean", .op_class = OpClass::kReduce, .infer = infer_q_reduce,
     .work = work_q_input, .required_inputs = 4, .domain = kMsDomain, .factors = factors_reduce},
    {.op_type = "ReduceSumInteger", .op_class = OpClass::kReduce, .infer = infer_reduce_integer,
     .work = work_q_input, .domain = kMsDomain},
    {.op_type = "DynamicQuantizeLSTM", .op_class = OpClass::kRnn, .infer = infer_q_lstm,
     .work = work_q_lstm, .required_inputs = 3, .domain = kMsDomain},
};
// clang-format on

constexpr WorkNote kContribQuantizeNotes[] = {
    {work_q_conv, "as Conv on 8-bit integers; 2 per output element to requantise"},
    {work_q_input, "1 per input element"},
    {work_q_lstm,
     "MACs = steps x batch x directions x gates*hidden x (input + hidden); 10 per gate and unit"},
};

}  // namespace

OpFamily contrib_quantize_op_defs() { return {kContribQuantizeOps, kContribQuantizeNotes}; }

}  // namespace dfsim::inline graphs
