// Fitted parameters per framework: the result of `dfsim llm validate --fit` on the fit half of the
// measured deployments (docs/llm-serving.md).
#include "serving/serving_defaults.h"

#include <algorithm>

namespace dfsim::inline serving {
namespace {

constexpr int64_t kLargestGraphBatch = 512;

FrameworkProfile vllm_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kVllm;
  return profile;
}

FrameworkProfile trtllm_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kTrtllm;
  return profile;
}

FrameworkProfile sglang_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kSglang;
  profile.memory_share = 0.88;
  return profile;
}

}  // namespace

const FrameworkProfile& framework_profile(LlmFramework framework) {
  static const FrameworkProfile vllm = vllm_profile();
  static const FrameworkProfile trtllm = trtllm_profile();
  static const FrameworkProfile sglang = sglang_profile();
  return framework == LlmFramework::kVllm     ? vllm
         : framework == LlmFramework::kTrtllm ? trtllm
                                              : sglang;
}

ServingRuntime runtime_for(const FrameworkProfile& profile, int64_t max_sequences) {
  ServingRuntime runtime = profile.runtime;
  runtime.graph_batches = default_graph_batches(
      std::clamp<int64_t>(max_sequences, 1, kLargestGraphBatch));
  return runtime;
}

}  // namespace dfsim::inline serving
