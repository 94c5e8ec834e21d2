// Configs of language models: published parameter counts, counts by hand, and what is refused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "graphs/llm/llm_config_reader.h"
#include "graphs/llm/llm_parameters.h"
#include "tests/llm/configs.h"

using namespace dfsim;

namespace {

int64_t total_of(const char* text) {
  const auto config = parse(text);
  INFO(config.status().message());
  REQUIRE(config.ok());
  return llm_parameters(*config).total();
}

std::string error_of(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  const auto config = parse(text.replace(at, from.size(), to));
  REQUIRE_FALSE(config.ok());
  return config.status().message();
}

// Fields that Qwen3-Next has next to Llama's.
const std::string kSmallDelta = R"(, "head_dim": 64, "num_experts": 8, "num_experts_per_tok": 2,
  "moe_intermediate_size": 256, "shared_expert_intermediate_size": 256, "linear_num_key_heads": 4,
  "linear_num_value_heads": 8, "linear_key_head_dim": 32, "linear_value_head_dim": 64)";

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Parameters: equal the counts of the published checkpoints") {
  CHECK(total_of(kLlama2_7b) == 6'738'415'616);
  CHECK(total_of(kLlama31_8b) == 8'030'261'248);
  CHECK(total_of(kLlama32_1b) == 1'235'814'400);
  CHECK(total_of(kMistral7b) == 7'241'732'096);
  CHECK(total_of(kMixtral8x7b) == 46'702'792'704);
  CHECK(total_of(kQwen2_7b) == 7'615'616'512);
  CHECK(total_of(kQwen3_32b) == 32'762'123'264);
  CHECK(total_of(kQwen15Moe) == 14'315'784'192);
  CHECK(total_of(kQwen3Moe30b) == 30'532'122'624);
  CHECK(total_of(kGemma2_9b) == 9'241'705'984);
  CHECK(total_of(kGemma3_1b) == 999'885'952);
  CHECK(total_of(kGptOss20b) == 20'914'757'184);
  CHECK(total_of(kPhi2) == 2'779'683'840);
  CHECK(total_of(kPhi3Mini) == 3'821'079'552);
  CHECK(total_of(kDeepSeekV2Lite) == 15'706'484'224);
  CHECK(total_of(kDeepSeekV3) == 671'026'419'200);
}

// Counted with transformers 5.24's own classes on the meta device.
TEST_CASE("Parameters: of the defaults of transformers' configurations") {
  CHECK(total_of(kQwen3MoeWritten) == 15'350'731'776);
  CHECK(total_of(kGranite) == 6'738'415'616);
  CHECK(total_of(kSmolLm3) == 3'075'098'624);
  CHECK(total_of(kSeedOss) == 28'921'040'896);
  CHECK(total_of(kStarcoder2) == 3'030'371'328);
  CHECK(total_of(kQwen3Next) == 79'674'391'296);
  CHECK(total_of(kMiniMax) == 47'373'946'880);
}

// Counted the same way, of six small layers each.
TEST_CASE("Parameters: of families that move norms, biases or experts") {
  const auto total = [](const std::string& type, const std::string& more) {
    const std::string text = R"({"model_type": ")" + type +
                             R"(", "hidden_size": 512, "num_hidden_layers": 6,
      "intermediate_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 4,
      "vocab_size": 32000, "max_position_embeddings": 4096)" +
                             more + "}";
    return total_of(text.c_str());
  };
  const std::string experts = R"(, "num_local_experts": 8, "num_experts_per_tok": 2)";
  CHECK(total("olmo2", "") == 46'935'040);
  CHECK(total("olmo3", "") == 46'935'040);
  CHECK(total("olmoe", R"(, "num_experts": 8, "num_experts_per_tok": 2)") == 113'019'904);
  CHECK(total("cohere", R"(, "use_qk_norm": true)") == 30'547'968);
  CHECK(total("cohere2", "") == 30'543'360);
  CHECK(total("nemotron", R"(, "hidden_act": "relu2")") == 43'791'360);
  CHECK(total("glm4", R"(, "head_dim": 64, "attention_bias": true)") == 46'942'720);
  CHECK(total("glm4_moe", R"(, "n_routed_experts": 8, "num_experts_per_tok": 2, "head_dim": 64,
    "moe_intermediate_size": 256, "n_shared_experts": 1, "first_k_dense_replace": 2,
    "use_qk_norm": true, "attention_bias": true)") == 54'818'080);
  CHECK(total("granitemoe", experts) == 113'015'296);
  CHECK(total("granitemoeshared", experts + R"(, "shared_intermediate_size": 512)") == 117'733'888);
  CHECK(total("hunyuan_v1_dense", R"(, "head_dim": 64)") == 46'931'200);
  CHECK(total("hunyuan_v1_dense", R"(, "head_dim": 128, "tie_word_embeddings": true,
    "attention_bias": true)") == 35'281'920);
  CHECK(total("hunyuan_v1_moe", R"(, "head_dim": 64, "num_experts": 8, "moe_topk": 2)") ==
        122'453'248);
  CHECK(total("hunyuan_v1_moe", R"(, "head_dim": 64, "num_experts": 8,
    "moe_topk": [2, 2, 2, 2, 2, 2], "num_shared_expert": [1, 1, 1, 1, 1, 1],
    "moe_intermediate_size": [1024, 1024, 1024, 1024, 1024, 1024])") == 122'453'248);
  CHECK(total("qwen3_next", kSmallDelta) == 59'728'912);
  CHECK(total("minimax", R"(, "head_dim": 64)" + experts) == 114'589'696);
  CHECK(total("llama4_text", R"(, "num_local_experts": 4, "num_experts_per_tok": 1, "head_dim": 64,
    "intermediate_size_mlp": 2048, "interleave_moe_layer_step": 2)") == 70'529'536);
}

TEST_CASE("Config: a model that sees images has the family of its text_config") {
  const std::string text =
      std::string(R"({"model_type": "llava", "vision_config": {}, "text_config": )") + kLlama2_7b +
      "}";
  CHECK(total_of(text.c_str()) == 6'738'415'616);
}

TEST_CASE("Config: Hunyuan's lists of experts must be the same in all layers") {
  const std::string text = R"({"model_type": "hunyuan_v1_moe", "hidden_size": 512, "head_dim": 64,
    "num_hidden_layers": 2, "intermediate_size": 1024, "num_attention_heads": 8,
    "num_experts": 8, "moe_topk": [2, 2], "vocab_size": 100, "max_position_embeddings": 64})";
  CHECK(parse(text)->experts.per_token == 2);
  CHECK(mentions(error_of(text, "[2, 2]", "[2, 4]"), "moe_topk differs from layer to layer"));
  CHECK(mentions(error_of(text, "\"head_dim\": 64", "\"head_dim\": 64, \"use_mla\": true"),
                 "use_mla is true"));
}

TEST_CASE("Config: architectures with a state instead of a cache are refused with the reason") {
  const auto refused = [](const std::string& type) {
    return parse(R"({"model_type": ")" + type + "\"}").status().message();
  };
  CHECK(mentions(refused("mamba2"), "mamba2: its layers keep a state (Mamba)"));
  CHECK(mentions(refused("jamba"), "export the model to ONNX"));
  CHECK(mentions(refused("rwkv7"), "model_type"));
}

TEST_CASE("Config: names the encoders that it leaves out") {
  CHECK(left_out_text(*parse(kLlama2_7b)).empty());
  std::string text = kLlama2_7b;  // one object for text and images, as Qwen2-VL's
  text.insert(text.find('{') + 1, R"("vision_config": {"depth": 32}, "audio_config": null, )");
  const auto config = parse(text);
  REQUIRE(config.ok());
  CHECK(config->left_out == std::vector<std::string>{"vision_config"});
  CHECK(left_out_text(*config) ==
        "the language model alone is counted; its vision tower (vision_config) is left out");
  const auto both =
      parse(std::string(R"({"model_type": "gemma3", "vision_config": {}, "audio_config": {},
                            "text_config": )") +
            kGemma3_1b + "}");
  REQUIRE(both.ok());
  CHECK(left_out_text(*both) ==
        "the language model alone is counted; its vision tower and audio tower (vision_config, "
        "audio_config) are left out");
}

TEST_CASE("Parameters: Gemma 4 31B has the 30.7 billion of its model card") {
  CHECK(static_cast<double>(total_of(kGemma4_31b)) == Approx(30.7e9).epsilon(0.005));
}

TEST_CASE("Parameters: of experts, a token uses its top-k") {
  CHECK(static_cast<double>(llm_active_parameters(*parse(kGptOss20b))) ==
        Approx(3.6e9).epsilon(0.01));
  CHECK(static_cast<double>(llm_active_parameters(*parse(kMixtral8x7b))) ==
        Approx(12.75e9).epsilon(0.01));
}

TEST_CASE("Layers: windows, caches and latent attention are those of the architecture") {
  const auto gemma = parse(kGemma3_1b);
  CHECK(gemma->layers[0].window == 512);
  CHECK(gemma->layers[5].window == 0);  // every sixth sees everything
  const auto oss = parse(kGptOss20b);
  CHECK(oss->layers[0].window == 128);
  CHECK(oss->layers[1].window == 0);
  CHECK(parse(kQwen2_7b)->layers[0].window == 0);  // its window is switched off
  const auto latent = parse(kDeepSeekV3);
  CHECK(llm_kv_elements_per_token(*latent, latent->layers[0]) == 576);
  CHECK_FALSE(latent->layers[2].moe);
  CHECK(latent->layers[3].moe);
  const auto llama = parse(kLlama31_8b);
  CHECK(llm_kv_elements_per_token(*llama, llama->layers[0]) == 2 * 8 * 128);
  const auto global = parse(kGemma4_31b);
  CHECK(global->layers[5].head_dim == 512);
  CHECK(global->layers[5].kv_heads == 4);
  CHECK(global->layers[5].value_is_key);
}

TEST_CASE("Layers: linear attention keeps a state for each sequence and no cache") {
  const auto next = parse(kQwen3Next);
  REQUIRE(next.ok());
  CHECK(next->layers[2].attention == LlmAttention::kGatedDelta);
  CHECK(next->layers[3].attention == LlmAttention::kGrouped);
  CHECK(llm_kv_elements_per_token(*next, next->layers[2]) == 0);
  CHECK(llm_kv_elements_per_token(*next, next->layers[3]) == 2 * 2 * 256);
  CHECK(llm_state_elements(*next, next->layers[2]) == 32 * 128 * 128);
  // Three earlier tokens of 16 keys, 16 queries and 32 values of 128.
  CHECK(llm_past_elements(*next, next->layers[2]) == 3 * 128 * (16 + 16 + 32));
  CHECK(llm_state_elements(*next, next->layers[3]) == 0);
  const auto minimax = parse(kMiniMax);
  REQUIRE(minimax.ok());
  CHECK(minimax->layers[0].attention == LlmAttention::kGrouped);
  CHECK(minimax->layers[1].attention == LlmAttention::kLightning);
  CHECK(llm_state_elements(*minimax, minimax->layers[1]) == 32 * 128 * 128);
  CHECK(
      mentions(error_of(kMiniMax, "\"vocab_size\"", "\"layer_types\": [\"mamba\"], \"vocab_size\""),
               "layer_types is a list of 1"));
}

TEST_CASE("FLOPs: a token's work in linear attention does not grow with the context") {
  const auto next = parse(kQwen3Next);
  // A delta rule: three products of each state per token, in 36 of 48 layers; 12 layers with heads
  // of 256 look at the keys.
  const double near = llm_flops(*next, 1, 0, 0);
  CHECK(llm_flops(*next, 1, 1000, 0) - near == Approx(12 * 4.0 * 16 * 256 * 1000).epsilon(1e-9));
  CHECK(near > 36 * 2.0 * 3 * 32 * 128 * 128);
}

TEST_CASE("FLOPs: equal a count by hand for a token of Llama 3.1 8B") {
  const auto config = parse(kLlama31_8b);
  // Per layer: q and o 4096 x 4096, k and v 4096 x 1024, three of 4096 x 14336; attention 4 * 4096
  // per key; lm_head 4096 x 128256.
  const double layer = 2.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336);
  const double keys = 1000 + 1;
  CHECK(llm_flops(*config, 1, 1000, 1) ==
        Approx(32 * (layer + 4.0 * 4096 * keys) + 2.0 * 4096 * 128256).epsilon(1e-12));
}

TEST_CASE("FLOPs: a window limits the keys of a query") {
  const auto config = parse(kMistral7b);
  const double near = llm_flops(*config, 1, 4096, 0);
  CHECK(llm_flops(*config, 1, 20000, 0) == Approx(near).epsilon(1e-12));
  // A prompt of 3 tokens over an empty cache looks at 1 + 2 + 3 keys.
  const double one = llm_flops(*config, 1, 0, 0);
  const double three = llm_flops(*config, 3, 0, 0);
  CHECK(three - 3 * one == Approx(32 * 4.0 * 4096 * (6 - 3)).epsilon(1e-9));
}

TEST_CASE("Quantization: the published precision goes to the operators it applies to") {
  const auto oss = parse(kGptOss20b);
  CHECK(oss->published_experts == LlmPrecision::kMxfp4);
  CHECK(oss->published_attention == LlmPrecision::kBf16);
  const auto deepseek = parse(kDeepSeekV3);
  CHECK(deepseek->published_attention == LlmPrecision::kFp8Block);
  CHECK(llm_bits_per_weight(LlmPrecision::kMxfp4) == 4.25);
  CHECK(mentions(error_of(kGptOss20b, "\"mxfp4\"", "\"bitnet\""), "quant_method is 'bitnet'"));
}

TEST_CASE("Quantization: methods of 4 and 8 bits name their format") {
  const auto format_of = [](const std::string& quantization) {
    std::string text = kQwen3_32b;
    text.insert(text.rfind('}'), ", \"quantization_config\": " + quantization);
    const auto config = parse(text);
    INFO(config.status().message());
    REQUIRE(config.ok());
    CHECK(config->published_mlp == config->published_attention);
    return config->published_mlp;
  };
  const auto groups = [](const std::string& weights) {
    return R"({"quant_method": "compressed-tensors", "ignore": ["lm_head"],
      "config_groups": {"group_0": {"targets": ["Linear"], "weights": )" +
           weights + "}}}";
  };
  CHECK(format_of(R"({"quant_method": "gptq", "bits": 4})") == LlmPrecision::kInt4);
  CHECK(format_of(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})") ==
        LlmPrecision::kInt4);
  CHECK(format_of(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})") ==
        LlmPrecision::kInt8);
  CHECK(format_of(groups(R"({"num_bits": 4, "type": "int"})")) == LlmPrecision::kInt4);
  CHECK(format_of(groups(R"({"num_bits": 8, "type": "int"})")) == LlmPrecision::kInt8);
  CHECK(format_of(groups(R"({"num_bits": 8, "type": "float", "strategy": "channel"})")) ==
        LlmPrecision::kFp8);
  CHECK(format_of(groups(R"({"num_bits": 8, "type": "float", "strategy": "block"})")) ==
        LlmPrecision::kFp8Block);
  CHECK(format_of(groups(R"({"num_bits": 4, "type": "float", "group_size": 16})")) ==
        LlmPrecision::kNvfp4);
  std::string three = kQwen3_32b;
  three.insert(three.rfind('}'), R"(, "quantization_config": {"quant_method": "gptq", "bits": 3})");
  CHECK_FALSE(parse(three).ok());
}

TEST_CASE("Config: NaN and Infinity, which Python writes, count as null") {
  std::string text = kLlama31_8b;
  text.insert(text.rfind('}'), R"(, "router_jitter": NaN, "limits": [0.0, Infinity, -Infinity],
    "note": "a \"NaN\" in a text")");
  const auto config = parse(text);
  INFO(config.status().message());
  CHECK(config.ok());
  const auto unknown =
      parse(R"({"model_type": "mamba9", "time_step_limit": [0.0, Infinity], "hidden_size": 64})");
  REQUIRE_FALSE(unknown.ok());
  CHECK(mentions(unknown.status().message(), "unknown model_type 'mamba9'"));
}

TEST_CASE("Config: a malformed field is named with what was expected") {
  CHECK(error_of(kLlama31_8b, "\"hidden_size\": 4096,", "") ==
        "model/config.json: hidden_size is missing, expected a whole number from 1 to 2147483647");
  CHECK(mentions(error_of(kLlama31_8b, "\"hidden_size\": 4096", "\"hidden_size\": -4096"),
                 "hidden_size is -4096"));
  CHECK(mentions(error_of(kLlama31_8b, "\"hidden_size\": 4096", "\"hidden_size\": 1e300"),
                 "hidden_size is 1e+300"));
  CHECK(mentions(error_of(kLlama31_8b, "\"hidden_size\": 4096", "\"hidden_size\": \"big\""),
                 "hidden_size is \"big\""));
  CHECK(mentions(error_of(kLlama31_8b, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5"),
                 "num_key_value_heads is 5, expected a divisor of num_attention_heads 32"));
  CHECK(
      mentions(error_of(kLlama31_8b, "\"num_attention_heads\": 32", "\"num_attention_heads\": 24"),
               "expected a divisor of hidden_size 4096"));
  CHECK(
      mentions(error_of(kLlama31_8b, "\"num_hidden_layers\": 32", "\"num_hidden_layers\": 900000"),
               "num_hidden_layers is 900000"));
  CHECK(mentions(error_of(kMixtral8x7b, "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9"),
                 "at most the number of experts, 8"));
  CHECK(mentions(parse("[1, 2]").status().message(), "is not a JSON object"));
}

TEST_CASE("Config: an unknown architecture lists the known ones, an unknown key is named") {
  const std::string type = error_of(kLlama31_8b, "\"llama\"", "\"llamba\"");
  CHECK(mentions(type, "did you mean 'llama'?"));
  CHECK(mentions(type, "deepseek_v3"));
  CHECK(mentions(error_of(kLlama31_8b, "\"hidden_act\"", "\"num_memory_heads\": 4, \"hidden_act\""),
                 "key 'num_memory_heads' of llama is not known"));
  // Switched off or of no consequence, it is left alone.
  std::string harmless = kLlama31_8b;
  harmless.insert(1, "\"num_memory_heads\": 0, \"initializer_range\": 0.02, ");
  CHECK(parse(harmless).ok());
}

TEST_CASE("Config: files as their makers publish them are read") {
  const char* const root = std::getenv("DFSIM_SHARED");
  if (root == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const std::string folder = std::string(root) + "/models/hf_configs/";
  const auto qwen = read_llm_config(folder + "Qwen--Qwen3-235B-A22B-FP8_config.json");
  INFO(qwen.status().message());
  REQUIRE(qwen.ok());
  CHECK(llm_parameters(*qwen).total() == 235'093'634'560);
  CHECK(qwen->published_experts == LlmPrecision::kFp8Block);
  CHECK(llm_parameters(*read_llm_config(folder + "openai--gpt-oss-120b_config.json")).total() ==
        116'829'156'672);
  CHECK(llm_parameters(*read_llm_config(folder + "meta-llama--Meta-Llama-3.1-70B_config.json"))
            .total() == 70'553'706'496);
}
