// Measured deployments: servers under a closed loop of users, with the latencies that the benchmark
// client reported. The columns are those of aiconfigurator's silicon tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace dfsim::inline serving {

// One row. Times in ms: means over all requests, queueing included.
struct MeasuredRun {
  int64_t line = 0;  // in the file
  std::string id;
  std::string source;     // campaign, image and date, as far as recorded
  std::string framework;  // vllm, trtllm, sglang
  std::string version;
  std::string model;      // organisation/name
  std::string system;     // h100_sxm, ...
  std::string gemm_mode;  // bfloat16 where empty
  std::string moe_mode;
  int64_t isl = 0;
  int64_t osl = 0;
  int64_t users = 0;  // silicon_concurrency of the source where it is recorded, else batch_size
  int tp = 1;
  int pp = 1;
  int dp = 1;
  bool dp_recorded = false;
  int moe_tp = 1;
  int moe_ep = 1;
  double ttft_ms = 0;
  double tpot_ms = 0;

  // The requests that produced tokens at the same time, on average: of a user's time, the share
  // after the first token, times the users (Little's law). Below `users` where requests wait.
  double mean_running() const;
  // Equal in rows that describe the same deployment under the same load.
  std::string configuration() const;
};

// Rows in order. Errors (kInvalidInput, with file and line): missing columns, fields that are
// not positive numbers, no rows.
StatusOr<std::vector<MeasuredRun>> read_measured_runs(const std::string& path);

// Rows that contradict others: the same configuration and version with times per token that differ
// by more than `factor`, or more users (all else but the version equal) with a time per token lower
// by more than `factor`.
struct Contradiction {
  size_t first;   // indices into the runs
  size_t second;  // equal to first: the figures of that row contradict each other
  std::string what;
};
std::vector<Contradiction> find_contradictions(const std::vector<MeasuredRun>& runs, double factor);

}  // namespace dfsim::inline serving
