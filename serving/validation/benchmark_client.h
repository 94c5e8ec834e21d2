// How the campaigns behind measured deployments set up their servers and clients, as far as the
// rows do not say it themselves: published scripts where there are, else what the rows' latencies
// show.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "serving/serve.h"
#include "serving/validation/measured_runs.h"

namespace dfsim::inline serving {

struct BenchmarkClient {
  std::string name;
  int64_t requests_per_user = 10;
  double low = 1;  // lengths are uniform in [low, high] times isl and osl
  double high = 1;
  int64_t budget_tokens = 0;    // per step; 0: the framework's default
  int64_t prefill_tokens = 0;   // SGLang: of one prefill batch; 0: its default
  bool cap_sequences = true;    // the server runs at most as many sequences as there are users,
  int64_t spare_sequences = 0;  // plus these
  double latency_us = 0;        // of a request on the client's side
  double repeated_prompt = 0;   // share of each prompt that all prompts have in common
  std::string evidence;
};

// The client and server settings of a run's campaign.
BenchmarkClient client_of(const MeasuredRun& run);

// The run's deployment; `model` is its configuration. Widths that a campaign recorded as the
// product of tp and ep are corrected. Errors: an unknown framework or precision.
StatusOr<LlmDeployment> deployment_of(const MeasuredRun& run, const LlmConfig& model);

// Workload and limits of a run; costs, cache and parameters are left to the caller.
ServeSetup setup_of(const MeasuredRun& run);

// A model's name without organisation, publisher's prefix, "-Instruct" and precision, in lower
// case; models of one shape have the name of one of them (DeepSeek-R1 that of V3): one
// configuration serves all of them.
std::string base_model_name(const std::string& model);

}  // namespace dfsim::inline serving
