// A step cost that can be computed by hand, for tests of what surrounds it.
#pragma once

#include <string>
#include <vector>

#include "serving/step_cost.h"

namespace dfsim::testing {

// base + per new token + per token of context read + per token of all ranks, in nanoseconds. The
// number of calls is counted.
class FakeCost final : public StepCostModel {
 public:
  TimeNs base_ns = 1'000'000;
  TimeNs token_ns = 10'000;
  TimeNs context_ns = 100;
  TimeNs expert_ns = 0;
  double interval_share = 1;  // of the step's time
  int64_t calls = 0;

  StatusOr<StepCost> cost(const StepBatch& batch) override {
    ++calls;
    int64_t new_tokens = 0;
    int64_t context_tokens = 0;
    for (const auto* part : {&batch.prefill, &batch.decode}) {
      for (const SequenceSlice& slice : *part) {
        new_tokens += slice.new_tokens;
        context_tokens += slice.context_tokens;
      }
    }
    StepCost cost;
    cost.split_ns[static_cast<size_t>(StepPart::kGemm)] = token_ns * new_tokens;
    cost.split_ns[static_cast<size_t>(StepPart::kAttentionDecode)] = context_ns * context_tokens;
    cost.split_ns[static_cast<size_t>(StepPart::kMoe)] = expert_ns * batch.all_tokens;
    cost.split_ns[static_cast<size_t>(StepPart::kHost)] = base_ns;
    for (const TimeNs part : cost.split_ns) {
      cost.time_ns += part;
    }
    cost.interval_ns = static_cast<TimeNs>(static_cast<double>(cost.time_ns) * interval_share);
    cost.log_sigma = 0.1;
    return cost;
  }
  StatusOr<std::vector<KernelTime>> explain(const StepBatch&) override {
    return std::vector<KernelTime>();
  }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  std::vector<std::string> notes_;
};

}  // namespace dfsim::testing
