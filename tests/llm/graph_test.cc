// Graphs of language models: their work equals what the config says.
#include <catch2/catch.hpp>

#include "graphs/llm/llm_graph.h"
#include "graphs/llm/llm_parameters.h"
#include "graphs/ops/infer.h"
#include "tests/llm/configs.h"

using namespace dfsim;

namespace {

struct GraphSums {
  double macs = 0;
  double weights = 0;  // parameters, each tensor once
};

GraphSums sums_of(const LlmConfig& config, const LlmGraphOptions& options) {
  const auto graph = build_llm_graph(config, options);
  INFO(graph.status().message());
  REQUIRE(graph.ok());
  GraphSums sums;
  for (size_t i = 0; i < graph->op_count(); ++i) {
    const auto work = op_work(*graph, OpId(static_cast<uint32_t>(i)));
    REQUIRE(work.ok());
    sums.macs += static_cast<double>(work->macs);
  }
  bool tied = false;
  for (const Tensor& tensor : graph->tensors()) {
    if (tensor.role != TensorRole::kWeight || tensor.name.find("rope/") == 0 ||
        (tensor.storage_key != 0 && tied)) {
      continue;
    }
    tied = tied || tensor.storage_key != 0;
    sums.weights += static_cast<double>(tensor.shape.elements().value());
  }
  return sums;
}

}  // namespace

TEST_CASE("LLM graphs: hold the published parameters") {
  for (const char* const text :
       {kLlama31_8b, kLlama32_1b, kQwen2_7b, kQwen3_32b, kMixtral8x7b, kGemma2_9b, kGemma3_1b,
        kPhi2, kPhi3Mini, kDeepSeekV2Lite, kQwen15Moe, kQwen3Next, kMiniMax}) {
    const auto config = parse(text);
    INFO(config->model_type);
    CHECK(sums_of(*config, {}).weights == static_cast<double>(llm_parameters(*config).total()));
  }
}

TEST_CASE("LLM graphs: a decode has the FLOPs that the config counts") {
  for (const char* const text :
       {kLlama31_8b, kMistral7b, kQwen3_32b, kGemma3_1b, kPhi2, kQwen3Next, kMiniMax}) {
    const auto config = parse(text);
    LlmGraphOptions options;
    options.context_tokens = 1000;
    INFO(config->model_type);
    CHECK(2 * sums_of(*config, options).macs ==
          Approx(llm_flops(*config, 1, 1000, 1)).epsilon(1e-9));
  }
}

TEST_CASE("LLM graphs: a token passes through its top-k experts only") {
  const auto config = parse(kMixtral8x7b);
  CHECK(2 * sums_of(*config, {}).macs == Approx(llm_flops(*config, 1, 0, 1)).epsilon(1e-9));
}

TEST_CASE("LLM graphs: a prompt computes one row of logits per sequence") {
  const auto config = parse(kLlama32_1b);
  LlmGraphOptions options;
  options.batch = 2;
  options.new_tokens = 16;
  const double causal = llm_flops(*config, 16, 0, 1);
  // All pairs count here, the masked 16 * 15 / 2 too.
  const double masked = 16 * 4.0 * 2048 * (16 * 15 / 2);
  CHECK(2 * sums_of(*config, options).macs == Approx(2 * (causal + masked)).epsilon(1e-9));
}

TEST_CASE("LLM graphs: impossible sizes are refused") {
  const auto config = parse(kLlama2_7b);
  LlmGraphOptions options;
  options.context_tokens = 4096;
  const auto graph = build_llm_graph(*config, options);
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.status().message().find("model's 4096 positions") != std::string::npos);
  options.context_tokens = -1;
  CHECK_FALSE(build_llm_graph(*config, options).ok());
}
