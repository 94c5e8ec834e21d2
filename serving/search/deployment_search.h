// Which deployment serves a workload best within its limits: tries widths, precisions, loads and
// aggregated or disaggregated layouts, simulates each, and keeps the Pareto front.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/serve.h"
#include "serving/serving_defaults.h"

namespace dfsim::inline serving {

struct DeploymentSearchOptions {
  LlmDeployment base;  // model, system, framework, version; widths are searched
  int gpus = 8;
  std::vector<LlmPrecision> precisions;  // of weights; empty: as published
  std::vector<int64_t> batch_limits;     // sequences at once, to try; empty: the framework's
  std::vector<int64_t> users;            // per replica; empty: powers of two from 1 to 512
  LengthRange prompt{1024, 1024};
  LengthRange output{512, 512};
  int64_t requests_per_user = 6;  // the first of each is warm-up
  ServiceLevel level;             // on means
  bool disaggregated = true;      // also try prefill and decode replicas apart
  CacheLink link{50e9, 20, 0};    // between them; bytes per token come from the model
  std::optional<double> dollars_per_gpu_hour;
  uint64_t seed = 1;
  int threads = 0;  // 0: as many as the machine has
};

// One deployment under one load.
struct DeploymentCandidate {
  LlmParallelism widths;
  LlmPrecisions precisions;
  bool disaggregated = false;
  int replicas = 1;  // aggregated, or prefill
  int decode_replicas = 0;
  LlmParallelism decode_widths;
  int64_t users = 1;          // over all replicas
  int64_t max_sequences = 0;  // limit on sequences at once; 0: the framework's
  int gpus = 1;               // in use
  std::string failure;        // why it cannot be served; "" when it can
  Estimate ttft_ms, tpot_ms, e2e_ms;
  Estimate tokens_per_s, tokens_per_s_per_gpu;
  double tokens_per_s_per_user = 0;
  std::optional<Estimate> dollars_per_million_tokens;
  bool within_limits = false;  // means keep all limits
  bool on_front = false;       // no other within the limits is better in both rates

  // "tp 4 x 2, fp8": as tables show it.
  std::string layout() const;
};

struct DeploymentSearch {
  std::vector<DeploymentCandidate> candidates;  // in order of trial
  std::vector<size_t> front;   // indices, by tokens per second and user, fastest first
  std::optional<size_t> best;  // within the limits, most tokens per second and GPU
  // Without a best: the candidate that exceeds its worst limit by the smallest factor.
  std::optional<size_t> nearest;
  int64_t deployments = 0;  // layouts tried, each under several loads
  int64_t failed = 0;

  // Why there is no best: every deployment fails, and how the one with the widest replicas does; or
  // the nearest one's latencies. "" when there is one.
  std::string why_none() const;
};

// Errors: options out of range, kFailed when cancelled. A deployment that does not fit is a
// candidate with a failure. `progress` hears of candidates done.
StatusOr<DeploymentSearch> search_deployments(const DeploymentSearchOptions& options,
                                              const ServerProgress& progress = {});

}  // namespace dfsim::inline serving
