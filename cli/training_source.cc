#include "cli/training_source.h"

#include <utility>
#include <vector>

namespace dfsim::cli {
namespace {

// What these join or fold has no backward pass.
bool is_for_inference(const std::string& fusion) {
  return fusion == "conv-fold" || fusion == "conv-activation" || fusion == "gemm-activation" ||
         fusion == "pointwise" || fusion.starts_with("nchwc");
}

}  // namespace

StatusOr<std::optional<TrainingOptions>> TrainingChoice::options() const {
  TrainingOptions options;
  DFSIM_ASSIGN_OR_RETURN(options.optimizer, optimizer_of(optimizer));
  DFSIM_ASSIGN_OR_RETURN(options.recompute, recompute_of(recompute));
  return is_training() ? std::optional<TrainingOptions>(options) : std::nullopt;
}

RuntimeSpec runtime_for(const TrainingChoice& choice, RuntimeSpec runtime) {
  if (choice.is_training()) {
    std::erase_if(runtime.fusions, is_for_inference);
  }
  return runtime;
}

Status make_training_step(const TrainingOptions& options, const std::string& path,
                          LoadedModel* model) {
  auto step = make_training_graph(model->executed, options);
  if (!step.ok()) {
    return step.status().with_place(path);
  }
  model->executed = std::move(step->graph);
  auto workload = make_workload(model->executed);
  if (!workload.ok()) {
    return workload.status().with_place(path);
  }
  model->workload = std::move(*workload);
  return ok_status();
}

}  // namespace dfsim::cli
