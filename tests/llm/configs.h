// Configs of published models, reduced to the keys that matter.
#pragma once

#include <string>

#include "graphs/llm/llm_config_reader.h"

namespace dfsim {

inline StatusOr<LlmConfig> parse(const std::string& text) {
  return parse_llm_config(text, "model/config.json", "model");
}

inline const char* const kLlama2_7b = R"({"model_type": "llama", "hidden_size": 4096,
  "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096,
  "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kLlama31_8b = R"({"model_type": "llama", "hidden_size": 4096,
  "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
  "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kLlama32_1b = R"({"model_type": "llama", "hidden_size": 2048,
  "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "head_dim": 64,
  "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
  "hidden_act": "silu", "tie_word_embeddings": true})";
inline const char* const kMistral7b = R"({"model_type": "mistral", "hidden_size": 4096,
  "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768,
  "sliding_window": 4096, "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kMixtral8x7b = R"({"model_type": "mixtral", "hidden_size": 4096,
  "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768,
  "num_local_experts": 8, "num_experts_per_tok": 2, "hidden_act": "silu",
  "tie_word_embeddings": false})";
inline const char* const kQwen2_7b = R"({"model_type": "qwen2", "hidden_size": 3584,
  "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
  "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768,
  "use_sliding_window": false, "sliding_window": 131072, "max_window_layers": 28,
  "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kQwen3_32b = R"({"model_type": "qwen3", "hidden_size": 5120,
  "intermediate_size": 25600, "num_hidden_layers": 64, "num_attention_heads": 64,
  "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
  "max_position_embeddings": 40960, "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kQwen15Moe = R"({"model_type": "qwen2_moe", "hidden_size": 2048,
  "intermediate_size": 5632, "num_hidden_layers": 24, "num_attention_heads": 16,
  "num_key_value_heads": 16, "vocab_size": 151936, "max_position_embeddings": 8192,
  "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
  "shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1, "hidden_act": "silu",
  "tie_word_embeddings": false})";
inline const char* const kQwen3Moe30b = R"({"model_type": "qwen3_moe", "hidden_size": 2048,
  "intermediate_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 32,
  "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
  "max_position_embeddings": 40960, "num_experts": 128, "num_experts_per_tok": 8,
  "moe_intermediate_size": 768, "decoder_sparse_step": 1, "mlp_only_layers": [],
  "hidden_act": "silu", "tie_word_embeddings": false})";
// As transformers 5.24 writes them: all defaults of Qwen3MoeConfig, GraniteConfig, SmolLM3Config,
// SeedOssConfig and Starcoder2Config.
inline const char* const kQwen3MoeWritten = R"({"model_type": "qwen3_moe", "hidden_size": 2048,
  "intermediate_size": 6144, "num_hidden_layers": 24, "num_attention_heads": 32,
  "num_key_value_heads": 4, "vocab_size": 151936, "max_position_embeddings": 32768,
  "num_local_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
  "decoder_sparse_step": 1, "mlp_only_layers": [], "hidden_act": "silu",
  "tie_word_embeddings": false})";
inline const char* const kGranite = R"({"model_type": "granite", "hidden_size": 4096,
  "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 32, "vocab_size": 32000, "max_position_embeddings": 2048,
  "attention_multiplier": 1.0, "embedding_multiplier": 1.0, "logits_scaling": 1.0,
  "residual_multiplier": 1.0, "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kSmolLm3 = R"({"model_type": "smollm3", "hidden_size": 2048,
  "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
  "num_key_value_heads": 4, "vocab_size": 128256, "max_position_embeddings": 32768,
  "use_sliding_window": false, "no_rope_layer_interval": 4, "hidden_act": "silu",
  "tie_word_embeddings": true})";
inline const char* const kSeedOss = R"({"model_type": "seed_oss", "hidden_size": 4096,
  "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 80,
  "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 155136,
  "max_position_embeddings": 524288, "attention_bias": true, "attention_out_bias": false,
  "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kStarcoder2 = R"({"model_type": "starcoder2", "hidden_size": 3072,
  "intermediate_size": 12288, "num_hidden_layers": 30, "num_attention_heads": 24,
  "num_key_value_heads": 2, "vocab_size": 49152, "max_position_embeddings": 4096,
  "hidden_act": "gelu_pytorch_tanh", "use_bias": true, "sliding_window": null,
  "tie_word_embeddings": true})";
inline const char* const kGemma2_9b = R"({"model_type": "gemma2", "hidden_size": 3584,
  "intermediate_size": 14336, "num_hidden_layers": 42, "num_attention_heads": 16,
  "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 256000,
  "max_position_embeddings": 8192, "sliding_window": 4096, "attn_logit_softcapping": 50.0,
  "hidden_activation": "gelu_pytorch_tanh"})";
