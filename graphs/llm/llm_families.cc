// Dense families: Llama, Mistral, Qwen 2 and 3, Phi; what all families share; the list of them.
//
// Defaults are those of Hugging Face's configuration classes: a field that a config.json leaves out
// has that value there.
#include "graphs/llm/llm_families_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dfsim::inline graphs {

namespace {

constexpr int64_t kMostLayers = 4096;

LlmActivation activation_of(ConfigFields& fields, std::string_view name, bool gated) {
  if (!gated) {
    return LlmActivation::kGelu;
  }
  if (name == "silu" || name == "swish") {
    return LlmActivation::kSwiGlu;
  }
  if (name.starts_with("gelu")) {
    return LlmActivation::kGeGlu;
  }
  fields.fail("hidden_act", std::string(name), "silu or a kind of gelu");
  return LlmActivation::kSwiGlu;
}

void read_llama(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
  config->mlp_bias = fields.flag_or("mlp_bias", false);
  fields.ignore({"pretraining_tp"});
}

void read_mistral(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  read_windows(
      fields, 0, [](size_t) { return true; }, config);
}

void read_qwen_windows(ConfigFields& fields, LlmConfig* config) {
  const bool windows = fields.flag_or("use_sliding_window", false);
  const int64_t full_layers = fields.count_or("max_window_layers", config->layer_count(), 0);
  const int64_t window = fields.count_or("sliding_window", 0, 0);
  fields.ignore({"layer_types"});
  for (int64_t i = 0; windows && i < config->layer_count(); ++i) {
    // The first max_window_layers see everything, those above slide.
    config->layers[static_cast<size_t>(i)].window = i >= full_layers ? window : 0;
  }
}

void read_qwen2(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  read_qwen_windows(fields, config);
  config->qkv_bias = true;
}

void read_qwen3(ConfigFields& fields, LlmConfig* config) {
  LlmDefaults defaults;
  defaults.head_dim = 128;
  read_dense_decoder(fields, defaults, config);
  read_qwen_windows(fields, config);
  config->qkv_bias = config->o_bias = fields.flag_or("attention_bias", false);
  config->qk_norm = true;
}

void read_phi3(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {}, config);
  read_windows(
      fields, 0, [](size_t) { return true; }, config);
  fields.ignore({"attention_bias", "partial_rotary_factor"});
}

void read_phi(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.gated = false}, config);
  config->activation = LlmActivation::kGelu;
  config->qkv_bias = config->o_bias = config->mlp_bias = config->lm_head_bias = true;
  config->norm_bias = config->parallel_blocks = true;
  config->qk_norm = fields.flag_or("qk_layernorm", false);
  fields.ignore({"partial_rotary_factor"});
}

// Llama's layers; the multipliers scale activations and cost nothing that shows.
void read_granite(ConfigFields& fields, LlmConfig* config) {
  read_llama(fields, config);
  fields.ignore(
      {"attention_multiplier", "embedding_multiplier", "logits_scaling", "residual_multiplier"});
}

// Llama's layers; some don't rotate queries and keys.
void read_smollm3(ConfigFields& fields, LlmConfig* config) {
  read_llama(fields, config);
  fields.ignore({"no_rope_layers", "no_rope_layer_interval", "layer_types", "sliding_window",
                 "max_window_layers"});
  if (fields.flag_or("use_sliding_window", false)) {
    fields.fail_unsupported("use_sliding_window is true; only full attention is known");
  }
}

void read_seed_oss(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.head_dim = 128}, config);
  config->qkv_bias = fields.flag_or("attention_bias", true);
  config->o_bias = fields.flag_or("attention_out_bias", false);
  config->mlp_bias = fields.flag_or("mlp_bias", false);
  fields.ignore({"pretraining_tp", "residual_dropout"});
}

void read_starcoder2(ConfigFields& fields, LlmConfig* config) {
  read_dense_decoder(fields, {.tied = true}, config);
  read_windows(
      fields, 0, [](size_t) { return true; }, config);
  config->activation = LlmActivation::kGelu;
  config->norm_bias = true;
  config->qkv_bias = config->o_bias = config->mlp_bias = fields.flag_or("use_bias", true);
  fields.ignore({"embedding_dropout", "residual_dropout", "norm_epsilon"});
}

}  // namespace

void read_dense_decoder(ConfigFields& fields, const LlmDefaults& defaults, LlmConfig* config) {
  config->hidden = fields.count("hidden_size");
  config->vocab = defaults.vocab > 0 ? fields.count_or("vocab_size", defaults.vocab)
                                     : fields.count("vocab_size");
  config->max_positions = defaults.max_positions > 0
                              ? fields.count_or("max_position_embeddings", defaults.max_positions)
                              : fields.count("max_position_embeddings");
  config->tied_embeddings = fields.flag_or("tie_word_embeddings", defaults.tied);
  const int64_t layers = fields.count("num_hidden_layers");
  if (layers > kMostLayers) {
    fields.fail("num_hidden_layers", std::to_string(layers),
                fmt::format("at most {}", kMostLayers));
  }
  LlmLayer layer;
  layer.heads = defaults.heads > 0 ? fields.count_or("num_attention_heads", defaults.heads)
                                   : fields.count("num_attention_heads");
  layer.kv_heads = fields.count_or("num_key_value_heads",
                                   defaults.kv_heads > 0 ? defaults.kv_heads : layer.heads);
  layer.head_dim = fields.count_or("head_dim", defaults.head_dim);
  layer.intermediate = fields.count("intermediate_size");
  if (layer.head_dim == 0) {
    layer.head_dim = config->hidden / layer.heads;
    if (config->hidden % layer.heads != 0) {
      fields.fail(
          "num_attention_heads", std::to_string(layer.heads),
          fmt::format("a divisor of hidden_size {}, as head_dim is not given", config->hidden));
    }
  }
  if (layer.heads % layer.kv_heads != 0) {
    fields.fail("num_key_value_heads", std::to_string(layer.kv_heads),
                fmt::format("a divisor of num_attention_heads {}", layer.heads));
  }
  const std::string named = fields.text_or("hidden_act", "silu");
  config->activation =
      activation_of(fields, fields.text_or("hidden_activation", named), defaults.gated);
  config->layers.assign(static_cast<size_t>(std::min(layers, kMostLayers)), layer);
}

