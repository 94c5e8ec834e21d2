// Families that differ from Llama's, Mixtral's and DeepSeek's in norms, biases or the place of
// experts: OLMo, Cohere, Nemotron, GLM, Granite with experts, OLMoE, Llama 4, Hunyuan.
#include "graphs/llm/llm_families_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace dfsim::inline graphs {

namespace {

// Every layer, or all from the `first` on, has experts in place of its dense block.
void give_experts(LlmConfig* config, int64_t first) {
  for (int64_t i = first; i < config->layer_count(); ++i) {
    LlmLayer& layer = config->layers[static_cast<size_t>(i)];
    layer.moe = true;
    layer.dense = false;
    layer.intermediate = 0;
  }
}

void read_attention_bias(ConfigFields& fields, LlmConfig* config) {
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
}

}  // namespace

// Norms behind the blocks instead of in front; queries and keys are normalised as a whole.
void read_olmo2(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  read_attention_bias(fields, config);
  config->qk_norm = config->qk_norm_by_head = true;
}

void read_olmo3(ConfigFields& fields, LlmConfig* config) {
  read_olmo2(fields, config);
  read_windows(
      fields, 4096, [](size_t layer) { return (layer + 1) % 4 != 0; }, config);
}

void read_olmoe(ConfigFields& fields, LlmConfig* config) {
  read_olmo2(fields, config);
  config->experts.experts = fields.count_or("num_experts", 64);
  config->experts.per_token = fields.count_or("num_experts_per_tok", 8);
  config->experts.intermediate = fields.count("intermediate_size");
  fields.ignore({"norm_topk_prob", "clip_qkv"});
  check_top_k(fields, "num_experts_per_tok", *config);
  give_experts(config, 0);
}

// Attention and the dense block read one norm's result; embeddings are tied unless said otherwise.
void read_cohere(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.tied = true}, config);
  read_attention_bias(fields, config);
  config->parallel_blocks = true;
  config->qk_norm = config->qk_norm_by_head = fields.flag_or("use_qk_norm", false);
}

void read_cohere2(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.tied = true}, config);
  read_attention_bias(fields, config);
  config->parallel_blocks = true;
  read_windows(
      fields, 4096, [](size_t layer) { return (layer + 1) % 4 != 0; }, config);
  fields.ignore({"sliding_window_pattern", "layer_switch", "order_of_interleaved_layers",
                 "rotary_pct", "use_embedding_sharing", "use_gated_activation",
                 "use_parallel_block", "use_parallel_embedding"});
}

// Two products around the square of a rectifier.
void read_nemotron(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.gated = false}, config);
  read_attention_bias(fields, config);
  config->mlp_bias = fields.flag_or("mlp_bias", false);
  config->norm_bias = true;
  fields.ignore({"partial_rotary_factor", "norm_eps"});
}

void read_glm4(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.head_dim = 128}, config);
  config->qkv_bias = fields.flag_or("attention_bias", false);
  config->post_norms = true;
  fields.ignore({"partial_rotary_factor"});
}

void read_glm4_moe(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  config->qkv_bias = fields.flag_or("attention_bias", false);
  config->qk_norm = fields.flag_or("use_qk_norm", false);
  LlmExperts& experts = config->experts;
  experts.experts = fields.count("n_routed_experts");
  experts.per_token = fields.count("num_experts_per_tok");
  experts.intermediate = fields.count("moe_intermediate_size");
  experts.shared_intermediate = fields.count_or("n_shared_experts", 0, 0) * experts.intermediate;
  experts.correction_bias = true;
  check_top_k(fields, "num_experts_per_tok", *config);
  fields.ignore({"partial_rotary_factor", "n_group", "topk_group", "norm_topk_prob",
                 "routed_scaling_factor", "num_nextn_predict_layers"});
  give_experts(config, fields.count_or("first_k_dense_replace", 0, 0));
}

// Llama's layers with Mixtral's experts, and a shared one in some.
void read_granite_moe(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  read_attention_bias(fields, config);
  config->experts.experts = fields.count("num_local_experts");
  config->experts.per_token = fields.count("num_experts_per_tok");
  config->experts.intermediate = fields.count("intermediate_size");
  config->experts.shared_intermediate = fields.count_or("shared_intermediate_size", 0, 0);
  check_top_k(fields, "num_experts_per_tok", *config);
  fields.ignore({"attention_multiplier", "embedding_multiplier", "logits_scaling",
                 "residual_multiplier", "output_router_logits", "router_aux_loss_coef"});
  give_experts(config, 0);
}

