#include "study/chain/training_choice.h"

#include <vector>

namespace dfsim::inline study {
namespace {

// Operators that these passes join or fold have no backward pass.
bool is_for_inference(const std::string& fusion) {
  return fusion == "conv-fold" || fusion == "conv-activation" || fusion == "conv-sum" ||
         fusion == "gemm-activation" || fusion == "pointwise" || fusion.starts_with("nchwc");
}

}  // namespace

StatusOr<std::optional<TrainingOptions>> TrainingChoice::options() const {
  TrainingOptions options;
  DFSIM_ASSIGN_OR_RETURN(options.optimizer, optimizer_of(optimizer));
  DFSIM_ASSIGN_OR_RETURN(options.recompute, recompute_of(recompute));
  DFSIM_ASSIGN_OR_RETURN(options.kernels, update_kernels_of(kernels));
  DFSIM_ASSIGN_OR_RETURN(options.loss, loss_of(loss));
  options.accumulate = accumulate;
  return is_training() ? std::optional<TrainingOptions>(options) : std::nullopt;
}

RuntimeSpec runtime_for(const TrainingChoice& choice, RuntimeSpec runtime) {
  if (choice.is_training()) {
    std::erase_if(runtime.fusions, is_for_inference);
  }
  return runtime;
}

}  // namespace dfsim::inline study
