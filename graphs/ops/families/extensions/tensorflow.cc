// Operators that only TensorFlow has: gradients, optimisers, lists, block reshaping. All else in
// its graphs becomes operators of ONNX (graphs/tensorflow). Images are [N, C, space...] here, too.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

// The shape that an attribute holds.
StatusOr<Shape> shape_attribute(const InferContext& context) {
  const auto* extents = context.attributes().get_ints("shape");
  if (extents == nullptr) {
    return context.error("has no attribute 'shape'");
  }
  for (const int64_t extent : *extents) {
    if (extent < 0 || extent > kMaxExtent) {
      return context.error(fmt::format("attribute 'shape' has the extent {}", extent));
    }
  }
  return Shape::of(*extents);
}

Status infer_tf_predicate(InferContext& context) {
  context.set_output(0, DType::kBool, context.shape(0));
  return ok_status();
}

Status infer_magnitude(InferContext& context) {
  context.set_output(0, context.dtype(0) == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32,
                     context.shape(0));
  return ok_status();
}

// Each step of every window meets one weight: elements of the gradient x C/group x kernel.
void work_filter_gradient(WorkContext& context) {
  Count macs = context.input(1).shape.elements();
  const auto* kernel = context.op().attributes.get_ints("kernel_shape");
  for (size_t i = 0; kernel != nullptr && i < kernel->size(); ++i) {
    macs *= Count((*kernel)[i]);
  }
  const int64_t group = std::max<int64_t>(1, context.op().attributes.int_or("group", 1));
  const Shape& x = context.input(0).shape;
  context.add_macs(macs * Count(x.rank() > 1 ? x[1].extent() / group : 1));
  context.set_matrix();
}

// One operation per tap of each window of the gradient.
void work_pool_gradient(WorkContext& context) {
  Count taps(1);
  const auto* kernel = context.op().attributes.get_ints("kernel_shape");
  for (size_t i = 0; kernel != nullptr && i < kernel->size(); ++i) {
    taps *= Count((*kernel)[i]);
  }
  context.add_flops(context.input(0).shape.elements() * taps);
}

// x's gradient, then those of scale and offset.
Status infer_batch_norm_gradient(InferContext& context) {
  context.set_output(0, context.dtype(0), context.shape(1));
  context.set_output(1, context.dtype(2), context.shape(2));
  context.set_output(2, context.dtype(2), context.shape(2));
  return ok_status();
}

void work_per_input_element(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements(), context.flops_per_element());
}

// Loss per row, gradient of the logits.
Status infer_cross_entropy(InferContext& context) {
  const Shape& logits = context.shape(0);
  if (!logits.has_rank() || logits.rank() < 1) {
    return ok_status();
  }
  context.set_output(0, context.dtype(0),
                     Shape(Dims(logits.dims().begin(), logits.dims().end() - 1)));
  context.set_output(1, context.dtype(0), logits);
  return ok_status();
}

Status infer_in_top_k(InferContext& context) {
  context.set_output(0, DType::kBool, context.shape(1));
  return ok_status();
}

// Parameter, gradient, states: the new parameter and states.
Status infer_tf_update(InferContext& context) {
  for (size_t i = 0; i < context.output_count(); ++i) {
    const size_t input = i == 0 ? 0 : i + 1;
    context.set_output(i, context.dtype(input), context.shape(input));
  }
  return ok_status();
}

void work_tf_update(WorkContext& context) {
  for (size_t i = 0; i < context.op().outputs.size(); ++i) {
    if (context.op().outputs[i].valid()) {
      context.add_flops(context.output(i).shape.elements(), context.flops_per_element());
    }
  }
}

// Only the rows that change are touched.
void work_row_update(WorkContext& context) {
  const Count rows = context.input(2).bytes();
  context.set_input_bytes(0, rows);
  context.set_written_bytes(rows);
  context.add_flops(context.input(2).shape.elements());
}