// Some layers route to experts, next to a shared one of the same width; those that rotate queries
// and keys see chunks of the context.
void read_llama4(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.head_dim = 128}, config);
  read_attention_bias(fields, config);
  LlmExperts& experts = config->experts;
  experts.experts = fields.count("num_local_experts");
  experts.per_token = fields.count("num_experts_per_tok");
  experts.intermediate = fields.count("intermediate_size");
  experts.shared_intermediate = experts.intermediate;
  check_top_k(fields, "num_experts_per_tok", *config);
  const int64_t dense = fields.count_or("intermediate_size_mlp", 16384);
  const int64_t step = fields.count_or("interleave_moe_layer_step", 1);
  const std::vector<int64_t> listed = fields.counts("moe_layers");
  const std::vector<int64_t> rotated = fields.counts("no_rope_layers");
  const int64_t chunk = fields.count_or("attention_chunk_size", 8192, 0);
  fields.ignore({"use_qk_norm", "attn_temperature_tuning", "floor_scale", "attn_scale",
                 "for_llm_compressor", "output_router_logits", "router_aux_loss_coef",
                 "router_jitter_noise", "layer_types", "no_rope_layer_interval"});
  for (int64_t i = 0; i < config->layer_count(); ++i) {
    LlmLayer& layer = config->layers[static_cast<size_t>(i)];
    const bool routes = listed.empty() ? (i + 1) % step == 0
                                       : std::find(listed.begin(), listed.end(), i) != listed.end();
    layer.moe = routes;
    layer.dense = !routes;
    layer.intermediate = routes ? 0 : dense;
    const bool rotates = static_cast<size_t>(i) < rotated.size()
                             ? rotated[static_cast<size_t>(i)] != 0
                             : (i + 1) % 4 != 0;
    layer.window = rotates ? chunk : 0;
  }
}

// Llama's layers with norms of each head's query and key.
void read_hunyuan(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  read_attention_bias(fields, config);
  config->qk_norm = true;
  fields.ignore({"attention_head_dim", "dense_list", "mlp_bias", "norm_type", "use_qk_norm",
                 "num_media_embeds", "add_classification_head", "class_num", "cla_share_factor",
                 "anyres_pooling_size", "pool_type", "kv_lora_rank", "q_lora_rank",
                 "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"});
  for (const char* key : {"use_cla", "use_mla", "mlp_bias"}) {
    if (fields.flag_or(key, false)) {
      fields.fail_unsupported(
          std::string(key) +
          " is true, which Hunyuan V1 of transformers does not have; only false is known");
    }
  }
  if (!fields.flag_or("use_qk_norm", true)) {
    fields.fail_unsupported("use_qk_norm is false; only norms of queries and keys are known");
  }
}

// A number, or a list with one for each layer that has to be the same everywhere.
int64_t same_in_all_layers(ConfigFields& fields, std::string_view key, int64_t fallback) {
  if (!fields.is_list(key)) {
    return fields.count_or(key, fallback);
  }
  const std::vector<int64_t> listed = fields.counts(key);
  const bool same = !listed.empty() && std::all_of(listed.begin(), listed.end(),
                                                   [&](int64_t one) { return one == listed[0]; });
  if (!same) {
    fields.fail_unsupported(
        fmt::format("{} differs from layer to layer; only one number for all is known", key));
  }
  return same ? listed[0] : fallback;
}

// A shared expert of the same width next to the routed ones, in every layer.
void read_hunyuan_moe(ConfigFields& fields, LlmConfig* config) {
  read_hunyuan(fields, config);
  LlmExperts& experts = config->experts;
  const int64_t width = fields.count("intermediate_size");
  experts.experts = same_in_all_layers(fields, "num_experts", 1);
  experts.per_token = same_in_all_layers(fields, "moe_topk", 1);
  experts.intermediate = same_in_all_layers(fields, "moe_intermediate_size", width);
  experts.shared_intermediate = width * same_in_all_layers(fields, "num_shared_expert", 1);
  check_top_k(fields, "moe_topk", *config);
  const int64_t skipped = fields.count_or("moe_layer_num_skipped", 0, 0);
  fields.ignore({"use_mixed_mlp_moe", "moe_drop_tokens", "moe_random_routing_dropped_token",
                 "norm_topk_prob", "group_limited_greedy", "n_group", "topk_group",
                 "routed_scaling_factor", "num_local_experts", "num_experts_per_tok",
                 "output_router_logits", "router_aux_loss_coef"});
  give_experts(config, skipped);
}

}  // namespace dfsim::inline graphs
