// How each framework serves unless told otherwise: the fitted runtime and front end, the errors
// found on measured deployments, and the policy that simulates its batching.
#pragma once

#include <cstdint>

#include "serving/serve.h"

namespace dfsim::inline serving {

// One framework's named parameters (docs/llm-serving.md says what they are and what they were
// fitted on).
struct FrameworkProfile {
  LlmFramework framework = LlmFramework::kVllm;
  ServingRuntime runtime;
  FrontendModel frontend;
  ServingErrors errors;
  double memory_share = 0.9;   // of a GPU's memory that the framework takes
  double workspace_bytes = 0;  // of that, for activations, CUDA graphs and libraries
};

const FrameworkProfile& framework_profile(LlmFramework framework);

// The profile's runtime with CUDA graphs for batches up to `max_sequences` (at most 512).
ServingRuntime runtime_for(const FrameworkProfile& profile, int64_t max_sequences);

// Where the cache of `deployment` goes, per GPU.
struct CacheRoom {
  double memory_bytes = 0;  // of a GPU
  double usable_bytes = 0;  // what the framework takes of it
  double weight_bytes = 0;
  double workspace_bytes = 0;  // activations of the largest step, CUDA graphs, communication
  double bytes_per_token = 0;  // of cache
  int64_t tokens = 0;          // that fit, over the whole replica
};

// Errors (kInvalidInput): nothing is left for the cache, with the arithmetic.
StatusOr<CacheRoom> cache_room(const LlmDeployment& deployment, const FrameworkProfile& profile);

}  // namespace dfsim::inline serving
