// The search over deployments: its front, its limits, and equal results with any number of threads.
#include <algorithm>
#include <catch2/catch.hpp>

#include "graphs/llm/llm_config_reader.h"
#include "serving/search/deployment_search.h"
#include "tests/llm/configs.h"

namespace dfsim {
namespace {

DeploymentSearchOptions small_search() {
  DeploymentSearchOptions options;
  options.base.model = *parse(kLlama32_1b);
  options.base.model.name = "llama-1b";
  options.gpus = 2;
  options.users = {1, 8, 32};
  options.prompt = {128, 128};
  options.output = {16, 16};
  options.requests_per_user = 3;
  options.threads = 1;
  return options;
}

bool better_in_both(const DeploymentCandidate& a, const DeploymentCandidate& b) {
  return a.tokens_per_s_per_user > b.tokens_per_s_per_user &&
         a.tokens_per_s_per_gpu.value > b.tokens_per_s_per_gpu.value;
}

TEST_CASE("Search: no candidate within the limits is better than one of the front in both rates") {
  const auto found = search_deployments(small_search());
  INFO(found.status().message());
  REQUIRE(found.ok());
  REQUIRE_FALSE(found->front.empty());
  REQUIRE(found->best.has_value());
  for (const size_t index : found->front) {
    const DeploymentCandidate& on_front = found->candidates[index];
    CHECK(on_front.on_front);
    for (const DeploymentCandidate& other : found->candidates) {
      CHECK_FALSE(
          (other.failure.empty() && other.within_limits && better_in_both(other, on_front)));
    }
    CHECK(found->candidates[*found->best].tokens_per_s_per_gpu.value >=
          on_front.tokens_per_s_per_gpu.value);
  }
  CHECK(std::any_of(found->candidates.begin(), found->candidates.end(),
                    [](const auto& c) { return c.disaggregated; }));
}

TEST_CASE("Search: candidates over a limit are not on the front") {
  DeploymentSearchOptions options = small_search();
  const auto free = search_deployments(options);
  REQUIRE(free.ok());
  double slowest = 0;
  for (const size_t index : free->front) {
    slowest = std::max(slowest, free->candidates[index].tpot_ms.value);
  }
  options.level.tpot_ms = slowest * 0.9;
  const auto limited = search_deployments(options);
  REQUIRE(limited.ok());
  for (const size_t index : limited->front) {
    CHECK(limited->candidates[index].tpot_ms.value <= slowest * 0.9);
  }
  options.level.tpot_ms = 1e-3;
  const auto none = search_deployments(options);
  REQUIRE(none.ok());
  CHECK(none->front.empty());
  CHECK_FALSE(none->best.has_value());
}

TEST_CASE("Search: the number of threads changes nothing") {
  DeploymentSearchOptions options = small_search();
  const auto one = search_deployments(options);
  options.threads = 3;
  const auto three = search_deployments(options);
  REQUIRE(one.ok());
  REQUIRE(three.ok());
  REQUIRE(one->candidates.size() == three->candidates.size());
  for (size_t i = 0; i < one->candidates.size(); ++i) {
    CHECK(one->candidates[i].layout() == three->candidates[i].layout());
    CHECK(one->candidates[i].tpot_ms.value == three->candidates[i].tpot_ms.value);
  }
  CHECK(one->front == three->front);
}

TEST_CASE("Search: batch limits multiply the deployments and hold") {
  DeploymentSearchOptions options = small_search();
  options.disaggregated = false;
  const int64_t layouts = search_deployments(options)->deployments;
  options.batch_limits = {2, 64};
  const auto found = search_deployments(options);
  REQUIRE(found.ok());
  CHECK(found->deployments == 2 * layouts);
  // 32 users queue for 2 places: more TTFT, less time per token.
  const auto at = [&](int64_t limit) -> const DeploymentCandidate& {
    return *std::find_if(found->candidates.begin(), found->candidates.end(), [&](const auto& c) {
      return c.max_sequences == limit && c.users == 32 && c.widths.tp == 2;
    });
  };
  CHECK(at(2).ttft_ms.value > 2 * at(64).ttft_ms.value);
  CHECK(at(2).tpot_ms.value < at(64).tpot_ms.value);
  CHECK(at(2).layout() == "tp 2, max 2");
}

TEST_CASE("Search: names the deployment nearest to limits that none keeps") {
  DeploymentSearchOptions options = small_search();
  const auto free = search_deployments(options);
  REQUIRE(free.ok());
  CHECK(free->why_none().empty());
  CHECK_FALSE(free->nearest.has_value());
  double fastest = 1e9;
  for (const DeploymentCandidate& candidate : free->candidates) {
    fastest = std::min(fastest, candidate.tpot_ms.value);
  }
  options.level.tpot_ms = fastest / 2;
  const auto limited = search_deployments(options);
  REQUIRE(limited.ok());
  CHECK_FALSE(limited->best.has_value());
  REQUIRE(limited->nearest.has_value());
  CHECK(limited->candidates[*limited->nearest].tpot_ms.value == Approx(fastest));
  CHECK(limited->why_none().starts_with("no deployment keeps the limits; nearest: "));
}

TEST_CASE("Search: a price gives the cost of a million tokens") {
  DeploymentSearchOptions options = small_search();
  options.disaggregated = false;
  options.dollars_per_gpu_hour = 3.6;
  const auto found = search_deployments(options);
  REQUIRE(found.ok());
  const DeploymentCandidate& best = found->candidates[*found->best];
  // 3.6 dollars an hour are a tenth of a cent per second.
  CHECK(best.dollars_per_million_tokens->value ==
        Approx(0.001 / best.tokens_per_s_per_gpu.value * 1e6).epsilon(1e-6));
}

TEST_CASE("Search: a model that does not fit says why, impossible options are refused") {
  DeploymentSearchOptions options = small_search();
  options.base.model = *parse(kDeepSeekV3);
  options.base.model.name = "deepseek-v3";
  options.base.precisions = {LlmPrecision::kFp8Block, LlmPrecision::kFp8Block,
                             LlmPrecision::kFp8Block, LlmPrecision::kBf16};
  const auto found = search_deployments(options);
  REQUIRE(found.ok());
  CHECK(found->front.empty());
  CHECK(found->failed == static_cast<int64_t>(found->candidates.size()));
  CHECK(found->candidates[0].failure.find("does not fit") != std::string::npos);
  CHECK(found->why_none().starts_with("no deployment can be served: "));
  CHECK(found->why_none().find("tp=2") != std::string::npos);  // the widest
  options = small_search();
  options.gpus = 0;
  CHECK_FALSE(search_deployments(options).ok());
  options = small_search();
  options.users = {0};
  CHECK_FALSE(search_deployments(options).ok());
  options = small_search();
  CHECK_FALSE(search_deployments(options, [](int64_t, int64_t) { return false; }).ok());
}

}  // namespace
}  // namespace dfsim
