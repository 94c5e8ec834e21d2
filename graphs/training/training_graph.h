// Training steps: the graph of a forward pass made into one of forward pass, backward pass and
// parameter updates.
//
// The backward pass is made of ordinary operators where ONNX has them (products, transposed
// convolutions, sums over broadcast axes), else of those of
// graphs/ops/families/extensions/gradient_ops.h, so that work, bytes and splits over devices come
// from definitions as everywhere. Gradients are made for floating weights and for everything
// between a weight and a floating output; each output starts with LossGrad, whose loss is
// elementwise. What the backward pass reads of the forward pass stays in memory until then, or is
// computed again:
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

namespace dfsim::inline graphs {

struct TrainingOptions {
  OptimizerKind optimizer = OptimizerKind::kAdam;
  Recompute recompute = Recompute::kNone;
};

// Attributes of the training graph's operators: the pass, as an integer, and the name of the
// forward operator that they belong to. `gradient_sum` marks Adds that join gradients of a tensor.
inline constexpr std::string_view kPassAttribute = "training.pass";
inline constexpr std::string_view kForwardAttribute = "training.forward";
inline constexpr std::string_view kSumAttribute = "training.gradient_sum";

struct TrainingGraph {
  // The source's tensors and operators come first, with the same ids. No outputs.
  Graph graph;
  std::vector<TensorId> gradients;  // by tensor of the source: its gradient, or none
  std::vector<TensorId> copies;     // by tensor of the source: computed again, or none
  // Weights that are updated, each with the gradient that the update reads, and the states of the
  // optimiser. Weights with one storage are updated once.
  struct Parameter {
    TensorId weight;
    TensorId gradient;
    std::vector<TensorId> states;
  };
  std::vector<Parameter> parameters;
  size_t without_rule = 0;  // operators with the gradient `Backward`
};

// O(operators + edges). Errors (kInvalidInput): shapes that are not known; no floating output that
// depends on a weight.
StatusOr<TrainingGraph> make_training_graph(const Graph& forward, const TrainingOptions& options);

// The pass of an operator of a training graph or of a sharded one; kForward without the attribute.
TrainingPass training_pass(const Op& op);

}  // namespace dfsim::inline graphs
