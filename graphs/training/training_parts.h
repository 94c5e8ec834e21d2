// Parts of a training step's graph: marks of its operators, and its weights.
#pragma once

#include <string_view>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/training/training_names.h"

namespace dfsim::inline graphs {

// Attributes of the training graph's operators: the pass, as an integer, and the name of the
// forward operator that they belong to. `gradient_sum` marks Adds that join gradients of a tensor.
inline constexpr std::string_view kPassAttribute = "training.pass";
inline constexpr std::string_view kForwardAttribute = "training.forward";
inline constexpr std::string_view kSumAttribute = "training.gradient_sum";

// A weight that is updated, the gradient that the update reads, and the states of the optimiser.
// Weights with one storage are updated once.
struct TrainingParameter {
  TensorId weight;
  TensorId gradient;
  std::vector<TensorId> states;
};

// The pass of an operator of a training graph or of a sharded one; kForward without the attribute.
TrainingPass training_pass(const Op& op);

}  // namespace dfsim::inline graphs
