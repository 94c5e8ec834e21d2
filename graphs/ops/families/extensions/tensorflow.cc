// Operators that only TensorFlow has: gradients, optimisers, lists, block reshaping. All else in
// its graphs becomes operators of ONNX (graphs/tensorflow). Images are [N, C, space...] here, too.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/op_def.h"

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

Status infer_from_attribute(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, shape_attribute(context));
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

Status infer_predicate(InferContext& context) {
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
  context.add_flops(context.input(0).shape.elements(), context.def().flops_per_element);
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
Status infer_update(InferContext& context) {
  for (size_t i = 0; i < context.output_count(); ++i) {
    const size_t input = i == 0 ? 0 : i + 1;
    context.set_output(i, context.dtype(input), context.shape(input));
  }
  return ok_status();
}

void work_update(WorkContext& context) {
  for (size_t i = 0; i < context.op().outputs.size(); ++i) {
    if (context.op().outputs[i].valid()) {
      context.add_flops(context.output(i).shape.elements(), context.def().flops_per_element);
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

// One row per segment.
Status infer_segments(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& ids = context.shape(1);
  if (!x.has_rank() || !ids.has_rank()) {
    return ok_status();
  }
  if (ids.rank() > x.rank()) {
    return context.error(
        fmt::format("segment ids {} do not fit data {}", format_shape(ids), format_shape(x)));
  }
  Dims dims(x.dims().begin() + ids.rank(), x.dims().end());
  dims.insert(dims.begin(), Dim(context.attributes().int_or("segments", 0)));
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

constexpr OpClass kE = OpClass::kElementwise;
constexpr OpClass kM = OpClass::kDataMovement;
constexpr OpClass kV = OpClass::kView;
constexpr OpClass kU = OpClass::kOptimizer;

constexpr OpDef kOps[] = {
    {"ConvFilterGrad", OpClass::kConv, infer_from_attribute, work_filter_gradient, nullptr, 0, 2,
     kTensorFlow, factors_filter_gradient},
    {"MaxPoolGrad", OpClass::kPool, infer_from_attribute, work_pool_gradient, nullptr, 0, 1,
     kTensorFlow, factors_pool_gradient},
    {"AveragePoolGrad", OpClass::kPool, infer_from_attribute, work_pool_gradient, nullptr, 0, 1,
     kTensorFlow, factors_pool_gradient},
    {"BatchNormGrad", OpClass::kNorm, infer_batch_norm_gradient, work_per_input_element, nullptr,
     11, 5, kTensorFlow},
    {"LRNGrad", OpClass::kNorm, infer_same_as_first, work_per_element, nullptr, 10, 3, kTensorFlow},
    {"ReluGrad", kE, infer_same_as_first, work_per_element, nullptr, 1, 2, kTensorFlow},
    {"Relu6Grad", kE, infer_same_as_first, work_per_element, nullptr, 2, 2, kTensorFlow},
    {"LeakyReluGrad", kE, infer_same_as_first, work_per_element, nullptr, 2, 2, kTensorFlow},
    {"EluGrad", kE, infer_same_as_first, work_per_element, nullptr, 3, 2, kTensorFlow},
    {"SeluGrad", kE, infer_same_as_first, work_per_element, nullptr, 4, 2, kTensorFlow},
    {"SigmoidGrad", kE, infer_same_as_first, work_per_element, nullptr, 3, 2, kTensorFlow},
    {"TanhGrad", kE, infer_same_as_first, work_per_element, nullptr, 3, 2, kTensorFlow},
    {"SoftplusGrad", kE, infer_same_as_first, work_per_element, nullptr, 4, 2, kTensorFlow},
    {"SoftsignGrad", kE, infer_same_as_first, work_per_element, nullptr, 4, 2, kTensorFlow},
    {"SqrtGrad", kE, infer_same_as_first, work_per_element, nullptr, 2, 2, kTensorFlow},
    {"RsqrtGrad", kE, infer_same_as_first, work_per_element, nullptr, 4, 2, kTensorFlow},
    {"ReciprocalGrad", kE, infer_same_as_first, work_per_element, nullptr, 3, 2, kTensorFlow},
    {"ComplexAbs", kE, infer_magnitude, work_per_element, nullptr, 4, 1, kTensorFlow},
    {"Bitcast", kV, infer_same_as_first, work_none, nullptr, 0, 1, kTensorFlow},
    {"Log1p", kE, infer_same_as_first, work_per_element, nullptr, 2, 1, kTensorFlow},
    {"Expm1", kE, infer_same_as_first, work_per_element, nullptr, 2, 1, kTensorFlow},
    {"Erfc", kE, infer_same_as_first, work_per_element, nullptr, 2, 1, kTensorFlow},
    {"Erfinv", kE, infer_same_as_first, work_per_element, nullptr, 1, 1, kTensorFlow},
    {"Lgamma", kE, infer_same_as_first, work_per_element, nullptr, 1, 1, kTensorFlow},
    {"Digamma", kE, infer_same_as_first, work_per_element, nullptr, 1, 1, kTensorFlow},
    {"IsFinite", kE, infer_predicate, work_per_element, nullptr, 1, 1, kTensorFlow},
    {"DivNoNan", kE, infer_broadcast, work_per_element, nullptr, 2, 2, kTensorFlow},
    {"MulNoNan", kE, infer_broadcast, work_per_element, nullptr, 2, 2, kTensorFlow},
    {"Xdivy", kE, infer_broadcast, work_per_element, nullptr, 2, 2, kTensorFlow},
    {"Xlogy", kE, infer_broadcast, work_per_element, nullptr, 3, 2, kTensorFlow},
    {"Atan2", kE, infer_broadcast, work_per_element, nullptr, 1, 2, kTensorFlow},
    // scale, round, clip to both ends, scale back
    {"FakeQuant", kE, infer_same_as_first, work_per_element, nullptr, 5, 1, kTensorFlow},
    // the operations of log-softmax and of the gradient, per logit
    {"SoftmaxCrossEntropyWithLogits", OpClass::kSoftmax, infer_cross_entropy,
     work_per_input_element, nullptr, 9, 2, kTensorFlow},
    {"SparseSoftmaxCrossEntropyWithLogits", OpClass::kSoftmax, infer_cross_entropy,
     work_per_input_element, nullptr, 8, 2, kTensorFlow},
    {"InTopK", OpClass::kReduce, infer_in_top_k, work_per_input_element, nullptr, 1, 2,
     kTensorFlow},
    {"UnsortedSegmentSum", OpClass::kGather, infer_segments, work_per_input_element, nullptr, 1, 2,
     kTensorFlow},
    {"BatchedGather", OpClass::kGather, infer_batched_gather, work_copy, nullptr, 0, 2,
     kTensorFlow},
    {"GradientDescent", kU, infer_update, work_update, nullptr, 2, 2, kTensorFlow},
    {"AdaMax", kU, infer_update, work_update, nullptr, 3, 4, kTensorFlow},
    {"Adadelta", kU, infer_update, work_update, nullptr, 4, 4, kTensorFlow},
    {"RMSProp", kU, infer_update, work_update, nullptr, 3, 4, kTensorFlow},
    {"CenteredRMSProp", kU, infer_update, work_update, nullptr, 3, 5, kTensorFlow},
    {"Ftrl", kU, infer_update, work_update, nullptr, 4, 4, kTensorFlow},
    {"RowUpdate", kU, infer_same_as_first, work_row_update, nullptr, 0, 3, kTensorFlow},
    {"TensorListReserve", kV, infer_reserve, work_none, nullptr, 0, 0, kTensorFlow},
    {"TensorListGetItem", kV, infer_get_item, work_none, nullptr, 0, 2, kTensorFlow},
    {"TensorListSetItem", kV, infer_same_as_first, work_none, nullptr, 0, 3, kTensorFlow},
    {"TensorListStack", kM, infer_same_as_first, work_copy, nullptr, 0, 1, kTensorFlow},
    {"SpaceToBatchND", kM, infer_space_batch, work_copy, nullptr, 0, 1, kTensorFlow},
    {"BatchToSpaceND", kM, infer_space_batch, work_copy, nullptr, 0, 1, kTensorFlow},
    {"Roll", kM, infer_same_as_first, work_copy, nullptr, 0, 1, kTensorFlow},
    {"DynamicSlice", kM, infer_dynamic_slice, work_copy, nullptr, 0, 2, kTensorFlow},
    {"SliceGrad", kM, infer_from_attribute, nullptr, nullptr, 0, 1, kTensorFlow,
     factors_slice_gradient},
    {"ResizeGrad", kM, infer_from_attribute, work_per_input_element, nullptr, 8, 1, kTensorFlow,
     factors_slice_gradient},
    {"NonMaxSuppression", OpClass::kSort, infer_suppression, work_suppression, nullptr, 0, 2,
     kTensorFlow},
    {"BlockLSTM", OpClass::kRnn, infer_block_lstm, work_block_lstm, nullptr, 0, 2, kTensorFlow},
};

constexpr WorkNote kNotes[] = {
    {work_filter_gradient, "MACs = elements of the gradient x C_in/group x kernel"},
    {work_pool_gradient, "1 per tap of each window"},
    {work_per_input_element, "{} per input element"},
    {work_update, "{} per element of each new value"},
    {work_row_update, "1 per element of the rows that change; nothing else is touched"},
    {work_suppression, "20 per pair of a box and one that stays"},
    {work_block_lstm, "MACs = steps x batch x weights; 10 per gate and unit"},
};

}  // namespace

OpFamily tensorflow_op_defs() { return {kOps, kNotes}; }

}  // namespace dfsim::inline graphs