Status infer_reserve(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, shape_attribute(context));
  context.set_output(0, dtype_from_name(context.attributes().string_or("dtype", "")),
                     std::move(shape));
  return ok_status();
}

Status infer_get_item(InferContext& context) {
  const Shape& list = context.shape(0);
  if (list.has_rank() && list.rank() > 0) {
    context.set_output(0, context.dtype(0),
                       Shape(Dims(list.dims().begin() + 1, list.dims().end())));
  }
  return ok_status();
}

// Batch x product of blocks, spatial extents padded and divided; or back.
Status infer_space_batch(InferContext& context) {
  const Shape& x = context.shape(0);
  const auto* blocks = context.attributes().get_ints("blocks");
  const auto* edges = context.attributes().get_ints("edges");
  if (!x.is_static() || blocks == nullptr || edges == nullptr) {
    return ok_status();
  }
  const bool to_batch = context.op().op_type == "SpaceToBatchND";
  if (static_cast<int>(blocks->size()) >= x.rank() || edges->size() != 2 * blocks->size()) {
    return context.error(fmt::format("{} blocks and {} edges do not fit an input of shape {}",
                                     blocks->size(), edges->size(), format_shape(x)));
  }
  Dims dims = x.dims();
  Count batch(x[0].extent());
  Count product(1);
  for (size_t i = 0; i < blocks->size(); ++i) {
    const int64_t block = (*blocks)[i];
    const Count edge = Count((*edges)[2 * i]) + Count((*edges)[2 * i + 1]);
    const int64_t extent = x[static_cast<int>(i) + 1].extent();
    const Count wanted =
        to_batch ? Count(extent) + edge : Count(extent) * Count(block) + Count(-1) * edge;
    if (block < 1 || block > kMaxExtent || edge.overflowed() || wanted.overflowed() ||
        wanted.value() < 0) {
      return context.error(fmt::format("block {} and edges of {} do not fit an extent of {}", block,
                                       edge.value(), extent));
    }
    product *= Count(block);
    dims[i + 1] = Dim(to_batch ? wanted.value() / block : wanted.value());
  }
  batch *= to_batch ? product : Count(1);
  if (batch.overflowed() || product.overflowed()) {
    return context.error("its batch does not fit in 63 bits");
  }
  dims[0] = Dim(to_batch ? batch.value() : batch.value() / product.value());
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_dynamic_slice(InferContext& context) {
  const auto* sizes = context.attributes().get_ints("sizes");
  if (sizes != nullptr) {
    context.set_output(0, context.dtype(0), Shape::of(*sizes));
    if (context.attributes().int_or("bound", 0) != 0) {
      context.mark_data_dependent(0);
    }
  }
  return ok_status();
}

// Axes in front, the indices' own less the batch, axes behind.
Status infer_batched_gather(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  const int64_t axis = context.attributes().int_or("axis", 0);
  const int64_t batch = context.attributes().int_or("batch_dims", 0);
  if (!x.has_rank() || !indices.has_rank()) {
    return ok_status();
  }
  const int64_t skipped = batch < 0 ? batch + indices.rank() : batch;
  if (axis < 0 || axis >= x.rank() || skipped < 0 || skipped > indices.rank() || skipped > axis) {
    return context.error(
        fmt::format("axis {} and batch_dims {} do not fit an input {} and indices "
                    "{}",
                    axis, batch, format_shape(x), format_shape(indices)));
  }
  Dims dims(x.dims().begin(), x.dims().begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims().begin() + static_cast<std::ptrdiff_t>(skipped),
              indices.dims().end());
  dims.insert(dims.end(), x.dims().begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.dims().end());
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// Indices, scores, how many.
Status infer_suppression(InferContext& context) {
  const Dim most(std::max<int64_t>(0, context.attributes().int_or("most", 0)));
  context.set_output(0, DType::kInt32, Shape({most}));
  context.set_output(1, context.dtype(1), Shape({most}));
  context.set_output(2, DType::kInt32, Shape::scalar());
  context.mark_data_dependent(0);
  context.mark_data_dependent(1);
  return ok_status();
}

// Each box is compared with those that stay: about 20 operations to compute an overlap.
void work_suppression(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements() * context.output(0).shape.elements(), 5);
}

// x [T, B, I], weights [I + H, 4 H]: seven results [T, B, H].
Status infer_block_lstm(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  if (x.rank() != 3 || w.rank() != 2 || !w[1].known()) {
    return ok_status();
  }
  for (size_t i = 0; i < context.output_count(); ++i) {
    context.set_output(i, context.dtype(0), Shape({x[0], x[1], Dim(w[1].extent() / 4)}));
  }
  return ok_status();
}

void work_block_lstm(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const Count steps = Count(x[0].extent()) * Count(x[1].extent());
  context.add_macs(steps * context.input(1).shape.elements());
  context.add_flops(steps * Count(context.input(1).shape[1].extent()), 10);
  context.set_matrix();
}

// clang-format off
constexpr OpDef kTensorflowOps[] = {
    {.op_type = "ConvFilterGrad", .op_class = OpClass::kConv, .infer = infer_given_shape,
     .work = work_filter_gradient, .required_inputs = 2, .domain = kTensorFlow,
     .factors = factors_filter_gradient},
    {.op_type = "MaxPoolGrad", .op_class = OpClass::kPool, .infer = infer_given_shape,
     .work = work_pool_gradient, .domain = kTensorFlow, .factors = factors_pool_gradient},
    {.op_type = "AveragePoolGrad", .op_class = OpClass::kPool, .infer = infer_given_shape,
     .work = work_pool_gradient, .domain = kTensorFlow, .factors = factors_pool_gradient},
    {.op_type = "BatchNormGrad", .op_class = OpClass::kNorm, .infer = infer_batch_norm_gradient,
     .work = work_per_input_element, .flops_per_element = 11, .required_inputs = 5,
     .domain = kTensorFlow},
    {.op_type = "LRNGrad", .op_class = OpClass::kNorm, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 10, .required_inputs = 3,
     .domain = kTensorFlow},
    {.op_type = "ReluGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Relu6Grad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "LeakyReluGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "EluGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SeluGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 4, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SigmoidGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "TanhGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SoftplusGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 4, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SoftsignGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 4, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SqrtGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "RsqrtGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 4, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "ReciprocalGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "ComplexAbs", .op_class = OpClass::kElementwise, .infer = infer_magnitude,
     .work = work_per_element, .flops_per_element = 4, .domain = kTensorFlow},
    {.op_type = "Bitcast", .op_class = OpClass::kView, .infer = infer_same_as_first,
     .work = work_none, .domain = kTensorFlow},
    {.op_type = "Log1p", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .domain = kTensorFlow},
    {.op_type = "Expm1", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .domain = kTensorFlow},
    {.op_type = "Erfc", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .domain = kTensorFlow},
    {.op_type = "Erfinv", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "Lgamma", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "Digamma", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "IsFinite", .op_class = OpClass::kElementwise, .infer = infer_tf_predicate,
     .work = work_per_element, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "DivNoNan", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "MulNoNan", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Xdivy", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Xlogy", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Atan2", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    // scale, round, clip to both ends, scale back
    {.op_type = "FakeQuant", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 5, .domain = kTensorFlow},
    // the operations of log-softmax and of the gradient, per logit
    {.op_type = "SoftmaxCrossEntropyWithLogits", .op_class = OpClass::kSoftmax,
     .infer = infer_cross_entropy, .work = work_per_input_element, .flops_per_element = 9,
     .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SparseSoftmaxCrossEntropyWithLogits", .op_class = OpClass::kSoftmax,
     .infer = infer_cross_entropy, .work = work_per_input_element, .flops_per_element = 8,
     .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "InTopK", .op_class = OpClass::kReduce, .infer = infer_in_top_k,
     .work = work_per_input_element, .flops_per_element = 1, .required_inputs = 2,
     .domain = kTensorFlow},
    {.op_type = "BatchedGather", .op_class = OpClass::kGather, .infer = infer_batched_gather,
     .work = work_copy, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "GradientDescent", .op_class = OpClass::kOptimizer, .infer = infer_tf_update,
     .work = work_tf_update, .flops_per_element = 2, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "AdaMax", .op_class = OpClass::kOptimizer, .infer = infer_tf_update,
     .work = work_tf_update, .flops_per_element = 3, .required_inputs = 4, .domain = kTensorFlow},
    {.op_type = "Adadelta", .op_class = OpClass::kOptimizer, .infer = infer_tf_update,
     .work = work_tf_update, .flops_per_element = 4, .required_inputs = 4, .domain = kTensorFlow},
    {.op_type = "RMSProp", .op_class = OpClass::kOptimizer, .infer = infer_tf_update,
     .work = work_tf_update, .flops_per_element = 3, .required_inputs = 4, .domain = kTensorFlow},
    {.op_type = "CenteredRMSProp", .op_class = OpClass::kOptimizer, .infer = infer_tf_update,
     .work = work_tf_update, .flops_per_element = 3, .required_inputs = 5, .domain = kTensorFlow},
    {.op_type = "Ftrl", .op_class = OpClass::kOptimizer, .infer = infer_tf_update, .work = work_tf_update,
     .flops_per_element = 4, .required_inputs = 4, .domain = kTensorFlow},
    {.op_type = "RowUpdate", .op_class = OpClass::kOptimizer, .infer = infer_same_as_first,
     .work = work_row_update, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "TensorListReserve", .op_class = OpClass::kView, .infer = infer_reserve,
     .work = work_none, .required_inputs = 0, .domain = kTensorFlow},
    {.op_type = "TensorListGetItem", .op_class = OpClass::kView, .infer = infer_get_item,
     .work = work_none, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "TensorListSetItem", .op_class = OpClass::kView, .infer = infer_same_as_first,
     .work = work_none, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "TensorListStack", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "SpaceToBatchND", .op_class = OpClass::kDataMovement, .infer = infer_space_batch,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "BatchToSpaceND", .op_class = OpClass::kDataMovement, .infer = infer_space_batch,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "Roll", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "DynamicSlice", .op_class = OpClass::kDataMovement, .infer = infer_dynamic_slice,
     .work = work_copy, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SliceGrad", .op_class = OpClass::kDataMovement, .infer = infer_given_shape,
     .domain = kTensorFlow, .factors = factors_slice_gradient},
    {.op_type = "ResizeGrad", .op_class = OpClass::kDataMovement, .infer = infer_given_shape,
     .work = work_per_input_element, .flops_per_element = 8, .domain = kTensorFlow,
     .factors = factors_slice_gradient},
    {.op_type = "NonMaxSuppression", .op_class = OpClass::kSort, .infer = infer_suppression,
     .work = work_suppression, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "BlockLSTM", .op_class = OpClass::kRnn, .infer = infer_block_lstm,
     .work = work_block_lstm, .required_inputs = 2, .domain = kTensorFlow},
};
// clang-format on

constexpr WorkNote kTensorflowNotes[] = {
    {work_filter_gradient, "MACs = elements of the gradient x C_in/group x kernel"},
    {work_pool_gradient, "1 per tap of each window"},
    {work_per_input_element, "{} per input element"},
    {work_tf_update, "{} per element of each new value"},
    {work_row_update, "1 per element of the rows that change; nothing else is touched"},
    {work_suppression, "20 per pair of a box and one that stays"},
    {work_block_lstm, "MACs = steps x batch x weights; 10 per gate and unit"},
};

}  // namespace

OpFamily tensorflow_op_defs() { return {kTensorflowOps, kTensorflowNotes}; }

}  // namespace dfsim::inline graphs
