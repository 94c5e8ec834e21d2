// Families some of whose layers have linear attention: Qwen3-Next and MiniMax.
#include <fmt/format.h>

#include "graphs/llm/llm_families_internal.h"

namespace dfsim::inline graphs {

void read_linear_layers(ConfigFields& fields, LlmAttention kind,
                        bool (*is_linear)(int64_t, int64_t), int64_t interval, LlmConfig* config) {
  const std::vector<std::string> types = fields.texts("layer_types");
  if (!types.empty() && types.size() != config->layers.size()) {
    fields.fail("layer_types", fmt::format("a list of {}", types.size()),
                fmt::format("one per layer, {}", config->layers.size()));
    return;
  }
  for (int64_t i = 0; i < config->layer_count(); ++i) {
    const auto slot = static_cast<size_t>(i);
    if (!types.empty() && types[slot] != "linear_attention" && types[slot] != "full_attention") {
      fields.fail_unsupported(fmt::format(
          "layer_types has '{}'; only linear_attention and full_attention are known", types[slot]));
      return;
    }
    const bool linear = types.empty() ? is_linear(i, interval) : types[slot] == "linear_attention";
    config->layers[slot].attention = linear ? kind : LlmAttention::kGrouped;
  }
}

void read_delta(ConfigFields& fields, LlmConfig* config) {
  LlmDelta& delta = config->delta;
  delta.kernel = fields.count_or("linear_conv_kernel_dim", 4);
  delta.key_heads = fields.count_or("linear_num_key_heads", 16);
  delta.value_heads = fields.count_or("linear_num_value_heads", 32);
  delta.key_dim = fields.count_or("linear_key_head_dim", 128);
  delta.value_dim = fields.count_or("linear_value_head_dim", 128);
  if (delta.value_heads % delta.key_heads != 0) {
    fields.fail("linear_num_key_heads", std::to_string(delta.key_heads),
                fmt::format("a divisor of linear_num_value_heads {}", delta.value_heads));
  }
  for (LlmLayer& layer : config->layers) {
    if (layer.attention == LlmAttention::kGatedDelta) {
      layer.heads = delta.value_heads;
      layer.kv_heads = delta.key_heads;
      layer.head_dim = delta.key_dim;
    }
  }
}

// Every second layer has lightning attention; all have experts.
void read_minimax(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  config->experts.experts = fields.count_or("num_local_experts", 8);
  config->experts.per_token = fields.count_or("num_experts_per_tok", 2);
  config->experts.intermediate = fields.count("intermediate_size");
  check_top_k(fields, "num_experts_per_tok", *config);
  read_linear_layers(
      fields, LlmAttention::kLightning,
      [](int64_t layer, int64_t interval) { return layer % interval != 0; }, 2, config);
  const int64_t window = fields.count_or("sliding_window", 0, 0);
  for (LlmLayer& layer : config->layers) {
    layer.moe = true;
    layer.dense = false;
    layer.intermediate = 0;
    if (layer.is_linear()) {
      layer.kv_heads = layer.heads;
    } else {
      layer.window = window;
    }
  }
  fields.ignore({"block_size", "full_attn_alpha_factor", "full_attn_beta_factor",
                 "linear_attn_alpha_factor", "linear_attn_beta_factor", "mlp_alpha_factor",
                 "mlp_beta_factor", "output_router_logits", "router_aux_loss_coef",
                 "router_jitter_noise"});
}

}  // namespace dfsim::inline graphs
