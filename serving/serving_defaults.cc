<<<<<<< HEAD
// Fitted parameters per framework, and the room for the cache: weights by operator class and
// precision, the framework's share of the memory, what it keeps for activations, graphs and
// libraries.
=======
// Fitted parameters per framework: the result of `dfsim llm validate --fit` on the fit half of the
// measured deployments (docs/llm-serving.md).
>>>>>>> llm-server
#include "serving/serving_defaults.h"

#include <algorithm>

namespace dfsim::inline serving {
namespace {

constexpr int64_t kLargestGraphBatch = 512;

FrameworkProfile vllm_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kVllm;
  return profile;
}

FrameworkProfile trtllm_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kTrtllm;
  return profile;
}

FrameworkProfile sglang_profile() {
  FrameworkProfile profile;
  profile.framework = LlmFramework::kSglang;
  profile.memory_share = 0.88;
  return profile;
}

<<<<<<< HEAD
double bytes_per_weight(LlmPrecision precision) { return llm_bits_per_weight(precision) / 8; }

double weight_bytes_per_gpu(const LlmDeployment& deployment) {
  const LlmParameters parameters = llm_parameters(deployment.model);
  const LlmPrecisions& precisions = deployment.precisions;
  const LlmParallelism& widths = deployment.parallelism;
  const auto [moe_tp, moe_ep] = expert_widths(widths);
  const double bf16 = bytes_per_weight(LlmPrecision::kBf16);
  const auto bytes = [](int64_t count, double each) { return static_cast<double>(count) * each; };
  const double split = bytes(parameters.attention, bytes_per_weight(precisions.attention)) +
                       bytes(parameters.mlp, bytes_per_weight(precisions.mlp)) +
                       bytes(parameters.embedding + parameters.lm_head, bf16);
  const double experts = bytes(parameters.experts, bytes_per_weight(precisions.experts));
  const double copied = bytes(parameters.norms + parameters.router, bf16);
  return (split / widths.tp + experts / (moe_tp * moe_ep) + copied) / widths.pp;
}

// Layers with a sliding window keep a bounded number of tokens per sequence (hybrid cache managers
// give their blocks back), so the layers that see everything decide, when there are any.
double cache_bytes_per_token(const LlmDeployment& deployment) {
  const LlmConfig& model = deployment.model;
  const bool any_full = std::any_of(model.layers.begin(), model.layers.end(),
                                    [](const LlmLayer& layer) { return layer.window == 0; });
  double elements = 0;
  for (const LlmLayer& layer : model.layers) {
    if (layer.window > 0 && any_full) {
      continue;
    }
    const double per_gpu =
        layer.attention == LlmAttention::kLatent
            ? 1.0
            : 1.0 / static_cast<double>(std::min<int64_t>(deployment.parallelism.tp,
                                                          std::max<int64_t>(1, layer.kv_heads)));
    elements += static_cast<double>(llm_kv_elements_per_token(model, layer)) * per_gpu;
  }
  return elements * bytes_per_weight(deployment.precisions.kv_cache) / deployment.parallelism.pp;
}

std::string gigabytes(double bytes) {
  const double tenths = std::round(bytes / 1e8);
  const std::string text = std::to_string(static_cast<int64_t>(std::abs(tenths)));
  const std::string padded = text.size() < 2 ? "0" + text : text;
  return (tenths < 0 ? "-" : "") + padded.substr(0, padded.size() - 1) + "." + padded.back() +
         " GB";
}

=======
>>>>>>> llm-server
}  // namespace

const FrameworkProfile& framework_profile(LlmFramework framework) {
  static const FrameworkProfile vllm = vllm_profile();
  static const FrameworkProfile trtllm = trtllm_profile();
  static const FrameworkProfile sglang = sglang_profile();
  return framework == LlmFramework::kVllm     ? vllm
         : framework == LlmFramework::kTrtllm ? trtllm
                                              : sglang;
}

ServingRuntime runtime_for(const FrameworkProfile& profile, int64_t max_sequences) {
  ServingRuntime runtime = profile.runtime;
  runtime.graph_batches =
      default_graph_batches(std::clamp<int64_t>(max_sequences, 1, kLargestGraphBatch));
  return runtime;
}

<<<<<<< HEAD
StatusOr<CacheRoom> cache_room(const LlmDeployment& deployment, const FrameworkProfile& profile) {
  DFSIM_ASSIGN_OR_RETURN(const ServingSystem system, find_serving_system(deployment.system));
  CacheRoom room;
  room.memory_bytes = static_cast<double>(system.memory_bytes);
  room.usable_bytes = room.memory_bytes * profile.memory_share;
  room.weight_bytes = weight_bytes_per_gpu(deployment);
  room.workspace_bytes = profile.workspace_bytes;
  room.bytes_per_token = cache_bytes_per_token(deployment);
  const double left = room.usable_bytes - room.weight_bytes - room.workspace_bytes;
  if (left < room.bytes_per_token * 16) {
    return invalid_input(deployment.model.name + " on " +
                         std::to_string(deployment.parallelism.gpus()) + " x " + deployment.system +
                         ": each GPU holds " + gigabytes(room.weight_bytes) + " of weights and " +
                         gigabytes(room.workspace_bytes) + " of workspace, of " +
                         gigabytes(room.usable_bytes) + " usable (" + gigabytes(room.memory_bytes) +
                         " in all), which leaves " + gigabytes(left) +
                         " for the cache; use more GPUs or a smaller precision");
  }
  room.tokens = static_cast<int64_t>(left / room.bytes_per_token);
  return room;
}

=======
>>>>>>> llm-server
}  // namespace dfsim::inline serving
