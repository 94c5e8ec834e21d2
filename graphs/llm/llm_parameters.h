// Counts of a language model: parameters, multiply-adds per token, cache per token.
#pragma once

#include "base/units.h"
#include "graphs/llm/llm_config.h"

namespace dfsim::inline graphs {

// Parameters by what precision and parallelism do to them.
struct LlmParameters {
  int64_t embedding = 0;  // token table(s); a tied lm_head is counted here only
  int64_t lm_head = 0;    // 0 when tied
  int64_t attention = 0;  // projections of q, k, v, o with biases and sinks
  int64_t mlp = 0;        // dense blocks and shared experts
  int64_t experts = 0;    // routed experts
  int64_t router = 0;
  int64_t norms = 0;

  int64_t total() const { return embedding + lm_head + attention + mlp + experts + router + norms; }
};
LlmParameters llm_parameters(const LlmConfig& config);
LlmParameters llm_layer_parameters(const LlmConfig& config, const LlmLayer& layer);
// Those that one token uses: embeddings' tables left out but for lm_head, top-k of the experts.
int64_t llm_active_parameters(const LlmConfig& config);

// Floating-point operations to compute `new_tokens` tokens behind `context_tokens` cached ones:
// 2 per parameter used in products, 4 * heads * head_dim per pair of query and key; lm_head for
// `logits` of the tokens. Elementwise work is not counted.
double llm_flops(const LlmConfig& config, int64_t new_tokens, int64_t context_tokens,
                 int64_t logits);

// Elements in the KV cache of one layer for one token, all heads (MLA: the latent and the rotary
// key). 0 for a layer that shares another one's cache.
int64_t llm_kv_elements_per_token(const LlmConfig& config, const LlmLayer& layer);

// Elements that a layer of linear attention keeps for each sequence, whatever its length: the
// states of all heads, and the last inputs of its convolution. 0 for other layers.
int64_t llm_state_elements(const LlmConfig& config, const LlmLayer& layer);
int64_t llm_past_elements(const LlmConfig& config, const LlmLayer& layer);

}  // namespace dfsim::inline graphs
