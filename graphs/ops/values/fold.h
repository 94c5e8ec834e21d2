// Folding: values of small constant tensors, computed during shape inference.
#pragma once

#include "graphs/ops/infer_context.h"

namespace dfsim::inline graphs {

// Elementwise arithmetic with broadcasting over known integer or floating inputs.
void fold_add(InferContext& context);
void fold_sub(InferContext& context);
void fold_mul(InferContext& context);
void fold_div(InferContext& context);
void fold_mod(InferContext& context);
void fold_min(InferContext& context);
void fold_max(InferContext& context);
void fold_equal(InferContext& context);
void fold_greater(InferContext& context);
void fold_less(InferContext& context);
void fold_greater_equal(InferContext& context);
void fold_less_equal(InferContext& context);
void fold_and(InferContext& context);
void fold_or(InferContext& context);
void fold_not(InferContext& context);
void fold_neg(InferContext& context);
void fold_abs(InferContext& context);
void fold_relu(InferContext& context);
void fold_floor(InferContext& context);
void fold_ceil(InferContext& context);
void fold_sqrt(InferContext& context);
void fold_cast(InferContext& context);
void fold_where(InferContext& context);

// Moves the value unchanged under the output's inferred shape (Reshape, Unsqueeze, Identity...).
void fold_reshape(InferContext& context);

// Moves elements by index: out[i] = in0[source(i)], for Gather, Slice, Transpose, Expand...
// `sources` holds one source position per output element.
void fold_by_index(InferContext& context, size_t output, const std::vector<int64_t>& extents,
                   const std::vector<int64_t>& sources);

// base + sum of index * stride for every index of `extents`, in row-major order.
std::vector<int64_t> strided_positions(const std::vector<int64_t>& extents,
                                       const std::vector<int64_t>& strides, int64_t base);

// Row-major strides of static extents.
std::vector<int64_t> row_major_strides(const std::vector<int64_t>& extents);

}  // namespace dfsim::inline graphs