inline const char* const kGemma3_1b = R"({"model_type": "gemma3_text", "hidden_size": 1152,
  "intermediate_size": 6912, "num_hidden_layers": 26, "num_attention_heads": 4,
  "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144,
  "max_position_embeddings": 32768, "sliding_window": 512, "sliding_window_pattern": 6,
  "hidden_activation": "gelu_pytorch_tanh"})";
inline const char* const kGemma4_31b = R"({"model_type": "gemma4", "text_config": {
  "model_type": "gemma4_text", "hidden_size": 5376, "intermediate_size": 21504,
  "num_hidden_layers": 60, "num_attention_heads": 32, "num_key_value_heads": 16,
  "num_global_key_value_heads": 4, "head_dim": 256, "global_head_dim": 512,
  "vocab_size": 262144, "max_position_embeddings": 262144, "sliding_window": 1024,
  "attention_k_eq_v": true, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0,
  "enable_moe_block": false, "hidden_activation": "gelu_pytorch_tanh"}})";
inline const char* const kGptOss20b = R"({"model_type": "gpt_oss", "hidden_size": 2880,
  "intermediate_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
  "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088, "attention_bias": true,
  "max_position_embeddings": 131072, "num_local_experts": 32, "num_experts_per_tok": 4,
  "sliding_window": 128, "hidden_act": "silu", "tie_word_embeddings": false,
  "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": [
    "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}})";
inline const char* const kPhi2 = R"({"model_type": "phi", "hidden_size": 2560,
  "intermediate_size": 10240, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 32, "vocab_size": 51200, "max_position_embeddings": 2048,
  "hidden_act": "gelu_new", "tie_word_embeddings": false})";
inline const char* const kPhi3Mini = R"({"model_type": "phi3", "hidden_size": 3072,
  "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 32, "vocab_size": 32064, "max_position_embeddings": 4096,
  "sliding_window": 2047, "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kDeepSeekV2Lite = R"({"model_type": "deepseek_v2", "hidden_size": 2048,
  "intermediate_size": 10944, "num_hidden_layers": 27, "num_attention_heads": 16,
  "num_key_value_heads": 16, "vocab_size": 102400, "max_position_embeddings": 163840,
  "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "v_head_dim": 128, "n_routed_experts": 64, "num_experts_per_tok": 6, "n_shared_experts": 2,
  "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1,
  "hidden_act": "silu", "tie_word_embeddings": false})";
inline const char* const kDeepSeekV3 = R"({"model_type": "deepseek_v3", "hidden_size": 7168,
  "intermediate_size": 18432, "num_hidden_layers": 61, "num_attention_heads": 128,
  "num_key_value_heads": 128, "vocab_size": 129280, "max_position_embeddings": 163840,
  "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1,
  "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "moe_layer_freq": 1,
  "num_nextn_predict_layers": 1, "hidden_act": "silu", "tie_word_embeddings": false,
  "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})";

// The defaults of transformers 5.24.
inline const char* const kQwen3Next = R"({"model_type": "qwen3_next", "hidden_size": 2048,
  "intermediate_size": 5632, "num_hidden_layers": 48, "num_attention_heads": 16, "head_dim": 256,
  "num_key_value_heads": 2, "vocab_size": 151936, "max_position_embeddings": 32768,
  "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
  "linear_num_key_heads": 16, "linear_num_value_heads": 32, "decoder_sparse_step": 1,
  "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "num_experts": 512,
  "num_experts_per_tok": 10, "full_attention_interval": 4, "partial_rotary_factor": 0.25,
  "mlp_only_layers": [], "tie_word_embeddings": false})";
inline const char* const kMiniMax = R"({"model_type": "minimax", "hidden_size": 4096,
  "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 131072,
  "num_local_experts": 8, "num_experts_per_tok": 2, "block_size": 256,
  "tie_word_embeddings": false})";

}  // namespace dfsim
