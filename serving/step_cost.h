// The cost of one engine step of a language-model server: the interface between the simulated
// server (arrivals, batching, cache) and the kernel models.
//
// Units: nanoseconds of wall time of one data-parallel rank's step, from the scheduler's decision
// to
//   the sampled tokens; the next step's scheduler work that the engine hides is not counted.
// Invariants: deterministic; equal compositions cost the same; cost grows with neither argument's
//   order. Not thread-safe: make one model per thread (they share the loaded kernel models).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "serving/llm_deployment.h"
#include "serving/serving_runtime.h"
#include "serving/step_batch.h"
#include "serving/step_part.h"

namespace dfsim::inline serving {

struct StepCost {
  TimeNs time_ns = 0;  // the sum of split_ns
  // When the engine can start the next batch: time_ns without pipeline stages; with them, the time
  // of the longest stage.
  TimeNs interval_ns = 0;
  std::array<TimeNs, kStepPartCount> split_ns{};
  double log_sigma = 0;  // standard deviation of log(true / time_ns), from held-out kernels

  TimeNs part(StepPart part) const { return split_ns[static_cast<size_t>(part)]; }
};

// KernelTime::group of embedding, final norm, logits and sampling.
inline constexpr int kOutsideLayers = -1;

// One kind of kernel within a step.
struct KernelTime {
  std::string name;
  StepPart part = StepPart::kGemm;
  double repeats = 1;          // how often it runs in the step
  double time_us = 0;          // of one run, the runtime's scales included
  int group = kOutsideLayers;  // number of the group of like layers that runs it
};

class StepCostModel {
 public:
  virtual ~StepCostModel() = default;
  // Errors: kInvalidInput for an empty batch or a slice without new tokens or with a negative
  // context. About 1 us for a decode step of 64 sequences once its number of tokens was seen.
  virtual StatusOr<StepCost> cost(const StepBatch& batch) = 0;
  // The same step kernel by kernel: embedding, each group of like layers in the order of one layer,
  // logits. Same errors.
  virtual StatusOr<std::vector<KernelTime>> explain(const StepBatch& batch) = 0;
  // Measured kernels that come from other versions of the framework, one line each.
  virtual const std::vector<std::string>& notes() const = 0;
};

// The model for `deployment`: sums the kernels of all layers and pipeline stages and adds
// `runtime`. Errors: unknown system or version, precision without kernels there, widths that do not
// divide the model. Loads the kernel models of the system and framework once per process (some 10
// ms).
StatusOr<std::unique_ptr<StepCostModel>> make_step_cost_model(const LlmDeployment& deployment,
                                                              const ServingRuntime& runtime);

}  // namespace dfsim::inline serving
