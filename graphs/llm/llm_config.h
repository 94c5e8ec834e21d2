// A decoder-only language model as its makers' Hugging Face config.json describes it.
//
// Purpose: one plain description of all supported architectures (Llama, Mistral, Mixtral, Qwen 2/3
//   dense and MoE, Gemma 2/3/4, gpt-oss, Phi 3, DeepSeek V2/V3, Granite, SmolLM3, Seed-OSS,
//   StarCoder2, OLMo, Cohere, Nemotron, GLM 4, Llama 4, Hunyuan), from which parameters, memory,
//   graphs and kernel shapes follow.
// Invariants (read_llm_config() in llm_config_reader.h checks them): every count is positive and
// below 2^31, query heads are a
//   multiple of key/value heads, `layers` holds one entry per layer.
// Units: tokens, elements and heads; no bytes (those depend on the precision, see llm_memory.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace dfsim::inline graphs {

// How a layer's feed-forward block turns its first product into the second one's input.
enum class LlmActivation : uint8_t { kSwiGlu, kGeGlu, kGelu };
// kLatent: DeepSeek's MLA. The other two keep a state per head in place of a cache: kGatedDelta is
// Qwen3-Next's, kLightning MiniMax's.
enum class LlmAttention : uint8_t { kGrouped, kLatent, kGatedDelta, kLightning };

// Numeric formats of weights, activations and caches, named as serving engines name them.
enum class LlmPrecision : uint8_t {
  kBf16,
  kFp16,
  kFp8,       // one scale per tensor (or per token for activations)
  kFp8Block,  // one scale per 128 x 128 weights
  kInt8,      // weights only
  kInt4,      // weights only, one scale per 128 (GPTQ, AWQ)
  kMxfp4,     // 4-bit floats, an 8-bit scale per 32
  kNvfp4,     // 4-bit floats, an 8-bit scale per 16
};

// One decoder layer: what differs from layer to layer.
struct LlmLayer {
  LlmAttention attention = LlmAttention::kGrouped;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;       // of queries and keys (MLA: without the rotary part)
  int64_t window = 0;         // tokens that a query sees; 0 = all
  bool value_is_key = false;  // keys are the values, too: no V projection (Gemma 4)
  bool shares_kv = false;  // reads an earlier layer's cache and has no K/V projection (Gemma 3n/4)
  bool moe = false;        // routed experts in place of (or next to) a dense block
  bool dense = true;       // has a dense block
  int64_t intermediate = 0;  // width of the dense block

  bool is_linear() const {
    return attention == LlmAttention::kGatedDelta || attention == LlmAttention::kLightning;
  }
  bool operator==(const LlmLayer&) const = default;
};

// Dimensions of multi-head latent attention; all 0 without.
struct LlmLatent {
  int64_t q_lora_rank = 0;  // 0: queries are projected directly
  int64_t kv_lora_rank = 0;
  int64_t rope_head_dim = 0;
  int64_t v_head_dim = 0;
};

// Layers of gated delta rules; all 0 without. Each value head has a state of key_dim x value_dim.
struct LlmDelta {
  int64_t key_heads = 0;
  int64_t value_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t kernel = 0;  // taps of the convolution over tokens

  int64_t keys() const { return key_heads * key_dim; }
  int64_t values() const { return value_heads * value_dim; }
  int64_t channels() const { return 2 * keys() + values(); }
};

// Routed experts; experts == 0 without.
struct LlmExperts {
  int64_t experts = 0;
  int64_t per_token = 0;            // top-k
  int64_t intermediate = 0;         // width of one expert
  int64_t shared_intermediate = 0;  // width of all shared experts together
  bool shared_gate = false;         // Qwen2-MoE: a scalar gate on the shared expert
  bool biases = false;              // gpt-oss: experts and router have biases
  bool scaled_router = false;       // Gemma 4: a scale per channel and per expert, three more norms
  bool correction_bias = false;     // DeepSeek V3: a bias per expert in the router
};

struct LlmConfig {
  std::string name;        // the folder's or file's name, for messages
  std::string model_type;  // as in the file
  // Encoders next to the language model, which nothing here counts: "vision_config".
  std::vector<std::string> left_out;
  int64_t hidden = 0;
  int64_t vocab = 0;
  int64_t max_positions = 0;
  std::vector<LlmLayer> layers;
  LlmLatent latent;
  LlmDelta delta;
  LlmExperts experts;
  LlmActivation activation = LlmActivation::kSwiGlu;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool lm_head_bias = false;
  bool norm_bias = false;        // LayerNorm with a bias in place of RMSNorm (Phi)
  bool parallel_blocks = false;  // attention and MLP read one norm's result (Phi)
  bool qk_norm = false;          // RMSNorm of each head's query and key
  bool qk_norm_by_head = false;  // OLMo, Cohere: each head has weights of its own
  bool attention_gate = false;   // Qwen3-Next: q's product has a gate of attention's result, too
  bool sinks = false;            // gpt-oss: one learnt logit per head
  bool post_norms = false;       // Gemma: also normalises the results of both blocks
  bool tied_embeddings = false;
  // Gemma 4 E2B and E4B: every layer adds a second, narrow embedding of the token; 0 without.
  int64_t per_layer_vocab = 0;
  int64_t per_layer_hidden = 0;
  // The published weights according to quantization_config: projections of attention, dense blocks
  // and experts; embeddings, norms, router and (unless said) lm_head stay bf16.
  LlmPrecision published_attention = LlmPrecision::kBf16;
  LlmPrecision published_mlp = LlmPrecision::kBf16;
  LlmPrecision published_experts = LlmPrecision::kBf16;
  bool published_quantized = false;
  std::vector<std::string> notes;  // what the user should know of the file, one line each
  LlmPrecision published_half = LlmPrecision::kBf16;  // kFp16 where torch_dtype says so

  int64_t layer_count() const { return static_cast<int64_t>(layers.size()); }
};

// One line on the encoders that are left out; "" without any.
std::string left_out_text(const LlmConfig& config);

// Names as users write them: bf16, fp16, fp8, fp8_block, int8, int4, mxfp4, nvfp4.
std::string llm_precision_name(LlmPrecision precision);
StatusOr<LlmPrecision> llm_precision_from_name(const std::string& name);
// Bits per weight with its scales: 16, 8, 8 + 32/16384, 4.25, 4.5, ...
double llm_bits_per_weight(LlmPrecision precision);

}  // namespace dfsim::inline graphs
