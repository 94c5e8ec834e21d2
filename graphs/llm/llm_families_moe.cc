// Families with routed experts: Mixtral, Qwen MoE, gpt-oss, DeepSeek (also with latent attention).
#include <fmt/format.h>

#include <algorithm>

#include "graphs/llm/llm_families_internal.h"

namespace dfsim::inline graphs {

void check_top_k(ConfigFields& fields, std::string_view key, const LlmConfig& config) {
  if (config.experts.per_token > config.experts.experts) {
    fields.fail(key, std::to_string(config.experts.per_token),
                fmt::format("at most the number of experts, {}", config.experts.experts));
  }
}

namespace {

void make_all_moe(LlmConfig* config) {
  for (LlmLayer& layer : config->layers) {
    layer.moe = true;
    layer.dense = false;
    layer.intermediate = 0;
  }
}

// Qwen: layers in mlp_only_layers, and all but every decoder_sparse_step-th, stay dense.
void make_qwen_moe(ConfigFields& fields, LlmConfig* config) {
  const int64_t step = fields.count_or("decoder_sparse_step", 1);
  const std::vector<int64_t> dense = fields.counts("mlp_only_layers");
  for (size_t i = 0; i < config->layers.size(); ++i) {
    const bool listed =
        std::find(dense.begin(), dense.end(), static_cast<int64_t>(i)) != dense.end();
    if (listed || (static_cast<int64_t>(i) + 1) % step != 0) {
      continue;
    }
    config->layers[i].moe = true;
    config->layers[i].dense = false;
    config->layers[i].intermediate = 0;
  }
  fields.ignore({"max_window_layers", "use_sliding_window", "sliding_window", "layer_types",
                 "norm_topk_prob"});
  if (fields.flag_or("use_sliding_window", false)) {
    fields.fail_unsupported("use_sliding_window is true, which Qwen's MoE models never published");
  }
}

void read_latent_attention(ConfigFields& fields, LlmConfig* config) {
  config->latent.kv_lora_rank = fields.count("kv_lora_rank");
  config->latent.q_lora_rank = fields.count_or("q_lora_rank", 0, 0);
  config->latent.rope_head_dim = fields.count("qk_rope_head_dim");
  config->latent.v_head_dim = fields.count("v_head_dim");
  const int64_t nope = fields.count("qk_nope_head_dim");
  for (LlmLayer& layer : config->layers) {
    layer.attention = LlmAttention::kLatent;
    layer.head_dim = nope;
    layer.kv_heads = layer.heads;
  }
  fields.ignore({"qk_head_dim", "head_dim"});
}

void read_deepseek(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.head_dim = 1}, config);
  read_latent_attention(fields, config);
  config->qkv_bias = fields.flag_or("attention_bias", false);
  config->o_bias = config->qkv_bias;
  LlmExperts& experts = config->experts;
  experts.experts = fields.count_or("n_routed_experts", 0, 0);
  fields.ignore({"n_group", "topk_group", "topk_method", "norm_topk_prob", "ep_size",
                 "num_nextn_predict_layers", "moe_layer_freq", "first_k_dense_replace"});
  if (experts.experts == 0) {
    return;
  }
  experts.per_token = fields.count("num_experts_per_tok");
  experts.intermediate = fields.count("moe_intermediate_size");
  experts.shared_intermediate = fields.count_or("n_shared_experts", 0, 0) * experts.intermediate;
  check_top_k(fields, "num_experts_per_tok", *config);
  const int64_t first = fields.count_or("first_k_dense_replace", 0, 0);
  const int64_t step = fields.count_or("moe_layer_freq", 1);
  for (int64_t i = first; i < config->layer_count(); ++i) {
    if (i % step == 0) {
      LlmLayer& layer = config->layers[static_cast<size_t>(i)];
      layer.moe = true;
      layer.dense = false;
      layer.intermediate = 0;
    }
  }
}

// transformers 5 writes the number of experts under the name that Mixtral's had.
int64_t count_experts(ConfigFields& fields) {
  const int64_t renamed = fields.count_or("num_local_experts", 0, 0);
  return renamed > 0 ? fields.count_or("num_experts", renamed) : fields.count("num_experts");
}

}  // namespace

void read_mixtral(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  read_windows(
      fields, 0, [](size_t) { return true; }, config);
  config->experts.experts = fields.count_or("num_local_experts", 8);
  config->experts.per_token = fields.count_or("num_experts_per_tok", 2);
  config->experts.intermediate = fields.count("intermediate_size");
  check_top_k(fields, "num_experts_per_tok", *config);
  make_all_moe(config);
}

// Routed experts and a shared one behind a gate of its own (Qwen2-MoE, Qwen3-Next).
static void read_gated_experts(ConfigFields& fields, LlmConfig* config) {
  config->experts.experts = count_experts(fields);
  config->experts.per_token = fields.count("num_experts_per_tok");
  config->experts.intermediate = fields.count("moe_intermediate_size");
  config->experts.shared_intermediate = fields.count("shared_expert_intermediate_size");
  config->experts.shared_gate = true;
  check_top_k(fields, "num_experts_per_tok", *config);
  make_qwen_moe(fields, config);
}

void read_qwen2_moe(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  config->qkv_bias = true;
  read_gated_experts(fields, config);
}

void read_qwen3_moe(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
  config->qk_norm = true;
  config->experts.experts = count_experts(fields);
  config->experts.per_token = fields.count("num_experts_per_tok");
  config->experts.intermediate = fields.count("moe_intermediate_size");
  check_top_k(fields, "num_experts_per_tok", *config);
  make_qwen_moe(fields, config);
}

// Every fourth layer has attention, with a gate behind it; the others a gated delta rule.
void read_qwen3_next(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.head_dim = 256}, config);
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
  config->qk_norm = true;
  config->attention_gate = true;
  read_linear_layers(
      fields, LlmAttention::kGatedDelta,
      [](int64_t layer, int64_t interval) { return (layer + 1) % interval != 0; },
      fields.count_or("full_attention_interval", 4), config);
  read_delta(fields, config);
  fields.ignore({"partial_rotary_factor", "output_router_logits", "router_aux_loss_coef",
                 "num_experts", "num_local_experts", "num_experts_per_tok", "moe_intermediate_size",
                 "shared_expert_intermediate_size", "decoder_sparse_step", "mlp_only_layers",
                 "norm_topk_prob", "use_sliding_window", "sliding_window", "max_window_layers"});
  if (fields.count_or("num_experts", 512, 0) == 0) {
    return;
  }
  read_gated_experts(fields, config);
}

void read_gpt_oss(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.head_dim = 64}, config);
  read_windows(
      fields, 128, [](size_t layer) { return layer % 2 == 0; }, config);
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", true);
  config->sinks = true;
  config->experts.experts = fields.count_or("num_local_experts", 128);
  fields.ignore({"experts_per_token", "swiglu_limit"});
  config->experts.per_token = fields.count_or("num_experts_per_tok", 4);
  config->experts.intermediate = fields.count("intermediate_size");
  config->experts.biases = true;
  check_top_k(fields, "num_experts_per_tok", *config);
  make_all_moe(config);
}

void read_deepseek_v2(ConfigFields& fields, LlmConfig* config) { read_deepseek(fields, config); }

void read_deepseek_v3(ConfigFields& fields, LlmConfig* config) {
  read_deepseek(fields, config);
  config->experts.correction_bias = true;
}

}  // namespace dfsim::inline graphs
