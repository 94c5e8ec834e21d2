// The campaigns. The rows show three: InferenceMAX (public scripts: lengths from 0.8 to 1 times
// the nominal ones, 10 requests per user, --max-num-seqs or --max_batch_size = users), and two of
// aiconfigurator's own, with powers of two and with thousands as lengths.
#include "serving/validation/benchmark_client.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "serving/deployment_checks.h"

namespace dfsim::inline serving {
namespace {

constexpr int64_t kInferenceMaxTrtllmTokens = 20000;  // --max_num_tokens in its scripts
constexpr double kInferenceMaxTrtllmLatencyUs = 40000;
constexpr double kRepeatedPrompt = 0.95;

bool inference_max(const MeasuredRun& run) {
  const bool scripted = run.dp_recorded || run.source.find("measured=") != std::string::npos;
  return scripted && run.isl % 1024 == 0 && run.osl % 1024 == 0;
}

void strip_suffix(std::string* name, const std::string& suffix) {
  if (name->size() > suffix.size() && name->ends_with(suffix)) {
    name->resize(name->size() - suffix.size());
  }
}

StatusOr<LlmPrecision> precision_of(const std::string& mode) {
  if (mode.empty() || mode == "bfloat16") {
    return LlmPrecision::kBf16;
  }
  if (mode == "fp8_static") {
    return LlmPrecision::kFp8;
  }
  if (mode == "nvfp4" || mode == "w4a16_mxfp4") {
    return LlmPrecision::kMxfp4;  // Hopper has no NVFP4; the rows' models are published in MXFP4
  }
  return llm_precision_from_name(mode);
}

}  // namespace

BenchmarkClient client_of(const MeasuredRun& run) {
  if (inference_max(run)) {
    return {"InferenceMAX",
            10,
            0.8,
            1,
            0,
            run.framework == "trtllm" ? kInferenceMaxTrtllmTokens : 0,
            true,
            0,
            run.framework == "trtllm" ? kInferenceMaxTrtllmLatencyUs : 0,
            0,
            "public scripts; the latency from TTFT at few users"};
  }
  if (run.isl % 1000 == 0) {
    const bool varied = run.framework == "sglang";
    // SGLang's show no waves of equal lengths; vLLM's would need more arithmetic than the GPUs
    // have, were all prompts computed.
    return {"aiconfigurator, lengths in thousands",
            10,
            varied ? 0.8 : 1.0,
            varied ? 1.2 : 1.0,
            0,
            0,
            false,
            0,
            0,
            run.framework == "vllm" ? kRepeatedPrompt : 0,
            "prompt tokens per second"};
  }
  BenchmarkClient client = {"aiconfigurator, lengths in powers of two",
                            10,
                            1,
                            1,
                            0,
                            0,
                            false,
                            0,
                            0,
                            0,
                            "TTFT at few users is that of two prompts per step at every length"};
  if (run.framework != "sglang") {
    client.budget_prompts = 2;
  }
  // One request is always queued in these rows (TTFT exceeds the prefill by one time between
  // departures, whatever the output length).
  if (run.framework == "trtllm" && (run.gemm_mode.empty() || run.gemm_mode == "bfloat16")) {
    client.cap_sequences = true;
    client.spare_sequences = -1;
  }
  return client;
}

StatusOr<LlmDeployment> deployment_of(const MeasuredRun& run, const LlmConfig& model) {
  LlmDeployment deployment;
  deployment.model = model;
  deployment.system = run.system;
  deployment.version = run.version;
  DFSIM_ASSIGN_OR_RETURN(deployment.framework, framework_from_name(run.framework));
  LlmParallelism& widths = deployment.parallelism;
  widths.tp = run.tp;
  widths.pp = run.pp;
  widths.dp = run.dp;
  widths.moe_ep = run.moe_ep;
  widths.moe_tp = 0;
  // Where experts were parallel, InferenceMAX's rows record tp * ep GPUs for tp = ep of them.
  if (inference_max(run) && run.moe_ep > 1 && run.moe_tp == run.moe_ep &&
      run.moe_tp * run.moe_ep == run.tp) {
    widths.tp = run.moe_tp;
  }
  DFSIM_ASSIGN_OR_RETURN(const LlmPrecision gemm, precision_of(run.gemm_mode));
  const bool four_bits = gemm == LlmPrecision::kMxfp4;
  deployment.precisions.attention = four_bits ? LlmPrecision::kBf16 : gemm;
  deployment.precisions.mlp = deployment.precisions.attention;
  deployment.precisions.experts = gemm;
  if (model.published_experts == LlmPrecision::kMxfp4) {
    deployment.precisions.experts = LlmPrecision::kMxfp4;
    deployment.precisions.attention = LlmPrecision::kBf16;
    deployment.precisions.mlp = LlmPrecision::kBf16;
  }
  if (deployment.precisions.attention == LlmPrecision::kFp8 && run.framework == "trtllm") {
    deployment.precisions.kv_cache = LlmPrecision::kFp8;
  }
  return deployment;
}

ServeSetup setup_of(const MeasuredRun& run) {
  const BenchmarkClient client = client_of(run);
  ServeSetup setup;
  setup.engine.policy = run.framework;
  setup.workload.kind = WorkloadOptions::Kind::kUsers;
  setup.workload.users.users = run.users;
  setup.workload.users.requests = run.users * client.requests_per_user;
  const auto range = [&](int64_t tokens) {
    const double length = static_cast<double>(tokens);
    return LengthRange{std::max<int64_t>(1, std::llround(std::floor(length * client.low))),
                       std::llround(std::floor(length * client.high))};
  };
  setup.workload.lengths.prompt = range(run.isl);
  setup.workload.lengths.output = range(run.osl);
  if (client.repeated_prompt > 0) {
    setup.engine.prefix_caching = true;
    setup.workload.lengths.prefix.tokens = static_cast<int64_t>(
        client.repeated_prompt * static_cast<double>(setup.workload.lengths.prompt.low));
  }
  BatchLimits& limits = setup.engine.limits;
  limits.chunked_prefill = run.framework != "trtllm";
  limits.max_tokens =
      client.budget_prompts > 0
          ? std::llround(client.budget_prompts * static_cast<double>(run.isl)) + run.users
          : client.budget_tokens;
  if (client.cap_sequences) {
    limits.max_sequences = std::max<int64_t>(1, run.users + client.spare_sequences);
  }
  return setup;
}

std::string base_model_name(const std::string& model) {
  const size_t slash = model.find_last_of('/');
  std::string name = to_lower(slash == std::string::npos ? model : model.substr(slash + 1));
  if (name.starts_with("meta-")) {
    name = name.substr(5);
  }
  for (const char* suffix : {"-bf16", "-fp8", "-fp4", "-instruct", "-instruct-v0.1", "-v0.1"}) {
    strip_suffix(&name, suffix);
  }
  return name;
}

}  // namespace dfsim::inline serving
