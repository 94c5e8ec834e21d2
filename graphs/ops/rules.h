// Rules that families share.
#pragma once

#include "graphs/ops/infer_context.h"
#include "graphs/ops/work_context.h"

namespace dfsim::inline graphs {

inline constexpr std::string_view kMicrosoft = "com.microsoft";

// numpy's matmul. Unknown rank when an operand's is. Error: the operands don't match.
StatusOr<Shape> matmul_shape(const InferContext& context, const Shape& a, const Shape& b);

// Infers a convolution of `x` ([N, C, space...]) with weight `w` ([M, C/group, kernel...]) under
// the op's attributes. Unknown rank when an operand's is. Error: they don't match.
StatusOr<Shape> conv_shape(const InferContext& context, const Shape& x, const Shape& w);
// The same for input 0 and that weight.
Status infer_conv_like(InferContext& context, size_t weight_input, DType dtype);
// MACs of a convolution: elements of output 0 times prod(W.shape[1:]).
void conv_macs(WorkContext& context, size_t weight_input);
// One addition per element of output 0 when that input is there.
void add_bias(WorkContext& context, size_t bias_input);

// Sums, and MACs of Q.K^T and scores.V with softmax, scale and mask (7 operations per score).
void add_attention_work(WorkContext& context, Count batch_heads, Count q_length, Count kv_length,
                        Count head, Count v_head);

// Inputs `first` and the next are tables of cosines and sines, one row per position that a rotary
// embedding knows: at most `positions` rows of each are read.
void read_rotary_tables(WorkContext& context, size_t first, Count positions);

}  // namespace dfsim::inline graphs
