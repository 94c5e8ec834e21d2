// vLLM's v1 scheduler: one token budget per step for everything. Running sequences come first (one
// token each, or the next chunk of their prompt), then waiting ones in order of arrival; a prompt
// is cut to what is left of the budget. When blocks run out, the sequence admitted last loses its
// cache and computes it again later.
#include <algorithm>

#include "serving/policies/builtin_policies.h"

namespace dfsim::inline serving {
namespace {

class VllmPolicy final : public BatchPolicy {
 public:
  void plan(BatchState& state, TimeNs now, StepPlan* plan) override {
    int64_t budget = state.limits().max_tokens;
    const bool preempted = plan_running(state, &budget, plan);
    // A sequence that lost its blocks in this step would only take them back from others.
    if (!preempted) {
      admit_waiting(state, now, &budget, plan);
    }
    // Nothing but decodes, and no request could be admitted: neither changes before an event.
    plan->repeatable = !preempted && std::all_of(plan->slices.begin(), plan->slices.end(),
                                                 [&](const PlannedSlice& slice) {
                                                   return state.sequence(slice.sequence).decoding();
                                                 });
  }

 private:
  static bool plan_running(BatchState& state, int64_t* budget, StepPlan* plan) {
    bool preempted = false;
    for (size_t i = 0; i < state.running().size() && *budget > 0; ++i) {
      const SequenceId id = state.running()[i];
      const int64_t tokens = std::min(state.sequence(id).missing(), *budget);
      bool fits = state.grow(id, tokens);
      while (!fits) {
        const SequenceId victim = state.running().back();
        state.preempt(victim);
        preempted = true;
        if (victim == id) {
          return true;
        }
        fits = state.grow(id, tokens);
      }
      plan->slices.push_back({id, tokens});
      *budget -= tokens;
    }
    return preempted;
  }

  static void admit_waiting(BatchState& state, TimeNs now, int64_t* budget, StepPlan* plan) {
    const BatchLimits& limits = state.limits();
    while (!state.waiting().empty() && *budget > 0 &&
           static_cast<int64_t>(state.running().size()) < limits.max_sequences) {
      const SequenceId id = state.admit(now);
      const int64_t missing = state.sequence(id).missing();
      const int64_t tokens = std::min(missing, *budget);
      // A prompt longer than the whole budget is cut even when chunks are off: it could never run.
      const bool cut = tokens < missing && !limits.chunked_prefill && missing <= limits.max_tokens;
      if (cut || !state.grow(id, tokens)) {
        state.cancel_admission();
        return;
      }
      plan->slices.push_back({id, tokens});
      *budget -= tokens;
    }
  }
};

}  // namespace

std::unique_ptr<BatchPolicy> make_vllm_policy(const BatchLimits&) {
  return std::make_unique<VllmPolicy>();
}

}  // namespace dfsim::inline serving
