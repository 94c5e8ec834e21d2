// SGLang's scheduler: prompts come first. When a waiting request fits, the next step is a prefill
// batch and decodes pause (unless chunks are mixed); only without one do the running sequences
// decode. A prompt that exceeds chunked_prefill_size is continued at the head of the next prefill
// batch.
//
// Admission estimates how much of their remaining output the running requests will use:
// new_token_ratio, which starts at 0.7, falls to 0.098 over 600 decode steps, and is reset when
// the estimate was too low and sequences had to be retracted (the ones with the least output
// first).
#include <algorithm>

#include "serving/policies/builtin_policies.h"

namespace dfsim::inline serving {
namespace {

constexpr double kInitialTokenRatio = 0.7;
constexpr double kSmallestTokenRatio = 0.098;
constexpr double kRatioDecaySteps = 600;
constexpr int64_t kRetractAheadSteps = 20;

class SglangPolicy final : public BatchPolicy {
 public:
  void plan(BatchState& state, TimeNs now, StepPlan* plan) override {
    plan_prefill(state, now, plan);
    if (!plan->slices.empty()) {
      if (state.limits().mixed_chunks) {
        add_decodes(state, plan);
      }
      return;
    }
    retract(state);
    add_decodes(state, plan);
    decay(1);
    // With requests waiting for blocks, a falling ratio may admit them in any later step.
    const bool full = static_cast<int64_t>(state.running().size()) >= state.limits().max_sequences;
    plan->repeatable = state.waiting().empty() || full || ratio_ == kSmallestTokenRatio;
  }
  void repeated(int64_t steps) override { decay(steps); }

 private:
  void decay(int64_t steps) {
    constexpr double kStep = (kInitialTokenRatio - kSmallestTokenRatio) / kRatioDecaySteps;
    ratio_ = std::max(kSmallestTokenRatio, ratio_ - kStep * static_cast<double>(steps));
  }

  void plan_prefill(BatchState& state, TimeNs now, StepPlan* plan) {
    const BatchLimits& limits = state.limits();
    int64_t chunk = limits.max_tokens;             // chunked_prefill_size
    int64_t input = limits.max_prefill_tokens;     // max_prefill_tokens
    for (const SequenceId id : state.running()) {  // at most one prompt is unfinished
      const int64_t tokens = std::min(state.sequence(id).missing(), chunk);
      if (!state.sequence(id).decoding() && tokens > 0 && state.grow(id, tokens)) {
        plan->slices.push_back({id, tokens});
        chunk -= tokens;
        input -= tokens;
      }
    }
    while (!state.waiting().empty() && chunk > 0 && input > 0 &&
           static_cast<int64_t>(state.running().size()) < limits.max_sequences) {
      const Sequence& next = state.sequence(state.waiting().front());
      const int64_t expected = next.target - state.cache().cached_tokens(next.spec) +
                               next.spec.output_tokens - next.generated;
      const int64_t spare =
          state.cache().available_blocks() * state.cache().block_tokens() - promised_tokens(state);
      // Nothing runs: whatever fits the cache at all must go ahead, or it would wait for ever.
      if (expected > spare && !state.running().empty()) {
        return;
      }
      const SequenceId id = state.admit(now);
      const int64_t missing = state.sequence(id).missing();
      if (state.sequence(id).decoding()) {  // its cache came from a prefill server
        if (!state.grow(id, 1)) {
          state.cancel_admission();
          return;
        }
        continue;
      }
      const int64_t tokens = limits.chunked_prefill ? std::min(missing, chunk) : missing;
      const bool first = plan->slices.empty();
      if ((!first && !limits.chunked_prefill && tokens > std::min(chunk, input)) ||
          !state.grow(id, tokens)) {
        state.cancel_admission();
        return;
      }
      plan->slices.push_back({id, tokens});
      chunk -= tokens;
      input -= tokens;
    }
  }

  // Tokens that running sequences are expected to add.
  int64_t promised_tokens(const BatchState& state) const {
    double tokens = 0;
    for (const SequenceId id : state.running()) {
      const Sequence& sequence = state.sequence(id);
      tokens += ratio_ * static_cast<double>(sequence.spec.output_tokens - sequence.generated) +
                static_cast<double>(sequence.decoding() ? 0 : sequence.missing());
    }
    return static_cast<int64_t>(tokens);
  }

  static int64_t blocks_of_next_step(const BatchState& state) {
    int64_t blocks = 0;
    for (const SequenceId id : state.running()) {
      const Sequence& sequence = state.sequence(id);
      if (sequence.decoding()) {
        blocks += state.cache().missing_blocks(sequence.share, sequence.computed + 1);
      }
    }
    return blocks;
  }

  void retract(BatchState& state) {
    bool retracted = false;
    while (state.running().size() > 1 &&
           blocks_of_next_step(state) > state.cache().available_blocks()) {
      const auto victim = std::min_element(
          state.running().begin(), state.running().end(), [&](SequenceId a, SequenceId b) {
            const Sequence& x = state.sequence(a);
            const Sequence& y = state.sequence(b);
            return x.generated != y.generated ? x.generated < y.generated
                                              : x.spec.prompt_tokens > y.spec.prompt_tokens;
          });
      state.preempt(*victim);
      retracted = true;
    }
    if (retracted) {
      int64_t generated = 0;
      int64_t total = 0;
      for (const SequenceId id : state.running()) {
        generated += state.sequence(id).generated;
        total += state.sequence(id).spec.output_tokens;
      }
      const int64_t count = static_cast<int64_t>(state.running().size());
      ratio_ = std::min(1.0, static_cast<double>(generated + kRetractAheadSteps * count) /
                                 static_cast<double>(std::max<int64_t>(1, total)));
    }
  }

  static void add_decodes(BatchState& state, StepPlan* plan) {
    for (const SequenceId id : state.running()) {
      if (state.sequence(id).decoding() && state.grow(id, 1)) {
        plan->slices.push_back({id, 1});
      }
    }
  }

  double ratio_ = kInitialTokenRatio;
};

}  // namespace

std::unique_ptr<BatchPolicy> make_sglang_policy(const BatchLimits&) {
  return std::make_unique<SglangPolicy>();
}

}  // namespace dfsim::inline serving
