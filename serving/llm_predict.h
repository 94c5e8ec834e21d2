// The use cases of `dfsim llm inspect` and `dfsim llm predict`: a model in numbers, and one prefill
// and one decode step of a deployment, kernel by kernel.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/llm/llm_parameters.h"
#include "serving/llm_memory.h"
#include "serving/step_cost.h"

namespace dfsim::inline serving {

// Independent of any GPU.
struct LlmInspection {
  std::string name;
  std::string model_type;
  std::vector<std::string> left_out;  // LlmConfig::left_out
  int64_t layers = 0;
  LlmParameters parameters;
  int64_t active_parameters = 0;
  double flops_per_token = 0;  // of a decode over an empty cache, logits included
  double weight_bytes = 0;     // at the given precisions, all GPUs together without replicas
  double cache_bytes_per_token = 0;
  int64_t state_elements = 0;  // of a sequence of any length, in layers of linear attention
  // Layers that are alike.
  struct LayerGroup {
    LlmLayer layer;
    int64_t count = 0;
  };
  std::vector<LayerGroup> groups;
};
LlmInspection inspect_llm(const LlmConfig& config, const LlmPrecisions& precisions);

struct LlmPredictOptions {
  LlmDeployment deployment;
  ServingRuntime runtime;
  LlmMemoryOptions memory;
  // Decoded together on each data-parallel rank; each pipeline stage works on another batch of so
  // many. Prompts are computed one at a time.
  int64_t sequences = 1;
  int64_t prompt_tokens = 1024;
  int64_t context_tokens = 1024;  // in each decoding sequence's cache
};

struct StepPrediction {
  StepCost cost;
  double low_ms = 0;  // 80 % interval
  double high_ms = 0;
  std::vector<KernelTime> kernels;
};

struct LlmPrediction {
  LlmMemory memory;
  StepPrediction prefill;           // one prompt, alone
  StepPrediction decode;            // one token for every sequence
  int64_t sequences_in_flight = 0;  // of the whole deployment: of all ranks and stages
  double decode_tokens_per_s = 0;   // likewise
  std::vector<std::string> notes;
};

// Errors: those of make_step_cost_model() and llm_memory(); kInvalidInput for counts below 1, a
// prompt or context longer than the model's positions, or more cached tokens than fit.
StatusOr<LlmPrediction> predict_llm(const LlmPredictOptions& options);

// The published precisions of a config: what its quantization_config says, else bf16.
LlmPrecisions published_precisions(const LlmConfig& config);

}  // namespace dfsim::inline serving
