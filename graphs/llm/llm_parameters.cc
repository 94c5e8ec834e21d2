// Counts that follow from the config alone. Every formula is a product of a weight's two sides.
#include "graphs/llm/llm_parameters.h"

#include <algorithm>

namespace dfsim::inline graphs {

namespace {

int64_t biased(int64_t inputs, int64_t outputs, bool bias) {
  return inputs * outputs + (bias ? outputs : 0);
}

int64_t latent_attention_parameters(const LlmConfig& config, const LlmLayer& layer) {
  const LlmLatent& latent = config.latent;
  const int64_t qk = layer.head_dim + latent.rope_head_dim;
  const int64_t query = latent.q_lora_rank > 0
                            ? biased(config.hidden, latent.q_lora_rank, config.qkv_bias) +
                                  latent.q_lora_rank * layer.heads * qk
                            : config.hidden * layer.heads * qk;
  const int64_t key_value =
      biased(config.hidden, latent.kv_lora_rank + latent.rope_head_dim, config.qkv_bias) +
      latent.kv_lora_rank * layer.heads * (layer.head_dim + latent.v_head_dim);
  return query + key_value + biased(layer.heads * latent.v_head_dim, config.hidden, config.o_bias);
}

int64_t delta_parameters(const LlmConfig& config) {
  const LlmDelta& delta = config.delta;
  return config.hidden * (delta.channels() + delta.values() + 2 * delta.value_heads) +
         delta.channels() * delta.kernel + delta.values() * config.hidden;
}

int64_t attention_parameters(const LlmConfig& config, const LlmLayer& layer) {
  if (layer.attention == LlmAttention::kGatedDelta) {
    return delta_parameters(config);
  }
  if (layer.attention == LlmAttention::kLightning) {  // q, k, v, gate, o
    return 5 * config.hidden * layer.heads * layer.head_dim;
  }
  if (layer.attention == LlmAttention::kLatent) {
    return latent_attention_parameters(config, layer);
  }
  const int64_t q = layer.heads * layer.head_dim;
  const int64_t kv = layer.kv_heads * layer.head_dim;
  const int64_t own = layer.shares_kv ? 0 : layer.value_is_key ? 1 : 2;
  return (config.attention_gate ? 2 : 1) * biased(config.hidden, q, config.qkv_bias) +
         own * biased(config.hidden, kv, config.qkv_bias) +
         biased(q, config.hidden, config.o_bias) + (config.sinks ? layer.heads : 0);
}

int64_t gated_parameters(const LlmConfig& config, int64_t width, bool bias) {
  const int64_t ups = config.activation == LlmActivation::kGelu ? 1 : 2;
  return ups * biased(config.hidden, width, bias) + biased(width, config.hidden, bias);
}

// Each layer's narrow embedding goes through a gate and back, with a norm.
int64_t per_layer_input_parameters(const LlmConfig& config) {
  return 2 * config.hidden * config.per_layer_hidden;
}

int64_t norm_parameters(const LlmConfig& config, const LlmLayer& layer) {
  const int64_t one = config.hidden * (config.norm_bias ? 2 : 1);
  int64_t norms = config.parallel_blocks ? 1 : 2;
  norms += config.post_norms ? 2 : 0;
  norms += layer.moe && config.experts.scaled_router ? 3 : 0;
  norms += config.per_layer_hidden > 0 ? 1 : 0;
  int64_t count = norms * one;
  if (layer.attention == LlmAttention::kGatedDelta) {  // also the decay's scale and bias
    return count + config.delta.value_dim + 2 * config.delta.value_heads;
  }
  if (layer.attention == LlmAttention::kLightning) {
    return count + layer.heads * layer.head_dim;
  }
  if (config.qk_norm) {
    const int64_t queries = config.qk_norm_by_head ? layer.heads : 1;
    const int64_t keys = layer.shares_kv ? 0 : config.qk_norm_by_head ? layer.kv_heads : 1;
    count += (queries + keys) * layer.head_dim;
  }
  if (layer.attention == LlmAttention::kLatent) {
    count += config.latent.kv_lora_rank + config.latent.q_lora_rank;
  }
  return count;
}

int64_t router_parameters(const LlmConfig& config) {
  const LlmExperts& experts = config.experts;
  return biased(config.hidden, experts.experts, experts.biases) +
         (experts.correction_bias ? experts.experts : 0) +
         (experts.scaled_router ? config.hidden + experts.experts : 0) +
         (experts.shared_gate ? config.hidden : 0);
}

void add(LlmParameters* sum, const LlmParameters& more) {
  sum->embedding += more.embedding;
  sum->lm_head += more.lm_head;
  sum->attention += more.attention;
  sum->mlp += more.mlp;
  sum->experts += more.experts;
  sum->router += more.router;
  sum->norms += more.norms;
}

// Pairs of query and key of `fresh` tokens behind `context` ones under a window.
double attended_pairs(double fresh, double context, double window) {
  if (window <= 0 || context + fresh <= window) {
    return fresh * context + fresh * (fresh + 1) / 2;
  }
  // Queries see fewer than `window` keys while context + position is below it.
  const double growing = std::clamp(window - context, 0.0, fresh);
  return growing * context + growing * (growing + 1) / 2 + (fresh - growing) * window;
}

// For a token, each state takes an outer product and gives one with the query; a delta rule asks it
// once more.
double linear_flops(const LlmConfig& config, const LlmLayer& layer) {
  const int64_t products = layer.attention == LlmAttention::kGatedDelta ? 3 : 2;
  return 2.0 * static_cast<double>(products * llm_state_elements(config, layer));
}

}  // namespace

LlmParameters llm_layer_parameters(const LlmConfig& config, const LlmLayer& layer) {
  LlmParameters p;
  p.attention = attention_parameters(config, layer);
  p.norms = norm_parameters(config, layer);
  p.mlp = per_layer_input_parameters(config);
  if (layer.dense) {
    p.mlp += gated_parameters(config, layer.intermediate, config.mlp_bias);
  }
  if (layer.moe) {
    const LlmExperts& experts = config.experts;
    p.experts = experts.experts * gated_parameters(config, experts.intermediate, experts.biases);
    p.router = router_parameters(config);
    if (experts.shared_intermediate > 0) {
      p.mlp += gated_parameters(config, experts.shared_intermediate, false);
    }
  }
  return p;
}

LlmParameters llm_parameters(const LlmConfig& config) {
  LlmParameters p;
  for (const LlmLayer& layer : config.layers) {
    add(&p, llm_layer_parameters(config, layer));
  }
  const int64_t narrow = config.layer_count() * config.per_layer_hidden;
  p.embedding = config.vocab * config.hidden + config.per_layer_vocab * narrow;
  p.mlp += config.hidden * narrow;  // projects the embedding into every layer's narrow one
  p.norms += config.per_layer_hidden + config.hidden * (config.norm_bias ? 2 : 1);
  p.lm_head = (config.tied_embeddings ? 0 : config.vocab * config.hidden) +
              (config.lm_head_bias ? config.vocab : 0);
  return p;
}

int64_t llm_active_parameters(const LlmConfig& config) {
  const LlmParameters p = llm_parameters(config);
  const int64_t experts = config.experts.experts == 0
                              ? 0
                              : p.experts / config.experts.experts * config.experts.per_token;
  return p.total() - p.experts + experts - p.embedding - p.lm_head + config.vocab * config.hidden;
}

double llm_flops(const LlmConfig& config, int64_t new_tokens, int64_t context_tokens,
                 int64_t logits) {
  const auto fresh = static_cast<double>(new_tokens);
  double flops = 2.0 * static_cast<double>(logits) * static_cast<double>(config.vocab) *
                 static_cast<double>(config.hidden);
  for (const LlmLayer& layer : config.layers) {
    LlmConfig bare = config;  // biases and norms are elementwise work
    bare.qkv_bias = bare.o_bias = bare.mlp_bias = bare.sinks = false;
    bare.experts.biases = bare.experts.correction_bias = bare.experts.scaled_router = false;
    bare.layers.clear();
    const LlmParameters p = llm_layer_parameters(bare, layer);
    const double share = config.experts.experts == 0
                             ? 0
                             : static_cast<double>(config.experts.per_token) /
                                   static_cast<double>(config.experts.experts);
    flops += 2 * fresh *
             (static_cast<double>(p.attention + p.mlp + p.router) +
              share * static_cast<double>(p.experts));
    if (layer.is_linear()) {
      flops += fresh * linear_flops(config, layer);
      continue;
    }
    const bool latent = layer.attention == LlmAttention::kLatent;
    const int64_t qk = layer.head_dim + (latent ? config.latent.rope_head_dim : 0);
    const int64_t v = latent ? config.latent.v_head_dim : layer.head_dim;
    flops += 2.0 * static_cast<double>(layer.heads * (qk + v)) *
             attended_pairs(fresh, static_cast<double>(context_tokens),
                            static_cast<double>(layer.window));
  }
  return flops;
}

int64_t llm_kv_elements_per_token(const LlmConfig& config, const LlmLayer& layer) {
  if (layer.shares_kv || layer.is_linear()) {
    return 0;
  }
  return layer.attention == LlmAttention::kLatent
             ? config.latent.kv_lora_rank + config.latent.rope_head_dim
             : 2 * layer.kv_heads * layer.head_dim;
}

int64_t llm_state_elements(const LlmConfig& config, const LlmLayer& layer) {
  switch (layer.attention) {
    case LlmAttention::kGatedDelta:
      return config.delta.value_heads * config.delta.key_dim * config.delta.value_dim;
    case LlmAttention::kLightning:
      return layer.heads * layer.head_dim * layer.head_dim;
    default:
      return 0;
  }
}

int64_t llm_past_elements(const LlmConfig& config, const LlmLayer& layer) {
  return layer.attention == LlmAttention::kGatedDelta
             ? config.delta.channels() * (config.delta.kernel - 1)
             : 0;
}

}  // namespace dfsim::inline graphs
