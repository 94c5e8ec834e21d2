// A language model on a number of GPUs under a serving framework: all that decides a step's cost
// and how much cache there is, apart from the requests themselves.
#pragma once

#include <string>

#include "base/units.h"
#include "graphs/llm/llm_config.h"

namespace dfsim::inline serving {

enum class LlmFramework : uint8_t { kVllm, kTrtllm, kSglang };

// Widths of parallelism. One replica runs on tp * pp * dp GPUs; attention is split over tp and
// replicated over dp, experts over moe_tp * moe_ep = tp * dp.
struct LlmParallelism {
  int tp = 1;
  int pp = 1;
  int dp = 1;
  int moe_tp = 0;  // 0: what moe_ep leaves
  int moe_ep = 1;

  int gpus() const { return tp * pp * dp; }
};

// Numeric formats by class of operator.
struct LlmPrecisions {
  LlmPrecision attention = LlmPrecision::kBf16;  // weights of q, k, v, o (with their activations)
  LlmPrecision mlp = LlmPrecision::kBf16;        // weights of dense blocks
  LlmPrecision experts = LlmPrecision::kBf16;    // weights of routed experts
  LlmPrecision kv_cache = LlmPrecision::kBf16;
};

struct LlmDeployment {
  LlmConfig model;
  std::string system = "h100_sxm";  // h100_sxm, h200_sxm, a100_sxm, l40s: which kernel models
  LlmFramework framework = LlmFramework::kVllm;
  std::string version;  // the framework's; "" = the newest measured, others: the nearest measured
  LlmParallelism parallelism;
  LlmPrecisions precisions;
};

}  // namespace dfsim::inline serving
