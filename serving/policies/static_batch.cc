// Static batching, as servers did before continuous batching and as calculators assume: a batch is
// filled, computed until its last sequence is done, and only then is the next one filled. The
// baseline that the others are compared with.
#include "serving/policies/builtin_policies.h"

namespace dfsim::inline serving {
namespace {

class StaticBatchPolicy final : public BatchPolicy {
 public:
  void plan(BatchState& state, TimeNs now, StepPlan* plan) override {
    while (filling(state)) {
      const SequenceId id = state.admit(now);
      if (!state.reserve_all(id)) {
        state.cancel_admission();
        break;
      }
    }
    // All prompts first, as many per step as the budget allows, then decodes together.
    int64_t budget = state.limits().max_tokens;
    for (const SequenceId id : state.running()) {
      const int64_t missing = state.sequence(id).missing();
      if (!state.sequence(id).decoding() && budget > 0) {
        plan->slices.push_back({id, missing < budget ? missing : budget});
        budget -= plan->slices.back().tokens;
      }
    }
    if (plan->slices.empty()) {
      for (const SequenceId id : state.running()) {
        plan->slices.push_back({id, 1});
      }
      plan->repeatable = true;
      full_ = !state.running().empty();
    }
  }

 private:
  bool filling(const BatchState& state) {
    full_ = full_ && !state.running().empty();
    return !full_ && !state.waiting().empty() &&
           static_cast<int64_t>(state.running().size()) < state.limits().max_sequences;
  }

  bool full_ = false;  // decoding has begun
};

}  // namespace

std::unique_ptr<BatchPolicy> make_static_policy(const BatchLimits&) {
  return std::make_unique<StaticBatchPolicy>();
}

}  // namespace dfsim::inline serving
