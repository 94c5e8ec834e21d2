// Whether a study is about a forward pass or a training step.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graphs/training/training_graph.h"
#include "hardware/platform.h"

namespace dfsim::inline study {

// Settings that are empty or 0 were not given and have their defaults in options().
struct TrainingChoice {
  std::string mode = "infer";
  std::string optimizer;       // default: adam
  std::string recompute;       // default: none
  std::string kernels;         // of the update; default: per-weight
  std::string loss;            // default: elementwise
  int accumulate = 0;          // forward and backward passes before the update; default: 1
  bool training_mode = false;  // dropout drops, and is added where the architecture has it

  bool is_training() const { return mode == "train"; }
  // Nothing in inference. Errors: unknown names; in inference, a setting that only training has.
  StatusOr<std::optional<TrainingOptions>> options() const;
  // Name of what is computed again, the default where none is given.
  std::string_view recomputed() const {
    return recompute.empty() ? std::string_view("none") : std::string_view(recompute);
  }
};

// The runtime without the rewritings that only inference can have, when training.
RuntimeSpec runtime_for(const TrainingChoice& choice, RuntimeSpec runtime);

// Whether the runtime makes its own kernels of elementwise operators, in training steps as well.
bool compiles_steps(const RuntimeSpec& runtime);

// A remark where the model looks as if its export had folded batch normalisation into convolutions,
// which a training step would lack: many convolutions with a bias before activations or sums, and
// few BatchNormalization. Empty otherwise; networks without normalisation have it, too.
// O(operators).
std::string folded_norms_note(const Graph& model);

}  // namespace dfsim::inline study
