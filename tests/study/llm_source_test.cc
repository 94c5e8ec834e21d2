// Decoders from ONNX files: the config read from a graph equals that of the model's config.json.
#include "study/chain/llm_source.h"

#include <catch2/catch.hpp>

#include "graphs/llm/llm_config_graph.h"
#include "graphs/llm/llm_graph.h"
#include "graphs/llm/llm_parameters.h"
#include "tests/llm/configs.h"

namespace dfsim {
namespace {

const std::string kDecoderFolder = std::string(DFSIM_SOURCE_DIR) + "/graphs/zoo";

TEST_CASE("Decoder files: the zoo's Llama 1B has the dimensions of Llama 3.2 1B") {
  const auto published = parse(kLlama32_1b);
  for (const char* const file : {"/llama_1b_decode.onnx", "/llama_1b_prefill.onnx"}) {
    const auto config = load_llm_config(kDecoderFolder + file);
    INFO(file << ": " << config.status().message());
    REQUIRE(config.ok());
    CHECK(config->layers == published->layers);
    CHECK(config->hidden == published->hidden);
    CHECK(config->vocab == published->vocab);
    CHECK(config->tied_embeddings);
    REQUIRE(config->notes.size() == 1);  // 1.236 G numbers of 4 bytes
    CHECK(config->notes[0].find("the file has 4.94 GB of float32 weights") == 0);
    CHECK(config->activation == LlmActivation::kSwiGlu);
    CHECK(llm_parameters(*config).total() == llm_parameters(*published).total());
    CHECK(llm_flops(*config, 1, 1000, 1) == llm_flops(*published, 1, 1000, 1));
  }
}

TEST_CASE("Decoder files: graphs without a cache are refused with what was found") {
  for (const char* const file : {"/resnet18.onnx", "/gpt2.onnx"}) {
    const auto config = load_llm_config(kDecoderFolder + file);
    REQUIRE_FALSE(config.ok());
    CHECK(config.status().message().find("0 inputs or outputs are caches") != std::string::npos);
    CHECK(config.status().message().find('\n') == std::string::npos);
  }
  CHECK_FALSE(load_llm_config("/no/such/file.onnx").ok());
}

TEST_CASE("Decoder files: a graph made from a config gives that config back") {
  for (const char* const text : {kLlama31_8b, kQwen2_7b, kQwen3_32b, kMistral7b}) {
    const auto config = parse(text);
    LlmGraphOptions options;
    options.context_tokens = 16;
    const auto graph = build_llm_graph(*config, options);
    REQUIRE(graph.ok());
    const auto back = llm_config_of_graph(*graph, "graph", "back");
    INFO(config->model_type << ": " << back.status().message());
    REQUIRE(back.ok());
    CHECK(back->notes.empty());  // in bf16
    CHECK(back->layers.size() == config->layers.size());
    CHECK(back->layers[0].heads == config->layers[0].heads);
    CHECK(back->layers[0].kv_heads == config->layers[0].kv_heads);
    CHECK(back->qkv_bias == config->qkv_bias);
    CHECK(back->qk_norm == config->qk_norm);
    CHECK(back->tied_embeddings == config->tied_embeddings);
    CHECK(llm_parameters(*back).total() == llm_parameters(*config).total());
  }
}

}  // namespace
}  // namespace dfsim
