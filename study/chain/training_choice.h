// Whether a study is about a forward pass or a training step.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "graphs/training/training_graph.h"
#include "hardware/platform.h"

namespace dfsim::inline study {

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

}  // namespace dfsim::inline study
