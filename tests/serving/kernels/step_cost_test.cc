// Costs of engine steps: against sums by hand, their promises, memory, and what is refused.
#include <catch2/catch.hpp>

#include "serving/llm_memory.h"
#include "serving/llm_predict.h"
#include "serving/step_cost.h"
#include "tests/llm/configs.h"

using namespace dfsim;

namespace {

LlmDeployment llama_on(int tp, const std::string& system = "h100_sxm") {
  LlmDeployment deployment;
  deployment.model = *parse(kLlama31_8b);
  deployment.system = system;
  deployment.parallelism.tp = tp;
  return deployment;
}

std::unique_ptr<StepCostModel> model_of(const LlmDeployment& deployment,
                                        const ServingRuntime& runtime = {}) {
  auto model = make_step_cost_model(deployment, runtime);
  INFO(model.status().message());
  REQUIRE(model.ok());
  return std::move(model).value();
}

StepBatch decodes(int sequences, int64_t context) {
  StepBatch batch;
  batch.decode.assign(static_cast<size_t>(sequences), {1, context});
  return batch;
}

double ms(const StatusOr<StepCost>& cost) {
  REQUIRE(cost.ok());
  return static_cast<double>(cost->time_ns) * 1e-6;
}

}  // namespace

TEST_CASE(
    "Steps: a decode of Llama 8B on H100 takes what its memory traffic needs, and not twice") {
  // 15 GB of weights at 3.35 TB/s are 4.5 ms.
  const double time = ms(model_of(llama_on(1))->cost(decodes(1, 1000)));
  CHECK(time > 4.5);
  CHECK(time < 8);
  const double faster = ms(model_of(llama_on(1, "h200_sxm"))->cost(decodes(1, 1000)));
  CHECK(faster < time);
}

TEST_CASE("Steps: a prompt takes about its arithmetic at the peak rate") {
  StepBatch batch;
  batch.prefill.push_back({8192, 0});
  const double flops = 2 * 6.98e9 * 8192 + 32 * 4.0 * 4096 * 8192 * 8192 / 2;
  const double time = ms(model_of(llama_on(1))->cost(batch));
  CHECK(time > flops / 989e12 * 1e3);
  CHECK(time < 2 * flops / 989e12 * 1e3);
}

