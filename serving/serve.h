// Simulates a language-model server under a workload: latencies, throughput, cache, shares, with
// intervals. `dfsim llm serve`, the search over deployments and the comparison with measured
// deployments call it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/engine/server.h"
#include "serving/metrics/collector.h"
#include "serving/step_cost.h"

namespace dfsim::inline serving {

// Where requests come from.
struct WorkloadOptions {
  enum class Kind : uint8_t { kUsers, kRate, kTrace };
  Kind kind = Kind::kUsers;
  ClosedLoopOptions users;
  OpenLoopOptions rate;
  TraceReplayOptions trace;
  SyntheticLengths lengths;  // not for traces
  uint64_t seed = 1;
};
StatusOr<std::unique_ptr<RequestSource>> make_source(const WorkloadOptions& options);

// How the framework serves, apart from the kernels.
struct EngineOptions {
  std::string policy = "vllm";
  BatchLimits limits;                  // zeros: the policy's defaults
  int64_t block_tokens = 0;            // 0: the policy's
  std::optional<bool> schedule_ahead;  // absent: the policy's
  bool prefix_caching = false;
  FrontendModel frontend;
  bool fast_forward = true;
};

// Half-widths of 80 % intervals in log(true / predicted), as found on measured deployments.
struct ServingErrors {
  double ttft = 0.35;
  double tpot = 0.2;
};

// A number with its 80 % interval.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct LatencyEstimate {
  int64_t count = 0;
  Estimate mean_ms, p50_ms, p90_ms, p99_ms;
};

// `costs` and `decode_costs` are not owned. One model's steps cost the same on each of its
// replicas.
struct ServeSetup {
  EngineOptions engine;
  WorkloadOptions workload;
  StepCostModel* costs = nullptr;
  int64_t cache_tokens = 0;  // per replica, or per data-parallel rank
  int gpus_per_replica = 1;
  int replicas = 1;
  // Pipeline stages of a replica. As many batches are in flight, one in each stage, and each has
  // its share of the cache and of the sequences; fewer, where a share is too small for a request.
  int stages = 1;
  // Data-parallel ranks of a replica: engines in lockstep, each with `cache_tokens` of its own.
  int ranks = 1;
  // Disaggregated: `replicas` prefill, these decode (0: aggregated).
  int decode_replicas = 0;
  int gpus_per_decode_replica = 1;
  int decode_stages = 1;
  int decode_ranks = 1;
  StepCostModel* decode_costs = nullptr;
  int64_t decode_cache_tokens = 0;
  CacheLink link;
  int64_t max_request_tokens = 0;  // the model's context; 0: unlimited
  int64_t max_waiting = 100'000;
  int64_t warmup_requests = 0;
  ServiceLevel level;
  std::optional<double> dollars_per_gpu_hour;
  ServingErrors errors;
  // Policies besides the built-in ones; not owned.
  const BatchPolicyRegistry* policies = nullptr;

  int gpus() const {
    return replicas * gpus_per_replica + decode_replicas * gpus_per_decode_replica;
  }
};

// A point of the time series.
struct SeriesPoint {
  double time_s = 0;
  TimeSeries::Values values{};
};

struct ServeResult {
  int64_t requests = 0;  // finished and counted
  int64_t rejected = 0;
  int64_t prompt_tokens = 0;
  int64_t output_tokens = 0;
  double duration_s = 0;  // first arrival to last token
  bool overloaded = false;
  int64_t waiting_at_last_arrival = 0;
  LatencyEstimate ttft, tpot, itl, e2e, queue;
  int gpus = 1;
  Estimate output_tokens_per_s, requests_per_s, output_tokens_per_s_per_gpu;
  double total_tokens_per_s = 0;
  std::optional<Estimate> goodput_per_s;               // requests that keep all limits
  std::optional<double> goodput_share;                 // of the finished ones
  std::optional<Estimate> dollars_per_million_tokens;  // output tokens
  int64_t steps = 0;
  double busy_share = 0;  // of time in which an engine computes
  double frontend_busy_share = 0;
  double mean_decodes = 0;  // per step that decodes
  double peak_cache_share = 0;
  double prefix_hit_share = 0;  // of prompt tokens
  int64_t preemptions = 0;
  int64_t transfers = 0;
  int64_t cache_tokens = 0;
  std::array<double, kStepPartCount> part_share{};  // of the engines' time
  double bin_s = 0;
  std::vector<SeriesPoint> series;
  std::vector<TimeHistogram::Bucket> ttft_buckets, itl_buckets, e2e_buckets;
};

// The engines of the server in the order of StepRecord::replica, "replica 0" or "prefill replica
// 1"; those of a pipeline are "replica 0, batch 2", data-parallel ones "replica 0, rank 2". Errors:
// those of simulate_serving() that need no simulation.
StatusOr<std::vector<std::string>> engine_names(const ServeSetup& setup);

// Errors: options out of range, an unknown policy, workloads that cannot be served, the cost
// model's. Deterministic. `steps`, when given, hears of every run of steps (for a trace).
StatusOr<ServeResult> simulate_serving(const ServeSetup& setup, ReplicaListener* steps = nullptr,
                                       const ServerProgress& progress = {});

}  // namespace dfsim::inline serving
