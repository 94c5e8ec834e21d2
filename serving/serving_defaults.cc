// Fitted parameters per framework: the result of `dfsim llm validate --fit` on the fit half of the
// measured deployments (docs/reference/llm-serving.md).
#include "serving/serving_defaults.h"

#include <algorithm>

namespace dfsim::inline serving {
namespace {

constexpr int64_t kLargestGraphBatch = 512;

FrameworkProfile vllm_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kVllm;
  profile.runtime.step_us = 400;
  profile.runtime.per_sequence_us = 15;
  profile.runtime.per_token_us = 2;
  profile.runtime.kernel_gap_us = 0.4;
  profile.runtime.gemm_scale = 1.22;
  profile.runtime.gemm_8bit_scale = 0.7;
  profile.runtime.prefill_attention_scale = 1.8875;
  profile.runtime.decode_attention_scale = 0.5;
  profile.runtime.moe_scale = 0.73;
  profile.runtime.moe_prefill_scale = 3.3;
  profile.runtime.comm_scale = 1.075;
  profile.errors = {0.154, 0.1};
  return profile;
}

FrameworkProfile trtllm_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kTrtllm;
  profile.runtime.step_us = 800;
  profile.runtime.per_sequence_us = 11.25;
  profile.runtime.per_token_us = 0.4125;
  profile.runtime.gemm_scale = 0.95;
  profile.runtime.gemm_8bit_scale = 0.79;
  profile.runtime.prefill_attention_scale = 2;
  profile.runtime.decode_attention_scale = 0.71875;
  profile.runtime.moe_scale = 0.91;
  profile.runtime.comm_scale = 0.925;
  profile.errors = {0.356, 0.14};
  return profile;
}

FrameworkProfile sglang_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kSglang;
  profile.memory_share = 0.88;
  profile.runtime.step_us = 1200;
  profile.runtime.per_sequence_us = 15;
  profile.runtime.gemm_scale = 0.88;
  profile.runtime.gemm_8bit_scale = 0.74;
  profile.runtime.prefill_attention_scale = 1.9;
  profile.runtime.decode_attention_scale = 0.925;
  profile.frontend.latency_us = 67500;
  profile.frontend.prompt_token_us = 1.4;
  profile.frontend.output_token_us = 55;
  profile.errors = {0.694, 0.065};
  return profile;
}

}  // namespace

const FrameworkProfile& framework_profile(LlmFramework framework) {
  static const FrameworkProfile kVllmProfile = vllm_profile();
  static const FrameworkProfile kTrtllmProfile = trtllm_profile();
  static const FrameworkProfile kSglangProfile = sglang_profile();
  return framework == LlmFramework::kVllm     ? kVllmProfile
         : framework == LlmFramework::kTrtllm ? kTrtllmProfile
                                              : kSglangProfile;
}

ServingRuntime runtime_for(const FrameworkProfile& profile, int64_t max_sequences) {
  ServingRuntime runtime = profile.runtime;
  runtime.graph_batches =
      default_graph_batches(std::clamp<int64_t>(max_sequences, 1, kLargestGraphBatch));
  return runtime;
}

}  // namespace dfsim::inline serving
