// Folding rules: values of small constant tensors, computed during shape inference as ONNX's
// reference evaluator computes them. A rule is called when the values of all inputs are known and
// the outputs have their shapes; where it cannot tell a value (a division by zero, an overflow of
// 64 bits, a type without arithmetic) it leaves the output without one.
#pragma once

#include "graphs/ops/values/elements.h"

namespace dfsim::inline graphs {

// One function of one number per element; integers go through it, too.
void fold_function(InferContext& context, double (*function)(double));
template <double (*kFunction)(double)>
void fold_each(InferContext& context) {
  fold_function(context, kFunction);
}

// Arithmetic with broadcasting (fold_arithmetic.cc).
void fold_add(InferContext& context);
void fold_sub(InferContext& context);
void fold_mul(InferContext& context);
void fold_div(InferContext& context);
void fold_mod(InferContext& context);
void fold_pow(InferContext& context);
void fold_min(InferContext& context);
void fold_max(InferContext& context);
void fold_mean(InferContext& context);
void fold_sum(InferContext& context);
void fold_equal(InferContext& context);
void fold_greater(InferContext& context);
void fold_less(InferContext& context);
void fold_greater_equal(InferContext& context);
void fold_less_equal(InferContext& context);
void fold_and(InferContext& context);
void fold_or(InferContext& context);
void fold_xor(InferContext& context);
void fold_bit_and(InferContext& context);
void fold_bit_or(InferContext& context);
void fold_bit_xor(InferContext& context);
void fold_bit_shift(InferContext& context);
void fold_prelu(InferContext& context);
void fold_where(InferContext& context);

// One operand (fold_scalar.cc).
void fold_not(InferContext& context);
void fold_bit_not(InferContext& context);
void fold_neg(InferContext& context);
void fold_abs(InferContext& context);
void fold_sign(InferContext& context);
void fold_relu(InferContext& context);
void fold_whole(InferContext& context);  // Floor, Ceil, Round
void fold_cast(InferContext& context);
void fold_clip(InferContext& context);
void fold_is_nan(InferContext& context);
void fold_is_inf(InferContext& context);
// LeakyRelu, Elu, Selu, HardSigmoid...: functions with parameters in attributes.
void fold_activation(InferContext& context);
void fold_gelu(InferContext& context);
void fold_swiglu(InferContext& context);
void fold_bit_cast(InferContext& context);
void fold_dropout(InferContext& context);

// Moves the value unchanged under the output's inferred shape (Reshape, Unsqueeze, Identity...).
void fold_reshape(InferContext& context);

// Reductions (fold_reduce.cc).
void fold_reduce_sum(InferContext& context);
void fold_reduce_mean(InferContext& context);
void fold_reduce_prod(InferContext& context);
void fold_reduce_max(InferContext& context);
void fold_reduce_min(InferContext& context);
void fold_reduce_l1(InferContext& context);
void fold_reduce_l2(InferContext& context);
void fold_reduce_sum_square(InferContext& context);
void fold_reduce_log_sum(InferContext& context);
void fold_reduce_log_sum_exp(InferContext& context);
void fold_arg_reduce(InferContext& context);
void fold_cumulative(InferContext& context);

// Movement by index (fold_move.cc, fold_gather.cc).
void fold_pad(InferContext& context);
void fold_tile(InferContext& context);
void fold_expand(InferContext& context);
void fold_split(InferContext& context);
void fold_depth_space(InferContext& context);
void fold_trilu(InferContext& context);
void fold_reverse_sequence(InferContext& context);
void fold_eye_like(InferContext& context);
void fold_center_crop_pad(InferContext& context);
void fold_gather_elements(InferContext& context);
void fold_gather_nd(InferContext& context);
void fold_scatter_elements(InferContext& context);
void fold_scatter_nd(InferContext& context);
void fold_tensor_scatter(InferContext& context);
void fold_one_hot(InferContext& context);

// Selection (fold_select.cc). These also set the shape, which depends on the value.
void fold_top_k(InferContext& context);
void fold_non_zero(InferContext& context);
void fold_compress(InferContext& context);
void fold_unique(InferContext& context);
void fold_non_max_suppression(InferContext& context);

// Products (fold_product.cc).
void fold_matmul(InferContext& context);
void fold_gemm(InferContext& context);
void fold_matmul_integer(InferContext& context);
void fold_qlinear_matmul(InferContext& context);
void fold_det(InferContext& context);

// Normalization and quantization (fold_normalize.cc, fold_quantize.cc).
void fold_softmax(InferContext& context);  // and LogSoftmax, Hardmax
void fold_batch_normalization(InferContext& context);
void fold_instance_normalization(InferContext& context);
void fold_layer_normalization(InferContext& context);  // and RMSNormalization
void fold_group_normalization(InferContext& context);
void fold_mean_variance_normalization(InferContext& context);
void fold_global_pool(InferContext& context);
void fold_lp_normalization(InferContext& context);
void fold_lrn(InferContext& context);
void fold_quantize(InferContext& context);
void fold_dequantize(InferContext& context);
void fold_dynamic_quantize(InferContext& context);

}  // namespace dfsim::inline graphs
