// How each framework serves unless told otherwise: the fitted runtime and front end, the errors
// found on measured deployments, and the policy that simulates its batching.
#pragma once

#include <cstdint>

#include "serving/serve.h"

namespace dfsim::inline serving {

// One framework's named parameters (docs/reference/llm-serving.md says what they are and what they
// were fitted on).
struct FrameworkProfile {
  LlmFramework framework = LlmFramework::kVllm;
  ServingRuntime runtime;
  FrontendModel frontend;
  ServingErrors errors;          // of deployments of the models that the fit saw
  ServingErrors foreign_errors;  // of other models
  double memory_share = 0.9;     // of a GPU's memory that the framework takes
};

const FrameworkProfile& framework_profile(LlmFramework framework);

// The errors to expect for deployments of `model`: those of models that the parameters were fitted
// on (recognised by their shape), or the wider ones of others.
const ServingErrors& errors_for(const FrameworkProfile& profile, const LlmConfig& model);

// The profile's runtime with CUDA graphs for batches up to `max_sequences` (at most 512).
ServingRuntime runtime_for(const FrameworkProfile& profile, int64_t max_sequences);

}  // namespace dfsim::inline serving
