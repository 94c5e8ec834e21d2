// Folding rules of losses and parameter updates (fold_training.cc).
#pragma once

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {

void fold_nll_loss(InferContext& context);
void fold_cross_entropy_loss(InferContext& context);  // and its log-probabilities
void fold_adagrad(InferContext& context);
void fold_adam(InferContext& context);
void fold_momentum(InferContext& context);

}  // namespace dfsim::inline graphs
