// One engine step as a timeline: when each kernel of each layer runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/step_cost.h"

namespace dfsim::inline serving {

// A kernel of one layer, or the step's host time.
struct StepSpan {
  std::string name;
  StepPart part = StepPart::kGemm;
  int64_t layer = -1;  // -1 outside layers
  double start_us = 0;
  double time_us = 0;
};

struct StepTimeline {
  int64_t sequences = 0;       // that decode
  int64_t context_tokens = 0;  // of each
  int64_t prompt_tokens = 0;
  double time_us = 0;  // the end of the last span
  std::vector<StepSpan> spans;
};

// The step's kernels one after another, then the host time that they do not hide. Layers of
// different kinds that alternate in the model are drawn one kind after the other, which changes no
// time. Errors: those of StepCostModel::cost(). O(layers x kernels of a layer).
StatusOr<StepTimeline> step_timeline(StepCostModel* costs, const StepBatch& batch);

}  // namespace dfsim::inline serving
