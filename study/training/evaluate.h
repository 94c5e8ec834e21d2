// Evaluate: how far a cost model is from measured operator times.
#pragma once

#include <string>

#include "base/status.h"
#include "opmodel/train/evaluation.h"
#include "study/progress.h"
#include "study/training/profile_inputs.h"

namespace dfsim::inline study {

struct EvaluateRequest {
  ProfileInputs inputs;
  std::string model;       // folder that train() wrote, or the name of a model that ships
  bool use_lookup = true;  // measured shapes answer with their times
  bool keep_rows = false;  // Evaluation::rows
};

struct EvaluateResult {
  Evaluation evaluation;
  std::string model;  // its name
};

// Errors: those of load_trained_model(), load_profiles() and evaluate_model(); Progress's.
StatusOr<EvaluateResult> evaluate(const EvaluateRequest& request, const Progress& progress = {});

}  // namespace dfsim::inline study
