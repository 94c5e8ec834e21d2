// Folding rules of attention (fold_attention.cc, fold_linear_attention.cc).
#pragma once

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {

void fold_attention(InferContext& context);
void fold_rotary_embedding(InferContext& context);
void fold_linear_attention(InferContext& context);

}  // namespace dfsim::inline graphs
