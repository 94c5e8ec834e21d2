// Gemma 1 to 4. From the third on, text and images share a file: the decoder's is in text_config.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/llm/llm_families_internal.h"

namespace dfsim::inline graphs {

namespace {

constexpr int64_t kGemmaVocab = 262144;

// Gemma 4's full-attention layers have heads of their own.
void widen_global_layers(ConfigFields& fields, LlmConfig* config) {
  const int64_t head_dim = fields.count_or("global_head_dim", 512);
  const bool key_is_value = fields.flag_or("attention_k_eq_v", false);
  const int64_t kv_heads = fields.count_or("num_global_key_value_heads", 0);
  for (LlmLayer& layer : config->layers) {
    if (layer.window > 0) {
      continue;
    }
    layer.head_dim = head_dim;
    layer.value_is_key = key_is_value;
    layer.kv_heads = key_is_value && kv_heads > 0 ? kv_heads : layer.kv_heads;
    if (layer.heads % layer.kv_heads != 0) {
      fields.fail("num_global_key_value_heads", std::to_string(layer.kv_heads),
                  fmt::format("a divisor of num_attention_heads {}", layer.heads));
    }
  }
}

void share_last_caches(ConfigFields& fields, LlmConfig* config) {
  const int64_t shared = fields.count_or("num_kv_shared_layers", 0, 0);
  const bool double_wide = fields.flag_or("use_double_wide_mlp", false);
  if (shared >= config->layer_count() && shared > 0) {
    fields.fail("num_kv_shared_layers", std::to_string(shared),
                fmt::format("fewer than the layers, {}", config->layer_count()));
    return;
  }
  for (int64_t i = config->layer_count() - shared; i < config->layer_count(); ++i) {
    LlmLayer& layer = config->layers[static_cast<size_t>(i)];
    layer.shares_kv = true;
    layer.intermediate *= double_wide ? 2 : 1;
  }
}

void read_gemma4_experts(ConfigFields& fields, LlmConfig* config) {
  const bool moe = fields.flag_or("enable_moe_block", false);
  fields.ignore(
      {"num_experts", "top_k_experts", "moe_intermediate_size", "expert_intermediate_size"});
  if (!moe) {
    return;
  }
  config->experts.experts = fields.count("num_experts");
  config->experts.per_token = fields.count("top_k_experts");
  config->experts.intermediate = fields.has("moe_intermediate_size")
                                     ? fields.count("moe_intermediate_size")
                                     : fields.count("expert_intermediate_size");
  config->experts.scaled_router = true;
  for (LlmLayer& layer : config->layers) {
    layer.moe = true;  // next to the dense block, which stays
  }
}

}  // namespace

void read_gemma(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(
      fields, {.head_dim = 256, .vocab = 256000, .max_positions = 8192, .tied = true}, config);
  config->activation = LlmActivation::kGeGlu;  // early files say "gelu" in either of two keys
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
}

void read_gemma2(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(
      fields, {.head_dim = 256, .vocab = 256000, .max_positions = 8192, .tied = true}, config);
  read_windows(
      fields, 4096, [](size_t layer) { return layer % 2 == 0; }, config);
  config->activation = LlmActivation::kGeGlu;
  config->post_norms = true;
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
  fields.ignore({"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar",
                 "cache_implementation"});
}

void read_gemma3(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields,
                     {.heads = 8,
                      .kv_heads = 4,
                      .head_dim = 256,
                      .vocab = 262208,
                      .max_positions = 131072,
                      .tied = true},
                     config);
  fields.ignore({"sliding_window_pattern", "_sliding_window_pattern"});
  read_windows(
      fields, 4096, [](size_t layer) { return (layer + 1) % 6 != 0; }, config);
  config->activation = LlmActivation::kGeGlu;
  config->post_norms = true;
  config->qk_norm = true;
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
  fields.ignore({"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar",
                 "rope_local_base_freq", "cache_implementation"});
}

void read_gemma4(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields,
                     {.heads = 8,
                      .kv_heads = 4,
                      .head_dim = 256,
                      .vocab = kGemmaVocab,
                      .max_positions = 131072,
                      .tied = true},
                     config);
  read_windows(
      fields, 512, [](size_t layer) { return (layer + 1) % 6 != 0; }, config);
  if (!config->layers.empty()) {
    config->layers.back().window = 0;  // the last one is global whatever the list says
  }
  config->activation = LlmActivation::kGeGlu;
  config->post_norms = true;
  config->qk_norm = true;
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
  widen_global_layers(fields, config);
  share_last_caches(fields, config);
  read_gemma4_experts(fields, config);
  config->per_layer_hidden = fields.count_or("hidden_size_per_layer_input", 256, 0);
  const int64_t vocab = fields.count_or("vocab_size_per_layer_input", kGemmaVocab);
  config->per_layer_vocab = config->per_layer_hidden > 0 ? vocab : 0;
  fields.ignore({"use_bidirectional_attention", "per_layer_config"});
}

}  // namespace dfsim::inline graphs
