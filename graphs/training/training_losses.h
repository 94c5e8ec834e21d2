// The loss at an output of the model, and what it sends back.
//
//   elementwise    no operator of its own; the derivative reads the output and writes its gradient
//   cross entropy  log-softmax over the last axis in fp32 and the mean of the targets' entries;
//   back:
//                  zeros with one entry per row, then the gradient of the log-softmax
//   mse            squared differences and their mean; back: the differences, scaled
// As PyTorch runs F.cross_entropy and F.mse_loss, which autocast computes in fp32.
#pragma once

#include "graphs/training/gradient_context.h"
#include "graphs/training/training_names.h"

namespace dfsim::inline graphs {

// Adds the loss. Returns what its gradient reads: log-probabilities, targets, or the output.
TensorId add_loss(BackwardGraph& graph, TensorId output, LossKind loss);

// Adds the backward pass of add_loss() and returns the gradient of `output`.
TensorId add_loss_gradient(BackwardGraph& graph, TensorId output, TensorId read, LossKind loss);

}  // namespace dfsim::inline graphs
