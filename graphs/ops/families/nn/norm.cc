// Normalisations and softmax.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// Y, and in old versions running mean and variance and their saved forms, of shape [C].
Status infer_batch_norm(InferContext& context) {
  const Shape& x = context.shape(0);
  context.set_output(0, context.dtype(0), x);
  for (size_t i = 1; i < context.output_count(); ++i) {
    context.set_output(i, context.dtype(0), context.shape(1));
  }
  if (x.has_rank() && x.rank() >= 2 && context.shape(1).has_rank() &&
      context.shape(1).rank() == 1 && x[1].known() && context.shape(1)[0].known() &&
      x[1] != context.shape(1)[0]) {
    return context.error(fmt::format("input {} has {} channels, its scale has {}", format_shape(x),
                                     x[1].extent(), context.shape(1)[0].extent()));
  }
  return ok_status();
}

// Y, then mean and inverse standard deviation with the normalised axes reduced to 1.
Status infer_layer_norm(InferContext& context) {
  const Shape& x = context.shape(0);
  context.set_output(0, context.dtype(0), x);
  if (!x.has_rank() || context.output_count() < 2) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", -1), x.rank()));
  Dims dims = x.dims();
  std::fill(dims.begin() + axis, dims.end(), Dim(1));
  for (size_t i = 1; i < context.output_count(); ++i) {
    context.set_output(i, DType::kFloat32, Shape(dims));
  }
  return ok_status();
}

Status infer_softmax(InferContext& context) {
  const Shape& x = context.shape(0);
  if (x.has_rank() && x.rank() > 0) {
    const int64_t fallback = context.version() < 13 ? 1 : -1;
    const int64_t axis = context.attributes().int_or("axis", fallback);
    // Before opset 13 axis == rank was legal: everything is coerced into one row.
    if (!(context.version() < 13 && axis == x.rank())) {
      DFSIM_RETURN_IF_ERROR(context.axis(axis, x.rank()).status());
    }
  }
  return infer_same_as_first(context);
}

// In inference batch norm is one multiply-add per element, whose statistics are constants. In
// training, kernels that keep a channel on the chip read it once, as the least traffic.
void work_batch_norm(WorkContext& context) {
  const bool training = context.op().attributes.int_or("training_mode", 0) != 0 ||
                        context.op().attributes.int_or(kOwnStatistics, 0) != 0;
  context.add_flops(context.output(0).shape.elements(), training ? 8 : 2);
}

// clang-format off
constexpr OpDef kNormOps[] = {
    {.op_type = "BatchNormalization", .op_class = OpClass::kNorm, .infer = infer_batch_norm,
     .work = work_batch_norm, .fold = fold_batch_normalization, .required_inputs = 5, .factors = factors_batch_norm},
    // mean, subtract, square, sum, divide by deviation, scale, shift
    {.op_type = "LayerNormalization", .op_class = OpClass::kNorm, .infer = infer_layer_norm,
     .work = work_per_element, .fold = fold_layer_normalization, .flops_per_element = 7, .required_inputs = 2,
     .factors = factors_layer_norm},
    {.op_type = "InstanceNormalization", .op_class = OpClass::kNorm, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_instance_normalization, .flops_per_element = 7, .required_inputs = 3,
     .factors = factors_instance_norm},
    {.op_type = "GroupNormalization", .op_class = OpClass::kNorm, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_group_normalization, .flops_per_element = 7, .required_inputs = 3,
     .factors = factors_group_norm},
    {.op_type = "MeanVarianceNormalization", .op_class = OpClass::kNorm,
     .infer = infer_same_as_first, .work = work_per_element, .fold = fold_mean_variance_normalization, .flops_per_element = 5,
     .factors = factors_mean_variance_norm},
    // square, sum, divide by root, scale
    {.op_type = "RMSNormalization", .op_class = OpClass::kNorm, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_layer_normalization, .flops_per_element = 4, .required_inputs = 2,
     .factors = factors_layer_norm},
    {.op_type = "LpNormalization", .op_class = OpClass::kNorm, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_lp_normalization, .flops_per_element = 3, .factors = factors_lp_norm},
    {.op_type = "LRN", .op_class = OpClass::kNorm, .infer = infer_same_as_first,
     .work = work_per_element, .fold = fold_lrn, .flops_per_element = 5, .factors = factors_lrn},
    // maximum, subtract, exponential, sum, divide
    {.op_type = "Softmax", .op_class = OpClass::kSoftmax, .infer = infer_softmax,
     .work = work_per_element, .fold = fold_softmax, .flops_per_element = 5, .factors = factors_softmax},
    {.op_type = "LogSoftmax", .op_class = OpClass::kSoftmax, .infer = infer_softmax,
     .work = work_per_element, .fold = fold_softmax, .flops_per_element = 6, .factors = factors_softmax},
    {.op_type = "Hardmax", .op_class = OpClass::kSoftmax, .infer = infer_softmax,
     .work = work_per_element, .fold = fold_softmax, .flops_per_element = 2, .factors = factors_softmax},
};
// clang-format on

constexpr WorkNote kNormNotes[] = {
    {work_batch_norm,
     "2 per element in inference; 8 in training, where it reads its operand twice"},
};

}  // namespace

OpFamily norm_op_defs() { return {kNormOps, kNormNotes}; }

}  // namespace dfsim::inline graphs
