// Data-parallel ranks in lockstep: times that can be computed by hand, and what must hold for any
// workload.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>

#include "serving/engine/server.h"
#include "serving/metrics/collector.h"
#include "tests/serving/fake_cost.h"

namespace dfsim {
namespace {

struct Ranks {
  std::string policy = "vllm";
  int count = 2;
  int replicas = 1;
  int64_t cache_blocks = 1 << 20;
  FrontendModel frontend;
  ClosedLoopOptions loop = {2, 2, 0, 0};
  SyntheticLengths lengths = {{100, 100}, {3, 3}, {}};
};

class RankSteps final : public Collector {
 public:
  explicit RankSteps(int64_t blocks) : Collector({}, 0, blocks) {}
  void step(const StepRecord& record) override {
    steps_.push_back(record);
    Collector::step(record);
  }
  void finished(const Sequence& sequence) override {
    ++times_finished_[sequence.spec.id];
    Collector::finished(sequence);
  }
  std::vector<StepRecord> steps_;
  std::map<int64_t, int> times_finished_;
};

struct RankOutcome {
  ServerResult result;
  std::unique_ptr<RankSteps> seen;
};

RankOutcome simulate_ranks(const Ranks& ranks, testing::FakeCost* model) {
  const auto policy = BatchPolicyRegistry().find(ranks.policy);
  REQUIRE(policy.ok());
  ReplicaOptions engine;
  engine.policy = *policy;
  const auto limits = complete_limits(*policy, {});
  REQUIRE(limits.ok());
  engine.limits = *limits;
  engine.block_tokens = policy->block_tokens;
  engine.cache_blocks = ranks.cache_blocks;
  engine.schedule_ahead = policy->schedule_ahead;
  engine.frontend = ranks.frontend;
  ServerOptions options;
  for (int replica = 0; replica < ranks.replicas; ++replica) {
    engine.lockstep = ranks.count > 1 ? replica : -1;
    options.replicas.insert(options.replicas.end(), static_cast<size_t>(ranks.count), engine);
  }
  StepTable table(model);
  auto source = make_closed_loop(ranks.loop, ranks.lengths, 1);
  REQUIRE(source.ok());
  RankOutcome outcome;
  outcome.seen = std::make_unique<RankSteps>(ranks.cache_blocks);
  const std::vector<StepTable*> tables(options.replicas.size(), &table);
  const auto result = run_server(options, **source, tables, outcome.seen.get());
  INFO(result.status().message());
  REQUIRE(result.ok());
  outcome.result = *result;
  return outcome;
}

TEST_CASE("Lockstep: ranks compute their own sequences and the experts of all") {
  testing::FakeCost model;
  model.context_ns = 0;
  model.expert_ns = 1'000;
  const RankOutcome outcome = simulate_ranks({}, &model);
  // Each of two ranks has one request: a prefill of 100 tokens next to the other's, then two
  // decodes next to the other's.
  const TimeNs prefill = 1'000'000 + 100 * 10'000 + 200 * 1'000;
  const TimeNs decode = 1'000'000 + 10'000 + 2 * 1'000;
  CHECK(outcome.seen->ttft().mean_ns() == prefill);
  CHECK(outcome.seen->tpot().mean_ns() == decode);
  CHECK(outcome.result.end_ns == prefill + 2 * decode);
  CHECK(outcome.seen->steps() == 6);
}

TEST_CASE("Lockstep: a rank without work takes part, and one with less waits for the slowest") {
  testing::FakeCost model;
  model.context_ns = 0;
  model.expert_ns = 1'000;
  Ranks ranks;
  ranks.loop = {1, 1, 0, 0};  // the second rank stays idle
  const TimeNs prefill = 1'000'000 + 100 * 10'000 + 100 * 1'000;
  // Both ranks run the CUDA graph of one token.
  const TimeNs decode = 1'000'000 + 10'000 + 2 * 1'000;
  CHECK(simulate_ranks(ranks, &model).result.end_ns == prefill + 2 * decode);

  // Three requests on two ranks: one rank prefills two prompts in a step, the other waits for it.
  ranks.loop = {3, 3, 0, 0};
  model.expert_ns = 0;
  const RankOutcome three = simulate_ranks(ranks, &model);
  const TimeNs two_prompts = 1'000'000 + 200 * 10'000;
  CHECK(three.seen->ttft().mean_ns() == two_prompts);
  for (const StepRecord& step : three.seen->steps_) {
    double parts = 0;
    for (const double part : step.split_ns) {
      parts += part;
    }
    CHECK(parts == Approx(static_cast<double>(step.end_ns - step.start_ns)));
  }
}

TEST_CASE("Lockstep: every policy serves every request once, and steps of all ranks coincide") {
  for (const BatchPolicyInfo& policy : builtin_batch_policies()) {
    testing::FakeCost model;
    model.expert_ns = 500;
    Ranks ranks;
    ranks.policy = policy.name;
    ranks.count = 4;
    ranks.replicas = 2;
    ranks.cache_blocks = 4000 / policy.block_tokens;
    ranks.frontend = {10, 20, 0.5, 3};
    ranks.loop = {60, 400, 0, 0};
    ranks.lengths = {{10, 400}, {1, 200}, {}};
    const RankOutcome outcome = simulate_ranks(ranks, &model);
    INFO(policy.name);
    CHECK(outcome.seen->times_finished_.size() == 400);
    for (const auto& [id, times] : outcome.seen->times_finished_) {
      CHECK(times == 1);
    }
    CHECK(outcome.result.frontends == 2);
    // Steps of one group either coincide or do not touch.
    std::map<int, TimeNs> end_of_group;
    std::map<int, TimeNs> start_of_group;
    std::set<int> ranks_seen;
    for (const StepRecord& step : outcome.seen->steps_) {
      const int group = step.replica / ranks.count;
      ranks_seen.insert(step.replica);
      const bool together = step.start_ns == start_of_group[group];
      CHECK((together ? step.end_ns == end_of_group[group] : step.start_ns >= end_of_group[group]));
      start_of_group[group] = step.start_ns;
      end_of_group[group] = step.end_ns;
    }
    CHECK(ranks_seen.size() == 8);
    CHECK(outcome.seen->steps_.back().held_blocks == 0);
  }
}

}  // namespace
}  // namespace dfsim
