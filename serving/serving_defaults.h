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
  ServingErrors errors;
  double memory_share = 0.9;  // of a GPU's memory that the framework takes
};

const FrameworkProfile& framework_profile(LlmFramework framework);

// The profile's runtime with CUDA graphs for batches up to `max_sequences` (at most 512).
ServingRuntime runtime_for(const FrameworkProfile& profile, int64_t max_sequences);

}  // namespace dfsim::inline serving
