// Factor rules that the tables of the families name, by what they have in common. See factors.h.
#pragma once

#include "graphs/ops/factors/factor_context.h"

namespace dfsim::inline graphs {

// factor_rules_elementwise.cc: every axis of the output, inputs broadcast to it.
void factors_elementwise(FactorContext& context);
// The second operand gives only a dtype.
void factors_first_only(FactorContext& context);
void factors_quantize(FactorContext& context);
// Random numbers: devices that drew their own would not agree with one device.
void factors_random(FactorContext& context);
// Parameters, gradients and states of optimisers: every axis of every parameter.
void factors_update(FactorContext& context);
void factors_loss(FactorContext& context);
void factors_rotary(FactorContext& context);

// factor_rules_matmul.cc
void factors_matmul(FactorContext& context);
void factors_matmul_integer(FactorContext& context);
void factors_packed_matmul(FactorContext& context);  // MatMulNBits
void factors_gemm(FactorContext& context);           // FusedGemm and QGemm, too
void factors_fused_matmul(FactorContext& context);
void factors_matmul_to_float(FactorContext& context);  // MatMulIntegerToFloat
void factors_dynamic_matmul(FactorContext& context);   // DynamicQuantizeMatMul

// factor_rules_experts.cc: MoE and QMoE.
void factors_experts(FactorContext& context);

// factor_rules_window.cc
void factors_conv(FactorContext& context);
void factors_conv_transpose(FactorContext& context);
void factors_pool(FactorContext& context);
void factors_global_pool(FactorContext& context);
void factors_regions(FactorContext& context);

// factor_rules_norm.cc: some axes whole, all others parallel.
void factors_batch_norm(FactorContext& context);
void factors_layer_norm(FactorContext& context);
void factors_skip_norm(FactorContext& context);
void factors_instance_norm(FactorContext& context);
void factors_group_norm(FactorContext& context);
void factors_mean_variance_norm(FactorContext& context);
void factors_lp_norm(FactorContext& context);
void factors_lrn(FactorContext& context);
void factors_softmax(FactorContext& context);

// factor_rules_reduce.cc
void factors_reduce(FactorContext& context);
void factors_arg_reduce(FactorContext& context);
void factors_cumsum(FactorContext& context);
void factors_top_k(FactorContext& context);

// factor_rules_layout.cc
void factors_transpose(FactorContext& context);
void factors_concat(FactorContext& context);
void factors_split(FactorContext& context);
// Axes whose extent changes are whole (Tile, Crop): the others pass through.
void factors_same_extents(FactorContext& context);
void factors_slice(FactorContext& context);
void factors_pad(FactorContext& context);
void factors_expand(FactorContext& context);
void factors_resize(FactorContext& context);
void factors_depth_space(FactorContext& context);
void factors_reverse_sequence(FactorContext& context);
void factors_matrix_rows(FactorContext& context);
void factors_batch(FactorContext& context);  // the first axis of the first operand and the results
void factors_reshape(FactorContext& context);

// factor_rules_gather.cc
void factors_gather(FactorContext& context);
void factors_gather_elements(FactorContext& context);
void factors_gather_nd(FactorContext& context);
void factors_scatter_elements(FactorContext& context);
void factors_scatter_nd(FactorContext& context);
void factors_one_hot(FactorContext& context);

// factor_rules_attention.cc: batch and heads; queries where no mask hides later keys.
void factors_attention(FactorContext& context);
void factors_multi_head_attention(FactorContext& context);
void factors_grouped_attention(FactorContext& context);  // GroupQueryAttention
void factors_packed_attention(FactorContext& context);   // ONNX Runtime's Attention and QAttention
void factors_rnn(FactorContext& context);

}  // namespace dfsim::inline graphs
