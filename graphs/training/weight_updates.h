// Updates of lists of weights: PyTorch's foreach and fused optimisers.
//
// A list goes to the device in launches of as many weights and blocks as multi_tensor_apply takes
// (aten/src/ATen/native/cuda/MultiTensorApply.cuh): 110, 64, 48, 36 weights for 1 to 4 tensors per
// weight, and 320 blocks of 65536 elements. `foreach` is one such list per arithmetic operation
// (torch/optim/_functional: Adam reads and writes 18 tensors of a weight's size, 7 when fused),
// `fused` one for all.
#pragma once

#include <vector>

#include "graphs/training/gradient_context.h"
#include "graphs/training/training_parts.h"

namespace dfsim::inline graphs {

// Adds one operator `ListUpdate` per launch; `parameters` have their states.
void add_list_updates(BackwardGraph& graph, const std::vector<TrainingParameter>& parameters,
                      OptimizerKind optimizer, UpdateKernels kernels);

}  // namespace dfsim::inline graphs
