// The choices of a training step and their names: optimisers, recomputation, passes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline graphs {

// kNone: gradients only, as benchmarks of a forward and a backward pass measure.
enum class OptimizerKind : uint8_t { kSgd, kMomentum, kAdam, kNone };
// The kernels of an update: one per weight with all of its arithmetic, PyTorch's foreach (its
// default on GPUs: one kernel per arithmetic operation and list of weights), or PyTorch's fused
// (one kernel per list of weights).
enum class UpdateKernels : uint8_t { kPerWeight, kForeach, kFused };
// The derivative of a loss that is elementwise in the model's outputs, without the loss itself; or
// the loss and its backward pass: cross entropy over the last axis, mean squared error.
enum class LossKind : uint8_t { kElementwise, kCrossEntropy, kMse };
enum class Recompute : uint8_t { kNone, kSelective, kFull };
// kReduce: joins gradients of a weight after all micro-batches; kUpdate: the optimiser.
enum class TrainingPass : uint8_t { kForward, kRecompute, kBackward, kReduce, kUpdate };

std::vector<std::string> optimizer_names();
std::vector<std::string> recompute_names();
std::vector<std::string> update_kernel_names();
std::vector<std::string> loss_names();
// Errors (kInvalidInput): unknown name, with the valid ones.
StatusOr<OptimizerKind> optimizer_of(const std::string& name);
StatusOr<Recompute> recompute_of(const std::string& name);
StatusOr<UpdateKernels> update_kernels_of(const std::string& name);
StatusOr<LossKind> loss_of(const std::string& name);
std::string_view optimizer_name(OptimizerKind optimizer);
std::string_view recompute_name(Recompute recompute);
std::string_view training_pass_name(TrainingPass pass);

}  // namespace dfsim::inline graphs