void read_windows(ConfigFields& fields, int64_t default_window, bool (*is_sliding)(size_t layer),
                  LlmConfig* config) {
  const int64_t window = fields.count_or("sliding_window", default_window, 0);
  const std::vector<std::string> types = fields.texts("layer_types");
  if (!types.empty() && types.size() != config->layers.size()) {
    fields.fail("layer_types", fmt::format("a list of {}", types.size()),
                fmt::format("one per layer, {}", config->layers.size()));
    return;
  }
  for (size_t i = 0; i < config->layers.size(); ++i) {
    if (!types.empty() && types[i] != "sliding_attention" && types[i] != "full_attention") {
      fields.fail_unsupported(fmt::format(
          "layer_types has '{}'; only sliding_attention and full_attention are known", types[i]));
      return;
    }
    const bool sliding = types.empty() ? is_sliding(i) : types[i] == "sliding_attention";
    config->layers[i].window = sliding ? window : 0;
  }
}

std::span<const LlmFamily> llm_families() {
  static constexpr std::array<LlmFamily, 46> kFamilies = {{
      {"cohere", read_cohere},
      {"cohere2", read_cohere2},
      {"deepseek_v2", read_deepseek_v2},
      {"deepseek_v3", read_deepseek_v3},
      {"gemma", read_gemma},
      {"gemma2", read_gemma2},
      {"gemma3", read_gemma3},
      {"gemma3_text", read_gemma3},
      {"gemma4", read_gemma4},
      {"gemma4_text", read_gemma4},
      {"gemma4_unified", read_gemma4},
      {"gemma4_unified_text", read_gemma4},
      {"glm4", read_glm4},
      {"glm4_moe", read_glm4_moe},
      {"gpt_oss", read_gpt_oss},
      {"granite", read_granite},
      {"granitemoe", read_granite_moe},
      {"granitemoeshared", read_granite_moe},
      {"hunyuan_v1_dense", read_hunyuan},
      {"hunyuan_v1_moe", read_hunyuan_moe},
      {"kimi_k2", read_deepseek_v3},
      {"llama", read_llama},
      {"llama4_text", read_llama4},
      {"minimax", read_minimax},
      {"mistral", read_mistral},
      {"mixtral", read_mixtral},
      {"nemotron", read_nemotron},
      {"olmo2", read_olmo2},
      {"olmo3", read_olmo3},
      {"olmoe", read_olmoe},
      {"phi", read_phi},
      {"phi3", read_phi3},
      {"qwen2", read_qwen2},
      {"qwen2_5_vl", read_qwen2},
      {"qwen2_5_vl_text", read_qwen2},
      {"qwen2_moe", read_qwen2_moe},
      {"qwen2_vl", read_qwen2},
      {"qwen2_vl_text", read_qwen2},
      {"qwen3", read_qwen3},
      {"qwen3_moe", read_qwen3_moe},
      {"qwen3_next", read_qwen3_next},
      {"qwen3_vl_moe_text", read_qwen3_moe},
      {"qwen3_vl_text", read_qwen3},
      {"seed_oss", read_seed_oss},
      {"smollm3", read_smollm3},
      {"starcoder2", read_starcoder2},
  }};
  return kFamilies;
}

std::string_view reason_to_refuse(std::string_view model_type) {
  struct Refused {
    std::string_view model_type;
    std::string_view reason;
  };
  constexpr std::string_view kState =
      "its layers keep a state (Mamba) instead of a cache of keys and values, which the kernels of "
      "dfsim llm lack; export the model to ONNX and use dfsim predict";
  constexpr std::string_view kLinear =
      "its layers of linear attention keep a state instead of a cache of keys and values, which "
      "the "
      "kernels of dfsim llm lack; export the model to ONNX and use dfsim predict";
  static constexpr std::array<Refused, 15> kRefused = {{
      {"bamba", kState},
      {"falcon_h1", kState},
      {"falcon_mamba", kState},
      {"granitemoehybrid", kState},
      {"jamba", kState},
      {"kimi_linear", kLinear},
      {"mamba", kState},
      {"mamba2", kState},
      {"nemotron_h", kState},
      {"olmo_hybrid", kLinear},
      {"qwen3_5", kLinear},
      {"qwen3_5_moe", kLinear},
      {"rwkv", kState},
      {"zamba", kState},
      {"zamba2", kState},
  }};
  const auto found = std::find_if(kRefused.begin(), kRefused.end(), [&](const Refused& refused) {
    return refused.model_type == model_type;
  });
  return found == kRefused.end() ? std::string_view() : found->reason;
}

}  // namespace dfsim::inline graphs
