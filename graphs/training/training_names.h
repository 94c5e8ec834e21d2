// The choices of a training step and their names: optimisers, recomputation, passes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline graphs {

enum class OptimizerKind : uint8_t { kSgd, kMomentum, kAdam };
enum class Recompute : uint8_t { kNone, kSelective, kFull };
// kReduce: joins gradients of a weight after all micro-batches; kUpdate: the optimiser.
enum class TrainingPass : uint8_t { kForward, kRecompute, kBackward, kReduce, kUpdate };

std::vector<std::string> optimizer_names();
std::vector<std::string> recompute_names();
// Errors (kInvalidInput): unknown name, with the valid ones.
StatusOr<OptimizerKind> optimizer_of(const std::string& name);
StatusOr<Recompute> recompute_of(const std::string& name);
std::string_view optimizer_name(OptimizerKind optimizer);
std::string_view recompute_name(Recompute recompute);
std::string_view training_pass_name(TrainingPass pass);

}  // namespace dfsim::inline graphs
