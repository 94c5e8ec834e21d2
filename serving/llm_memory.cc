// Weights by class of operator and precision, split as the frameworks split them; activations of
// the widest point of a layer; fixed sizes for what the frameworks allocate besides.
//
// Windows: vLLM and TensorRT-LLM keep of each sequence only the window in layers that have one, so
// a token of a long sequence costs less than one of a short sequence; SGLang's pool for such layers
// has 0.8 of the tokens of the other (swa_full_tokens_ratio). A sequence counts with its length at
// the end, the mean cost of its tokens then.
#include "serving/llm_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/llm/llm_parameters.h"
#include "serving/deployment_checks.h"
#include "serving/kernels/serving_system.h"

namespace dfsim::inline serving {

namespace {

// The CUDA context, cuBLAS and NCCL buffers. vLLM's start-up log on H100 shows 1 to 2 GB that are
// neither weights, activations nor cache.
constexpr double kContextBytes = 1.2e9;
constexpr double kNcclBytes = 0.4e9;          // with more than one GPU
constexpr double kGraphBytesPerLayer = 15e6;  // of all captured batch sizes together

double weight_bytes(int64_t parameters, LlmPrecision precision) {
  return static_cast<double>(parameters) * llm_bits_per_weight(precision) / 8;
}

// One layer's weights on one GPU. Key/value heads fewer than GPUs are replicated; norms, routers
// and MLA's down projections are on every GPU.
double layer_bytes(const LlmDeployment& deployment, const LlmLayer& layer) {
  const LlmConfig& config = deployment.model;
  const LlmParameters p = llm_layer_parameters(config, layer);
  const double tp = deployment.parallelism.tp;
  const auto [moe_tp, moe_ep] = expert_widths(deployment.parallelism);
  double attention = static_cast<double>(p.attention) / tp;
  if (layer.attention == LlmAttention::kLatent) {
    const auto down = static_cast<double>(
        config.hidden *
        (config.latent.q_lora_rank + config.latent.kv_lora_rank + config.latent.rope_head_dim));
    attention += down * (1 - 1 / tp);
  } else if (tp > static_cast<double>(layer.kv_heads) && !layer.shares_kv) {
    const auto kv = static_cast<double>(2 * config.hidden * layer.kv_heads * layer.head_dim);
    attention += kv * (1 / static_cast<double>(layer.kv_heads) - 1 / tp);
  }
  const LlmPrecisions& precisions = deployment.precisions;
  return weight_bytes(static_cast<int64_t>(attention), precisions.attention) +
         weight_bytes(static_cast<int64_t>(static_cast<double>(p.mlp) / tp), precisions.mlp) +
         weight_bytes(p.experts / (static_cast<int64_t>(moe_tp) * moe_ep), precisions.experts) +
         weight_bytes(p.router + p.norms, LlmPrecision::kBf16);
}

// The stage with most layers; the first and last also hold embedding and lm_head, which count on
// whichever is fuller: both, without pipeline.
double stage_weight_bytes(const LlmDeployment& deployment) {
  const LlmConfig& config = deployment.model;
  const int64_t pp = deployment.parallelism.pp;
  const int64_t most = (config.layer_count() + pp - 1) / pp;
  const double tp = deployment.parallelism.tp;
  const LlmParameters p = llm_parameters(config);
  const double embedding = weight_bytes(p.embedding, LlmPrecision::kBf16) / tp;
  const double head = weight_bytes(p.lm_head, LlmPrecision::kBf16) / tp;
  double fullest = 0;
  for (int64_t stage = 0; stage < pp; ++stage) {
    double bytes = stage == 0 ? embedding : 0;
    bytes += stage == pp - 1 ? head : 0;
    const int64_t end = std::min((stage + 1) * most, config.layer_count());
    for (int64_t i = stage * most; i < end; ++i) {
      bytes += layer_bytes(deployment, config.layers[static_cast<size_t>(i)]);
    }
    fullest = std::max(fullest, bytes);
  }
  return fullest;
}

// Share of a sequence's tokens that a layer keeps.
double kept_share(const LlmDeployment& deployment, const LlmLayer& layer, int64_t sequence_tokens) {
  constexpr double kSglangWindowShare = 0.8;
  if (layer.window == 0 || sequence_tokens <= layer.window) {
    return 1;
  }
  return deployment.framework == LlmFramework::kSglang
             ? kSglangWindowShare
             : static_cast<double>(layer.window) / static_cast<double>(sequence_tokens);
}

double cache_bytes_per_token(const LlmDeployment& deployment, int64_t sequence_tokens) {
  const LlmConfig& config = deployment.model;
  const int64_t tp = deployment.parallelism.tp;
  double elements = 0;
  for (const LlmLayer& layer : config.layers) {
    const auto all = static_cast<double>(llm_kv_elements_per_token(config, layer));
    const bool split = layer.attention == LlmAttention::kGrouped;
    const double kept = kept_share(deployment, layer, sequence_tokens);
    elements += kept * (split ? all / static_cast<double>(std::min(tp, layer.kv_heads)) : all);
  }
  return elements * llm_bits_per_weight(deployment.precisions.kv_cache) / 8 /
         deployment.parallelism.pp;
}

// Residual stream, its normalised copy and the widest intermediate of a layer for all tokens of a
// step, and fp32 logits of all sequences.
double activation_bytes(const LlmDeployment& deployment, const LlmMemoryOptions& options) {
  const LlmConfig& config = deployment.model;
  const double tp = deployment.parallelism.tp;
  double widest = 0;
  for (const LlmLayer& layer : config.layers) {
    const auto qkv = static_cast<double>((layer.heads + 2 * layer.kv_heads) * layer.head_dim);
    widest = std::max({widest, qkv / tp, 3.0 * static_cast<double>(layer.intermediate) / tp});
    if (layer.moe) {
      const auto routed = static_cast<double>(config.experts.per_token);
      widest =
          std::max(widest, routed *
                               (static_cast<double>(config.hidden) +
                                3.0 * static_cast<double>(config.experts.intermediate)) /
                               static_cast<double>(expert_widths(deployment.parallelism).first *
                                                   expert_widths(deployment.parallelism).second));
    }
  }
  return static_cast<double>(options.max_step_tokens) * 2 *
             (4 * static_cast<double>(config.hidden) + widest) +
         static_cast<double>(options.max_sequences) * static_cast<double>(config.vocab) * 8;
}

}  // namespace

Bytes llm_weight_bytes(const LlmDeployment& deployment) {
  return std::llround(stage_weight_bytes(deployment));
}

std::string describe_memory(const LlmMemory& m) {
  return fmt::format(
      "{} usable ({} x {:.3g}) - {} weights - {} activations - {} workspace - {} CUDA graphs = "
      "{}{} "
      "for the cache",
      format_bytes(m.usable), format_bytes(m.capacity),
      static_cast<double>(m.usable) / static_cast<double>(m.capacity), format_bytes(m.weights),
      format_bytes(m.activations), format_bytes(m.workspace), format_bytes(m.cuda_graphs),
      m.cache < 0 ? "-" : "", format_bytes(std::abs(m.cache)));
}

StatusOr<LlmMemory> llm_memory(const LlmDeployment& deployment, const LlmMemoryOptions& options) {
  DFSIM_RETURN_IF_ERROR(check_deployment(deployment));
  DFSIM_ASSIGN_OR_RETURN(const ServingSystem system, find_serving_system(deployment.system));
  if (!(options.utilization > 0) || options.utilization > 1 || options.max_step_tokens < 1 ||
      options.max_sequences < 1 || options.block_tokens < 1) {
    return invalid_input(fmt::format(
        "memory: utilization {}, step tokens {}, sequences {}, block {}: expected 0 < utilization "
        "<= 1 and counts of at least 1",
        options.utilization, options.max_step_tokens, options.max_sequences, options.block_tokens));
  }
  LlmMemory memory;
  memory.capacity = system.memory_bytes;
  memory.usable = std::llround(static_cast<double>(memory.capacity) * options.utilization);
  memory.weights = llm_weight_bytes(deployment);
  memory.activations = std::llround(activation_bytes(deployment, options));
  memory.workspace =
      std::llround(kContextBytes + (deployment.parallelism.gpus() > 1 ? kNcclBytes : 0));
  const auto layers = static_cast<double>(deployment.model.layer_count());
  memory.cuda_graphs = options.cuda_graphs
                           ? std::llround(kGraphBytesPerLayer * layers / deployment.parallelism.pp)
                           : 0;
  memory.cache =
      memory.usable - memory.weights - memory.activations - memory.workspace - memory.cuda_graphs;
  memory.cache_bytes_per_token = cache_bytes_per_token(deployment, options.sequence_tokens);
  const double block = memory.cache_bytes_per_token * static_cast<double>(options.block_tokens);
  memory.cache_blocks =
      static_cast<int64_t>(std::max<double>(static_cast<double>(memory.cache), 0) / block);
  memory.cache_tokens = memory.cache_blocks * options.block_tokens;
  if (memory.cache_blocks < 1) {
    return invalid_input(fmt::format(
        "{} on {} with tp={} pp={}: does not fit: {}, expected at least one block of {}; use more "
        "GPUs or a smaller precision",
        deployment.model.name, deployment.system, deployment.parallelism.tp,
        deployment.parallelism.pp, describe_memory(memory), format_bytes(std::llround(block))));
  }
  return memory;
}

}  // namespace dfsim::inline serving
