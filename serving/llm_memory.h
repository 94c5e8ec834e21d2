// Memory of one GPU of a deployment: weights, what a step needs, and how much is left for the
// cache.
#pragma once

#include <string>

#include "base/status.h"
#include "base/units.h"
#include "serving/llm_deployment.h"

namespace dfsim::inline serving {

struct LlmMemoryOptions {
  double utilization = 0.9;        // share of the GPU's memory that the engine may take
  int64_t max_step_tokens = 8192;  // token budget of a step: sizes activations
  int64_t max_sequences = 256;     // sizes logits
  int64_t block_tokens = 16;       // cache is given out in blocks
  // Tokens of a sequence at its end: layers with a sliding window keep no more than the window of
  // them. 0: unknown, every layer keeps all.
  int64_t sequence_tokens = 0;
  bool cuda_graphs = true;
};

// Bytes on the fullest GPU (of the pipeline stage with most layers).
struct LlmMemory {
  Bytes capacity = 0;  // of the GPU
  Bytes usable = 0;    // capacity * utilization
  Bytes weights = 0;
  Bytes activations = 0;  // of the largest step
  Bytes workspace = 0;    // libraries' buffers and the CUDA context
  Bytes cuda_graphs = 0;
  Bytes cache = 0;                   // what is left
  double cache_bytes_per_token = 0;  // mean over a sequence's tokens
  int64_t cache_blocks = 0;
  int64_t cache_tokens = 0;  // cache_blocks * block_tokens
};

// Errors: those of check_deployment(); kInvalidInput with the whole sum when not even one block of
// cache fits.
StatusOr<LlmMemory> llm_memory(const LlmDeployment& deployment, const LlmMemoryOptions& options);

// Bytes of weights on the fullest GPU.
Bytes llm_weight_bytes(const LlmDeployment& deployment);

// "72.5 GB usable (80.0 GB x 0.9) - 65.5 GB weights - ... = 3.2 GB cache": for messages and
// reports.
std::string describe_memory(const LlmMemory& memory);

}  // namespace dfsim::inline serving
