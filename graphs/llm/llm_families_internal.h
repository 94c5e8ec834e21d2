// The architectures that config.json files name by model_type.
#pragma once

#include <span>
#include <string_view>

#include "graphs/llm/config_fields_internal.h"
#include "graphs/llm/llm_config.h"

namespace dfsim::inline graphs {

struct LlmFamily {
  std::string_view model_type;
  // Fills everything but names and quantization; problems go into `fields`.
  void (*read)(ConfigFields& fields, LlmConfig* config);
};

std::span<const LlmFamily> llm_families();

// Why dfsim reads no config.json of a known architecture; "" for others.
std::string_view reason_to_refuse(std::string_view model_type);

// Steps that the families share, in llm_families.cc: dimensions of the transformer and its layers,
// all alike, with full attention. `head_dim` 0 = hidden / heads.
struct LlmDefaults {
  int64_t heads = 0;     // 0 = the field must be there
  int64_t kv_heads = 0;  // 0 = as many as heads
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t max_positions = 0;
  bool tied = false;
  bool gated = true;  // false: two products around an activation
};
void read_dense_decoder(ConfigFields& fields, const LlmDefaults& defaults, LlmConfig* config);
// The window of layers that are "sliding_attention" in layer_types, or (without that list) of those
// for which `is_sliding(layer)`.
void read_windows(ConfigFields& fields, int64_t default_window, bool (*is_sliding)(size_t layer),
                  LlmConfig* config);

// No token goes to more experts than there are; `key` is the field that says to how many.
void check_top_k(ConfigFields& fields, std::string_view key, const LlmConfig& config);

// Families with routed experts or latent attention, in llm_families_moe.cc.
void read_mixtral(ConfigFields& fields, LlmConfig* config);
void read_qwen2_moe(ConfigFields& fields, LlmConfig* config);
void read_qwen3_moe(ConfigFields& fields, LlmConfig* config);
void read_gpt_oss(ConfigFields& fields, LlmConfig* config);
void read_deepseek_v2(ConfigFields& fields, LlmConfig* config);
void read_deepseek_v3(ConfigFields& fields, LlmConfig* config);
// In llm_families_more.cc.
void read_olmo2(ConfigFields& fields, LlmConfig* config);
void read_olmo3(ConfigFields& fields, LlmConfig* config);
void read_olmoe(ConfigFields& fields, LlmConfig* config);
void read_cohere(ConfigFields& fields, LlmConfig* config);
void read_cohere2(ConfigFields& fields, LlmConfig* config);
void read_nemotron(ConfigFields& fields, LlmConfig* config);
void read_glm4(ConfigFields& fields, LlmConfig* config);
void read_glm4_moe(ConfigFields& fields, LlmConfig* config);
void read_granite_moe(ConfigFields& fields, LlmConfig* config);
void read_llama4(ConfigFields& fields, LlmConfig* config);
void read_hunyuan(ConfigFields& fields, LlmConfig* config);
void read_hunyuan_moe(ConfigFields& fields, LlmConfig* config);
// Layers of linear attention, in llm_families_linear.cc: those that layer_types names or, without
// that list, for which is_linear(layer, interval).
void read_linear_layers(ConfigFields& fields, LlmAttention kind,
                        bool (*is_linear)(int64_t, int64_t), int64_t interval, LlmConfig* config);
void read_delta(ConfigFields& fields, LlmConfig* config);
void read_minimax(ConfigFields& fields, LlmConfig* config);
void read_qwen3_next(ConfigFields& fields, LlmConfig* config);
// Gemma, in llm_families_gemma.cc.
void read_gemma(ConfigFields& fields, LlmConfig* config);
void read_gemma2(ConfigFields& fields, LlmConfig* config);
void read_gemma3(ConfigFields& fields, LlmConfig* config);
void read_gemma4(ConfigFields& fields, LlmConfig* config);

}  // namespace dfsim::inline graphs