TEST_CASE("Steps: the parts add up to the time, kernel by kernel") {
  ServingRuntime runtime;
  runtime.step_us = 500;
  runtime.per_sequence_us = 10;
  auto model = model_of(llama_on(2), runtime);
  StepBatch batch = decodes(8, 700);
  batch.prefill.push_back({300, 200});
  const auto cost = model->cost(batch);
  REQUIRE(cost.ok());
  TimeNs sum = 0;
  for (const TimeNs part : cost->split_ns) {
    sum += part;
  }
  CHECK(sum == cost->time_ns);
  CHECK(cost->part(StepPart::kHost) == 590'000);  // 500 us and 9 sequences of 10
  double kernels = 0;
  const auto explained = model->explain(batch);
  REQUIRE(explained.ok());
  for (const KernelTime& kernel : *explained) {
    kernels += kernel.repeats * kernel.time_us;
  }
  CHECK(kernels + 590 == Approx(static_cast<double>(cost->time_ns) * 1e-3).epsilon(1e-4));
  CHECK(cost->part(StepPart::kComm) > 0);
  CHECK(cost->part(StepPart::kAttentionPrefill) > 0);
}

TEST_CASE("Steps: equal compositions cost the same in any order, longer contexts cost more") {
  auto model = model_of(llama_on(1));
  StepBatch one;
  one.decode = {{1, 100}, {1, 900}, {1, 500}};
  StepBatch other;
  other.decode = {{1, 900}, {1, 500}, {1, 100}};
  CHECK(model->cost(one)->time_ns == model->cost(other)->time_ns);
  CHECK(ms(model->cost(decodes(32, 8000))) > ms(model->cost(decodes(32, 1000))));
  CHECK(ms(model->cost(decodes(256, 1000))) > ms(model->cost(decodes(32, 1000))));
}

TEST_CASE("Steps: a cached prefix costs attention only") {
  auto model = model_of(llama_on(1));
  StepBatch fresh;
  fresh.prefill.push_back({512, 0});
  StepBatch behind;
  behind.prefill.push_back({512, 16384});
  const auto a = model->cost(fresh);
  const auto b = model->cost(behind);
  CHECK(a->part(StepPart::kGemm) == b->part(StepPart::kGemm));
  CHECK(b->part(StepPart::kAttentionPrefill) > 5 * a->part(StepPart::kAttentionPrefill));
}

TEST_CASE("Steps: two halves of a prompt cost about the whole") {
  auto model = model_of(llama_on(1));
  StepBatch whole;
  whole.prefill.push_back({8192, 0});
  StepBatch first;
  first.prefill.push_back({4096, 0});
  StepBatch second;
  second.prefill.push_back({4096, 4096});
  const double halves = ms(model->cost(first)) + ms(model->cost(second));
  CHECK(halves == Approx(ms(model->cost(whole))).epsilon(0.1));
}

TEST_CASE("Steps: tensor parallelism shortens them, and pipeline stages overlap") {
  CHECK(ms(model_of(llama_on(4))->cost(decodes(64, 2000))) <
        ms(model_of(llama_on(1))->cost(decodes(64, 2000))));
  LlmDeployment staged = llama_on(1);
  staged.parallelism.pp = 4;
  const auto cost = model_of(staged)->cost(decodes(64, 2000));
  CHECK(static_cast<double>(cost->interval_ns) ==
        Approx(static_cast<double>(cost->time_ns) / 4).epsilon(0.05));
}

TEST_CASE("Steps: CUDA graphs pad decodes, and without them launches bound a step") {
  ServingRuntime runtime;
  runtime.graph_batches = default_graph_batches(64);
  auto model = model_of(llama_on(1), runtime);
  const auto qkv_us = [&](int sequences) {
    const auto explained = model->explain(decodes(sequences, 500));
    for (const KernelTime& kernel : explained.value()) {
      if (kernel.name == "qkv") {
        return kernel.time_us;
      }
    }
    return 0.0;
  };
  CHECK(qkv_us(33) > 0);
  CHECK(qkv_us(33) == qkv_us(40));
  CHECK(qkv_us(33) != qkv_us(32));
  ServingRuntime eager;
  eager.eager_kernel_us = 100;
  CHECK(ms(model_of(llama_on(1), eager)->cost(decodes(1, 10))) >
        3 * ms(model->cost(decodes(1, 10))));
  CHECK(default_graph_batches(16) == std::vector<int64_t>{1, 2, 4, 8, 16});
}

TEST_CASE("Steps: experts, windows and latent attention are costed") {
  LlmDeployment oss;
  oss.model = *parse(kGptOss20b);
  oss.precisions.experts = LlmPrecision::kMxfp4;
  const auto cost = model_of(oss)->cost(decodes(16, 4000));
  CHECK(cost->part(StepPart::kMoe) > 0);
  CHECK(ms(cost) > 1);
  CHECK(ms(cost) < 20);
  LlmDeployment latent;
  latent.model = *parse(kDeepSeekV3);
  latent.system = "h200_sxm";
  latent.framework = LlmFramework::kSglang;
  latent.parallelism.tp = 8;
  latent.parallelism.moe_ep = 8;
  latent.precisions = {LlmPrecision::kFp8Block, LlmPrecision::kFp8Block, LlmPrecision::kFp8Block,
                       LlmPrecision::kBf16};
  const double time = ms(model_of(latent)->cost(decodes(32, 4000)));
  CHECK(time > 8);
  CHECK(time < 80);
}

TEST_CASE("Steps: data-parallel ranks share the experts and nothing else") {
  LlmDeployment ranks;
  ranks.model = *parse(kQwen3Moe30b);
  ranks.parallelism.dp = 4;
  ranks.parallelism.moe_ep = 4;
  const auto model = model_of(ranks);
  StepBatch batch = decodes(16, 1000);
  const auto alike = model->cost(batch);  // the other ranks have as many
  batch.all_tokens = 64;
  CHECK(ms(model->cost(batch)) == ms(alike));
  batch.all_tokens = 64 + 1024;  // one of them computes a prompt
  const auto prompt = model->cost(batch);
  CHECK(prompt->part(StepPart::kMoe) > alike->part(StepPart::kMoe));
  CHECK(prompt->part(StepPart::kComm) > alike->part(StepPart::kComm));
  CHECK(prompt->part(StepPart::kGemm) == alike->part(StepPart::kGemm));
  CHECK(prompt->part(StepPart::kAttentionDecode) == alike->part(StepPart::kAttentionDecode));
}

TEST_CASE("Steps: experts of the other fp8 scaling replace them, and a note says so") {
  LlmDeployment deployment;
  deployment.model = *parse(kQwen3Moe30b);
  deployment.framework = LlmFramework::kSglang;  // measured with scales per block only
  deployment.precisions.experts = LlmPrecision::kFp8;
  const auto model = model_of(deployment);
  REQUIRE_FALSE(model->notes().empty());
  CHECK(model->notes().back().find("not measured, kernels of fp8_block") != std::string::npos);
}

TEST_CASE("Steps: experts in fp8 take no longer than those in bf16 and a conversion") {
  LlmDeployment deployment;  // vLLM 0.24.0's table of fp8 experts has two to three times bf16's
  deployment.model = *parse(kMixtral8x7b);
  deployment.version = "0.24.0";
  deployment.parallelism.tp = 4;
  const ServingRuntime runtime;
  const double layers = 32;
  for (const std::string system : {"h100_sxm", "h200_sxm"}) {
    deployment.system = system;
    for (const int sequences : {1, 16, 256}) {
      INFO(system << " " << sequences);
      const auto experts_ns = [&](LlmPrecision precision) {
        deployment.precisions.experts = precision;
        return static_cast<double>(
            model_of(deployment, runtime)->cost(decodes(sequences, 100))->part(StepPart::kMoe));
      };
      const double bf16 = experts_ns(LlmPrecision::kBf16);
      CHECK(experts_ns(LlmPrecision::kFp8) <= bf16 + layers * runtime.memory_kernel_us * 1e3 + 1);
      CHECK(experts_ns(LlmPrecision::kFp8Block) < bf16);
    }
  }
}

TEST_CASE("Prediction: tokens per second are those of all ranks and of the batches of all stages") {
  LlmPredictOptions options;
  options.deployment = llama_on(1);
  options.sequences = 64;
  const auto one = predict_llm(options);
  REQUIRE(one.ok());
  CHECK(one->sequences_in_flight == 64);
  CHECK(one->decode_tokens_per_s ==
        Approx(64e9 / static_cast<double>(one->decode.cost.interval_ns)));
  options.deployment.parallelism.dp = 4;  // a dense model's ranks share nothing
  const auto ranks = predict_llm(options);
  REQUIRE(ranks.ok());
  CHECK(ranks->sequences_in_flight == 256);
  CHECK(ranks->decode.cost.time_ns == one->decode.cost.time_ns);
  CHECK(ranks->decode_tokens_per_s == Approx(4 * one->decode_tokens_per_s));
  options.deployment.parallelism.pp = 2;
  const auto stages = predict_llm(options);
  REQUIRE(stages.ok());
  CHECK(stages->sequences_in_flight == 512);
  CHECK(stages->decode_tokens_per_s ==
        Approx(256e9 / static_cast<double>(stages->decode.cost.interval_ns)));
}

TEST_CASE("Prediction: the cache holds the batches of all stages") {
  LlmPredictOptions options;
  options.deployment = llama_on(1);
  options.deployment.parallelism.pp = 2;
  options.context_tokens = 99;
  const auto memory = llm_memory(options.deployment, options.memory);
  REQUIRE(memory.ok());
  options.sequences = memory->cache_tokens / 200;
  CHECK(predict_llm(options).ok());
  ++options.sequences;
  const auto refused = predict_llm(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message().find("2 batches (one per stage) of") != std::string::npos);
}

TEST_CASE("Steps: what cannot be divided or was not measured is refused") {
  const auto refused = [](const LlmDeployment& deployment) {
    return make_step_cost_model(deployment, {}).status().message();
  };
  CHECK(refused(llama_on(3)) ==
        "model: attention heads: 32 cannot be divided by tp=3; choose another width");
  CHECK(refused(llama_on(0)).find("widths must be at least 1") != std::string::npos);
  CHECK(refused(llama_on(16)).find("needs 16 GPUs in one server") != std::string::npos);
  LlmDeployment fp4 = llama_on(1);
  fp4.precisions.mlp = LlmPrecision::kNvfp4;
  CHECK(refused(fp4).find("no gemm kernels of 'nvfp4' were measured") != std::string::npos);
  LlmDeployment unknown = llama_on(1, "b300");
  CHECK(refused(unknown).find("unknown system 'b300'") == 0);
  LlmDeployment experts = llama_on(2);
  experts.parallelism.moe_ep = 2;
  CHECK(refused(experts) == "ep=2: model has no experts, expected ep=1");
  auto model = model_of(llama_on(1));
  CHECK_FALSE(model->cost({}).ok());
  StepBatch empty;
  empty.decode.push_back({0, 5});
  CHECK_FALSE(model->cost(empty).ok());
}

TEST_CASE("Memory: the parts add up, and the cache is what is left") {
  const auto memory = llm_memory(llama_on(1), {});
  REQUIRE(memory.ok());
  CHECK(memory->weights == Approx(16.06e9).epsilon(0.001));
  CHECK(memory->cache_bytes_per_token == 2 * 32 * 8 * 128 * 2);
  CHECK(memory->usable == memory->weights + memory->activations + memory->workspace +
                              memory->cuda_graphs + memory->cache);
  CHECK(memory->cache_tokens % 16 == 0);
  CHECK(static_cast<double>(memory->cache_tokens) * 131072 <= static_cast<double>(memory->cache));
  // vLLM's log for this model on an H100 of 80 GB reports about 400 thousand tokens.
  CHECK(memory->cache_tokens > 380'000);
  CHECK(memory->cache_tokens < 460'000);
}

TEST_CASE("Memory: precision, widths and replicated heads count") {
  LlmDeployment fp8 = llama_on(1);
  fp8.precisions = {LlmPrecision::kFp8, LlmPrecision::kFp8, LlmPrecision::kFp8, LlmPrecision::kFp8};
  // Embedding and lm_head stay bf16: 2 x 128256 x 4096 x 2 bytes.
  CHECK(llm_weight_bytes(fp8) == Approx(8.03e9 + 128256.0 * 4096 * 2).epsilon(0.001));
  CHECK(llm_memory(fp8, {})->cache_bytes_per_token == 2 * 32 * 8 * 128);
  LlmDeployment latent;
  latent.model = *parse(kDeepSeekV3);
  latent.system = "h200_sxm";
  latent.parallelism.tp = 8;
  latent.precisions = {LlmPrecision::kFp8Block, LlmPrecision::kFp8Block, LlmPrecision::kFp8Block,
                       LlmPrecision::kBf16};
  CHECK(llm_memory(latent, {})->cache_bytes_per_token == 61 * 576 * 2);  // not divided by tp
}

TEST_CASE("Memory: layers with a window keep no more than the window of a sequence") {
  LlmDeployment oss;
  oss.model = *parse(kGptOss20b);  // half of 24 layers see 128 tokens
  oss.precisions.experts = LlmPrecision::kMxfp4;
  const double layer = 2 * 8 * 64 * 2;
  LlmMemoryOptions options;
  CHECK(llm_memory(oss, options)->cache_bytes_per_token == 24 * layer);
  options.sequence_tokens = 1280;
  CHECK(llm_memory(oss, options)->cache_bytes_per_token == Approx(12 * layer * (1 + 0.1)));
  options.sequence_tokens = 100;
  CHECK(llm_memory(oss, options)->cache_bytes_per_token == 24 * layer);
  oss.framework = LlmFramework::kSglang;
  options.sequence_tokens = 1280;
  CHECK(llm_memory(oss, options)->cache_bytes_per_token == Approx(12 * layer * (1 + 0.8)));
}

TEST_CASE("Memory: a model that does not fit is refused with the sum") {
  LlmDeployment large;
  large.model = *parse(kQwen3_32b);
  large.system = "l40s";
  const auto refused = llm_memory(large, {});
  REQUIRE_FALSE(refused.ok());
  const std::string& message = refused.status().message();
  CHECK(message.find("model on l40s with tp=1 pp=1: does not fit: ") == 0);
  CHECK(message.find("65.5 GB weights") != std::string::npos);
}
