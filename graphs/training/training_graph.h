// Training steps: the graph of a forward pass made into one of forward pass, backward pass and
// parameter updates.
//
// The backward pass is made of ordinary operators where ONNX has them (products, transposed
// convolutions, sums over broadcast axes), else of those of
// graphs/ops/families/extensions/gradient_ops.h, so that work, bytes and splits over devices come
// from definitions as everywhere. Gradients are made for floating weights and for everything
// between a weight and a floating output; each output starts with LossGrad, whose loss is
// elementwise. Other losses, lists of weights and repeated passes: training_losses.h,
// weight_updates.h, accumulate.h. Tensors of the forward pass that the backward pass reads stay in
// memory until then, or is computed again:
//   kNone       all of it stays
//   kSelective  results of products, convolutions and attention stay, the rest is computed again
//   kFull       one tensor per section of about sqrt(operators) stays
// Papers: Chen et al. 2016 (arXiv:1604.06174), sections; Korthikanti et al. 2022
// (arXiv:2205.05198), selective recomputation.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/training/training_names.h"
#include "graphs/training/training_parts.h"

namespace dfsim::inline graphs {

struct TrainingOptions {
  OptimizerKind optimizer = OptimizerKind::kAdam;
  Recompute recompute = Recompute::kNone;
  UpdateKernels kernels = UpdateKernels::kPerWeight;
  LossKind loss = LossKind::kElementwise;
  int accumulate = 1;  // forward and backward passes before an update
};

struct TrainingGraph {
  // The source's tensors and operators come first, with the same ids. No outputs.
  Graph graph;
  std::vector<TensorId> gradients;  // by tensor of the source: its gradient, or none
  std::vector<TensorId> copies;     // by tensor of the source: computed again, or none
  using Parameter = TrainingParameter;
  std::vector<Parameter> parameters;
  size_t without_rule = 0;  // operators with the gradient `Backward`
};

// O(operators + edges). Errors (kInvalidInput): shapes that are not known; no floating output that
// depends on a weight.
StatusOr<TrainingGraph> make_training_graph(const Graph& forward, const TrainingOptions& options);

}  // namespace dfsim::inline graphs
