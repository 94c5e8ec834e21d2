// The composition of one engine step of a language-model server: how many tokens each sequence
// computes and how many it has cached.
//
// Units: tokens. StepCostModel (step_cost.h) checks the invariants: every slice has new tokens and
// a context that is not negative.
#pragma once

#include <cstdint>
#include <vector>

namespace dfsim::inline serving {

// One sequence's part of a step.
struct SequenceSlice {
  int64_t new_tokens = 0;      // tokens computed in this step (1 for a decode)
  int64_t context_tokens = 0;  // tokens of this sequence already in the KV cache
};

// The composition of one rank's step; either part may be empty, both empty is an idle step and an
// error.
struct StepBatch {
  std::vector<SequenceSlice> prefill;
  std::vector<SequenceSlice> decode;
  // New tokens of all data-parallel ranks in this step, which the experts compute together. 0: as
  // many in every rank as here.
  int64_t all_tokens = 0;
};

}  // namespace dfsim::inline serving
