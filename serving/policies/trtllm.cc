// TensorRT-LLM's in-flight batching: the capacity scheduler "guaranteed no evict" admits a request
// when blocks for its whole prompt and output can be set aside, so an admitted request never loses
// them; the micro-batch scheduler then takes all decodes and adds prompts, first come first served,
// while the step stays within max_num_tokens. Without chunked context a prompt is computed in one
// step; with it, it is cut to what is left.
#include <algorithm>

#include "serving/policies/builtin_policies.h"

namespace dfsim::inline serving {
namespace {

class TrtllmPolicy final : public BatchPolicy {
 public:
  void plan(BatchState& state, TimeNs now, StepPlan* plan) override {
    const BatchLimits& limits = state.limits();
    while (!state.waiting().empty() &&
           static_cast<int64_t>(state.running().size()) < limits.max_sequences) {
      const SequenceId id = state.admit(now);
      if (!state.reserve_all(id)) {
        state.cancel_admission();
        break;
      }
    }
    int64_t budget = limits.max_tokens;
    bool only_decodes = true;
    for (const SequenceId id : state.running()) {
      if (state.sequence(id).decoding() && budget > 0) {
        plan->slices.push_back({id, 1});
        --budget;
      }
    }
    for (const SequenceId id : state.running()) {
      const int64_t missing = state.sequence(id).missing();
      if (state.sequence(id).decoding()) {
        continue;
      }
      only_decodes = false;
      if (missing > budget && !(limits.chunked_prefill && budget > 0)) {
        break;
      }
      plan->slices.push_back({id, std::min(missing, budget)});
      budget -= std::min(missing, budget);
    }
    plan->repeatable = only_decodes;
  }
};

}  // namespace

std::unique_ptr<BatchPolicy> make_trtllm_policy(const BatchLimits&) {
  return std::make_unique<TrtllmPolicy>();
}

}  // namespace dfsim::inline serving
