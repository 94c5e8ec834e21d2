// Training steps of models from the command line.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "cli/model_source.h"
#include "graphs/training/training_graph.h"

namespace dfsim::cli {

struct TrainingChoice {
  std::string mode = "infer";
  std::string optimizer = "adam";
  std::string recompute = "none";

  bool is_training() const { return mode == "train"; }
  // Nothing in inference. Errors: unknown names.
  StatusOr<std::optional<TrainingOptions>> options() const;
};

// The runtime without the rewritings that only inference can have, when training.
RuntimeSpec runtime_for(const TrainingChoice& choice, RuntimeSpec runtime);

// Makes the executed graph that of a training step, and its workload. Errors: those of
// make_training_graph() and make_workload(), with the model's path.
Status make_training_step(const TrainingOptions& options, const std::string& path,
                          LoadedModel* model);

}  // namespace dfsim::cli
