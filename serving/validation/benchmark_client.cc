// The campaigns. The rows show three: InferenceMAX (public scripts: lengths from 0.8 to 1 times
// the nominal ones, 10 requests per user, --max-num-seqs or --max_batch_size = users), and two of
// aiconfigurator's own, with powers of two and with thousands as lengths.
#include "serving/validation/benchmark_client.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "serving/deployment_checks.h"

namespace dfsim::inline serving {
namespace {

// --max_num_tokens of gpt-oss and --chunked-prefill-size of DeepSeek-R1 in InferenceMAX's scripts.
constexpr int64_t kInferenceMaxTrtllmTokens = 20000;
constexpr int64_t kInferenceMaxSglangTokens = 32768;
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

bool four_bits(const std::string& mode) { return mode == "nvfp4" || mode == "w4a16_mxfp4"; }

StatusOr<LlmPrecision> precision_of(const std::string& mode) {
  if (mode.empty() || mode == "bfloat16") {
    return LlmPrecision::kBf16;
  }
  if (mode == "fp8_static") {
    return LlmPrecision::kFp8;
  }
  if (four_bits(mode)) {
    return LlmPrecision::kMxfp4;  // Hopper has no NVFP4; the rows' models are published in MXFP4
  }
  return llm_precision_from_name(mode);
}

// The experts run on all GPUs of attention: moe_tp * moe_ep = tp * dp. Rows that count otherwise:
// InferenceMAX's record tp * ep GPUs for tp = ep of them where experts were parallel, and with
// attention_dp the column of tp may hold the number of GPUs.
LlmParallelism recorded_widths(const MeasuredRun& run, bool moe) {
  LlmParallelism widths;
  widths.tp = run.tp;
  widths.pp = run.pp;
  widths.dp = run.dp;
  widths.moe_ep = run.moe_ep;
  widths.moe_tp = 0;
  int world = run.moe_tp * run.moe_ep;
  if (!moe) {
    return widths;
  }
  if (inference_max(run) && run.moe_ep > 1 && run.moe_tp == run.moe_ep &&
      world == run.tp * run.dp) {
    world = run.moe_tp;
    widths.tp = world;
  }
  if (run.dp > 1 && widths.tp == world && world % run.dp == 0) {
    widths.tp = world / run.dp;
  }
  return widths;
}

// Models that share one configuration: fine-tuned or trained on, of one shape.
constexpr std::pair<std::string_view, std::string_view> kSameShape[] = {
    {"deepseek-r1", "deepseek-v3"},
    {"deepseek-r1-0528", "deepseek-v3"},
    {"deepseek-v3-0324", "deepseek-v3"},
    {"deepseek-v3.1", "deepseek-v3"},
    {"llama-3.3-70b", "llama-3.1-70b"},
    {"deepseek-r1-distill-llama-70b", "llama-3.1-70b"},
    {"deepseek-r1-distill-llama-8b", "llama-3.1-8b"},
};

}  // namespace

BenchmarkClient client_of(const MeasuredRun& run) {
  BenchmarkClient client;
  if (inference_max(run)) {
    client.name = "InferenceMAX";
    client.low = 0.8;
    client.evidence = "public scripts; the latency from TTFT at few users";
    if (run.framework == "trtllm") {
      client.latency_us = kInferenceMaxTrtllmLatencyUs;
      client.budget_tokens = four_bits(run.gemm_mode)
                                 ? kInferenceMaxTrtllmTokens
                                 : std::max<int64_t>(8192, run.users + run.isl + 128);
    } else if (run.framework == "sglang") {
      client.budget_tokens = client.prefill_tokens = kInferenceMaxSglangTokens;
      client.cap_sequences = false;
    }
    return client;
  }
  client.cap_sequences = false;
  if (run.isl % 1000 == 0) {
    client.name = "aiconfigurator, lengths in thousands";
    client.evidence = "prompt tokens per second";
    if (run.framework == "sglang") {  // no waves of equal lengths show
      client.low = 0.8;
      client.high = 1.2;
    }
    // Were all prompts computed, the GPUs would have to do more arithmetic than they can.
    client.repeated_prompt = run.framework == "vllm" ? kRepeatedPrompt : 0;
    return client;
  }
  client.name = "aiconfigurator, lengths in powers of two";
  client.evidence = "TTFT at few users is that of two prompts per step at every length";
  if (run.framework != "sglang") {
    client.budget_tokens = 2 * run.isl + run.users / run.dp;
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
  deployment.parallelism = recorded_widths(run, model.experts.experts > 0);
  DFSIM_ASSIGN_OR_RETURN(const LlmPrecision gemm, precision_of(run.gemm_mode));
  deployment.precisions.attention = gemm == LlmPrecision::kMxfp4 ? LlmPrecision::kBf16 : gemm;
  deployment.precisions.mlp = deployment.precisions.attention;
  DFSIM_ASSIGN_OR_RETURN(deployment.precisions.experts,
                         precision_of(run.moe_mode.empty() ? run.gemm_mode : run.moe_mode));
  if (model.published_experts == LlmPrecision::kMxfp4) {
    deployment.precisions.experts = LlmPrecision::kMxfp4;
    deployment.precisions.attention = LlmPrecision::kBf16;
    deployment.precisions.mlp = LlmPrecision::kBf16;
  }
  // TensorRT-LLM's checkpoints in fp8 keep the cache in fp8; InferenceMAX's scripts set it for them
  // and for vLLM's dense models.
  const LlmPrecision weights = deployment.precisions.attention;
  const bool scripted = inference_max(run) && model.experts.experts == 0;
  if ((weights == LlmPrecision::kFp8 && (run.framework == "trtllm" || scripted)) ||
      (weights == LlmPrecision::kFp8Block && run.framework == "trtllm" && inference_max(run))) {
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
  limits.max_tokens = client.budget_tokens;
  limits.max_prefill_tokens = client.prefill_tokens;
  limits.max_sequences =
      client.cap_sequences ? std::max<int64_t>(1, run.users / run.dp + client.spare_sequences) : 0;
  return setup;
}

std::string base_model_name(const std::string& model) {
  const size_t slash = model.find_last_of('/');
  std::string name = to_lower(slash == std::string::npos ? model : model.substr(slash + 1));
  if (name.starts_with("meta-")) {
    name = name.substr(5);
  }
  for (size_t before = 0; before != name.size();) {
    before = name.size();
    for (const char* suffix :
         {"-bf16", "-fp8", "-fp4", "-nvfp4", "-instruct", "-thinking", "-v0.1", "-2507", "-it"}) {
      strip_suffix(&name, suffix);
    }
  }
  const auto* const same = std::find_if(std::begin(kSameShape), std::end(kSameShape),
                                        [&](const auto& pair) { return pair.first == name; });
  return same == std::end(kSameShape) ? name : std::string(same->second);
}

}  // namespace dfsim::inline serving
