// The list of batching policies. Defaults are those of the servers on GPUs with 80 GB and more.
#include <utility>

#include "base/text.h"
#include "serving/policies/builtin_policies.h"

namespace dfsim::inline serving {
namespace {

// max_sequences, max_tokens, max_prefill_tokens, chunked_prefill, mixed_chunks
constexpr BatchLimits kSglangLimits = {1024, 8192, 16384, true, false};
constexpr BatchLimits kStaticLimits = {64, 8192, 0, true, false};
constexpr BatchLimits kTrtllmLimits = {2048, 8192, 0, false, false};
constexpr BatchLimits kVllmLimits = {1024, 8192, 0, true, false};

std::vector<std::string> policy_names(const std::vector<BatchPolicyInfo>& policies) {
  std::vector<std::string> names;
  for (const BatchPolicyInfo& policy : policies) {
    names.push_back(policy.name);
  }
  return names;
}

}  // namespace

const std::vector<BatchPolicyInfo>& builtin_batch_policies() {
  // name, summary, citation, limits, block tokens, schedules ahead, keeps order, never preempts,
  // maker
  static const std::vector<BatchPolicyInfo> kPolicies = {
      {"sglang", "prompts before decodes, chunked prefill, radix cache, overlapped scheduling",
       "SGLang 0.5 documentation; Zheng et al. 2024, arXiv:2312.07104", kSglangLimits, 1, true,
       true, false, make_sglang_policy},
      {"static", "a batch runs until its last request is done; the next one waits", "",
       kStaticLimits, 16, false, true, true, make_static_policy},
      {"trtllm", "in-flight batching, cache for the whole output reserved at admission",
       "TensorRT-LLM 1.0 documentation, capacity scheduler GUARANTEED_NO_EVICT", kTrtllmLimits, 32,
       true, true, true, make_trtllm_policy},
      {"vllm",
       "one token budget per step, decodes first, chunked prefill, preemption by recomputation",
       "vLLM v1 documentation; Kwon et al. 2023, doi:10.1145/3600006.3613165", kVllmLimits, 16,
       false, true, false, make_vllm_policy},
  };
  return kPolicies;
}

StatusOr<BatchPolicyInfo> BatchPolicyRegistry::find(const std::string& name) const {
  for (const BatchPolicyInfo& policy : policies_) {
    if (policy.name == name) {
      return policy;
    }
  }
  return invalid_input(unknown_name_message("batching policy", name, policy_names(policies_)));
}

Status BatchPolicyRegistry::add(BatchPolicyInfo policy) {
  if (policy.name.empty() || policy.make == nullptr) {
    return invalid_input("batching policy '" + policy.name +
                         "': it has no name or no maker, expected both");
  }
  if (find(policy.name).ok()) {
    return invalid_input("batching policy '" + policy.name +
                         "': the name is taken, expected a new one");
  }
  policies_.push_back(std::move(policy));
  return ok_status();
}

StatusOr<BatchLimits> complete_limits(const BatchPolicyInfo& policy, const BatchLimits& limits) {
  if (limits.max_sequences < 0 || limits.max_tokens < 0 || limits.max_prefill_tokens < 0) {
    return invalid_input("batching policy '" + policy.name +
                         "': a negative limit, expected 1 or more, or 0 for the default");
  }
  BatchLimits complete = limits;
  const auto fill = [](int64_t* value, int64_t fallback) {
    *value = *value == 0 ? fallback : *value;
  };
  fill(&complete.max_sequences, policy.defaults.max_sequences);
  fill(&complete.max_tokens, policy.defaults.max_tokens);
  fill(&complete.max_prefill_tokens, policy.defaults.max_prefill_tokens > 0
                                         ? policy.defaults.max_prefill_tokens
                                         : complete.max_tokens);
  return complete;
}

}  // namespace dfsim::inline serving
