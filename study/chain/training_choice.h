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
  std::string kernels = "per-weight";  // of the update
  std::string loss = "elementwise";
  int accumulate = 1;          // forward and backward passes before the update
  bool training_mode = false;  // dropout drops, and is added where the architecture has it

  bool is_training() const { return mode == "train"; }
  // Nothing in inference. Errors: unknown names; in inference, a setting that only training has.
  StatusOr<std::optional<TrainingOptions>> options() const;
};

// The runtime without the rewritings that only inference can have, when training.
RuntimeSpec runtime_for(const TrainingChoice& choice, RuntimeSpec runtime);

// A remark where the model looks as if its export had folded batch normalisation into convolutions,
// which a training step would lack: many convolutions with a bias before activations or sums, and
// few BatchNormalization. Empty otherwise; networks without normalisation have it, too.
// O(operators).
std::string folded_norms_note(const Graph& model);

}  // namespace dfsim::inline study
