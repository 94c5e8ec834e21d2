// The simulated engine: times that can be computed by hand, and what every batching policy
// promises.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "serving/engine/server.h"
#include "serving/metrics/collector.h"
#include "serving/serve.h"
#include "tests/serving/fake_cost.h"

namespace dfsim {
namespace {

struct Scenario {
  std::string policy = "vllm";
  BatchLimits limits;
  int64_t cache_blocks = 1 << 20;
  int64_t block_tokens = 16;
  bool prefix_caching = false;
  bool fast_forward = true;
  bool schedule_ahead = false;
  FrontendModel frontend;
  ClosedLoopOptions loop = {8, 64, 0, 0};
  SyntheticLengths lengths = {{100, 100}, {20, 20}, {}};
  uint64_t seed = 1;
};

// Checks each step's books and keeps what clients saw.
class Recorder : public Collector {
 public:
  explicit Recorder(const Scenario& scenario)
      : Collector({}, 0, scenario.cache_blocks), blocks_(scenario.cache_blocks) {}
  void step(const StepRecord& record) override {
    CHECK(record.held_blocks >= 0);
    CHECK(record.held_blocks <= blocks_);
    CHECK(record.start_ns >= last_end_ns_);
    CHECK(record.end_ns > record.start_ns);
    last_end_ns_ = record.end_ns;
    max_prefill_tokens_ = std::max(max_prefill_tokens_, record.prefill_tokens);
    max_sequences_ = std::max(max_sequences_, record.decodes + record.prefills);
    last_held_ = record.held_blocks;
    Collector::step(record);
  }
  void finished(const Sequence& sequence) override {
    ++times_finished_[sequence.spec.id];
    first_tokens_.push_back({sequence.spec.id, sequence.first_token_ns, sequence.preemptions});
    CHECK(sequence.generated == sequence.spec.output_tokens);
    CHECK(sequence.first_token_ns > sequence.spec.arrival_ns);
    CHECK(sequence.last_token_ns >= sequence.first_token_ns);
    Collector::finished(sequence);
  }

  struct First {
    int64_t id;
    TimeNs time_ns;
    int64_t preemptions;
  };
  int64_t blocks_;
  TimeNs last_end_ns_ = 0;
  int64_t max_prefill_tokens_ = 0;
  int64_t max_sequences_ = 0;
  int64_t last_held_ = 0;
  std::map<int64_t, int> times_finished_;
  std::vector<First> first_tokens_;
};

struct Outcome {
  ServerResult result;
  std::unique_ptr<Recorder> seen;
  int64_t model_calls = 0;
};

Outcome simulate(const Scenario& scenario) {
  const auto policy = BatchPolicyRegistry().find(scenario.policy);
  REQUIRE(policy.ok());
  ReplicaOptions replica;
  replica.policy = *policy;
  const auto limits = complete_limits(*policy, scenario.limits);
  REQUIRE(limits.ok());
  replica.limits = *limits;
  replica.cache_blocks = scenario.cache_blocks;
  replica.block_tokens = scenario.block_tokens;
  replica.prefix_caching = scenario.prefix_caching;
  replica.fast_forward = scenario.fast_forward;
  replica.schedule_ahead = scenario.schedule_ahead;
  replica.frontend = scenario.frontend;
  ServerOptions options;
  options.replicas = {replica};
  testing::FakeCost model;
  StepTable table(&model);
  auto source = make_closed_loop(scenario.loop, scenario.lengths, scenario.seed);
  REQUIRE(source.ok());
  Outcome outcome;
  outcome.seen = std::make_unique<Recorder>(scenario);
  const auto result = run_server(options, **source, {&table}, outcome.seen.get());
  INFO(result.status().message());
  REQUIRE(result.ok());
  outcome.result = *result;
  outcome.model_calls = model.calls;
  return outcome;
}

TEST_CASE("Engine: one request takes its prefill step and one step per further token") {
  Scenario scenario;
  scenario.loop = {1, 1, 0, 0};
  scenario.lengths = {{100, 100}, {3, 3}, {}};
  const Outcome outcome = simulate(scenario);
  // 1 ms + 100 tokens x 10 us; then 1 ms + 10 us + 100 ns per token of context, 100 and 101.
  const TimeNs prefill = 1'000'000 + 100 * 10'000;
  const TimeNs decodes = 2 * 1'010'000 + 100 * (100 + 101);
  CHECK(outcome.seen->ttft().mean_ns() == prefill);
  CHECK(outcome.seen->e2e().mean_ns() == prefill + decodes);
  CHECK(outcome.seen->tpot().mean_ns() == decodes / 2);
  CHECK(outcome.seen->steps() == 3);
  CHECK(outcome.result.end_ns == prefill + decodes);
}

TEST_CASE("Engine: batches of a pipeline overlap as far as its first stage lets them") {
  // Two batches of one request each, three steps of 1 ms per request. The next batch may begin
  // after half a step, or after 0.8 of it: then each waits for the other.
  for (const auto& [share, end_ns] :
       {std::pair<double, TimeNs>{0.5, 3'500'000}, {0.8, 5'000'000}, {1.0, 6'000'000}}) {
    const auto policy = BatchPolicyRegistry().find("vllm");
    REQUIRE(policy.ok());
    ReplicaOptions engine;
    engine.policy = *policy;
    const auto limits = complete_limits(*policy, {});
    REQUIRE(limits.ok());
    engine.limits = *limits;
    engine.cache_blocks = 1 << 10;
    engine.pipeline = 0;
    ServerOptions options;
    options.replicas = {engine, engine};
    testing::FakeCost model;
    model.token_ns = 0;
    model.context_ns = 0;
    model.interval_share = share;
    StepTable table(&model);
    const auto source = make_closed_loop({2, 2, 0, 0}, {{100, 100}, {3, 3}, {}}, 1);
    REQUIRE(source.ok());
    Collector seen({}, 0, engine.cache_blocks);
    const auto result = run_server(options, **source, {&table, &table}, &seen);
    REQUIRE(result.ok());
    CHECK(seen.requests() == 2);
    CHECK(seen.steps() == 6);
    CHECK(result->end_ns == end_ns);
  }
}

TEST_CASE("Engine: a front end delays what enters and leaves") {
  Scenario scenario;
  scenario.loop = {2, 2, 0, 0};
  scenario.lengths = {{100, 100}, {1, 1}, {}};
  scenario.frontend = {50, 200, 1, 30};
  const Outcome outcome = simulate(scenario);
  // The first request is through after 300 us of work and 50 us of latency, its step takes 2 ms,
  // its token leaves 30 us later. The second enters 300 us after the first and waits for the step.
  const TimeNs first = 350'000 + 2'000'000 + 30'000;
  const TimeNs second = 350'000 + 2 * 2'000'000 + 30'000;
  CHECK(outcome.seen->ttft().mean_ns() == (first + second) / 2);
}

TEST_CASE("Engine: an engine that schedules ahead sees a request one step later") {
  Scenario scenario;
  scenario.loop = {2, 2, 0, 1'000'000};  // the second user starts after 0.5 ms
  scenario.lengths = {{100, 100}, {10, 10}, {}};
  const Outcome at_once = simulate(scenario);
  scenario.schedule_ahead = true;
  const Outcome ahead = simulate(scenario);
  CHECK(ahead.seen->ttft().max_ns() == at_once.seen->ttft().max_ns() + 1'010'000 + 100 * 101);
}

TEST_CASE("Engine: running equal steps at once changes nothing") {
  for (const BatchPolicyInfo& policy : builtin_batch_policies()) {
    for (const int64_t blocks : {int64_t{1} << 20, int64_t{150}}) {
      Scenario scenario;
      scenario.policy = policy.name;
      scenario.cache_blocks = blocks;
      scenario.frontend = {10, 20, 0.5, 3};
      scenario.schedule_ahead = policy.schedule_ahead;
      scenario.loop = {24, 200, 0, 0};
      scenario.lengths = {{50, 400}, {1, 300}, {}};
      const Outcome fast = simulate(scenario);
      scenario.fast_forward = false;
      const Outcome slow = simulate(scenario);
      INFO(policy.name << " with " << blocks << " blocks");
      CHECK(fast.result.end_ns == slow.result.end_ns);
      CHECK(fast.result.preemptions == slow.result.preemptions);
      CHECK(fast.seen->steps() == slow.seen->steps());
      CHECK(fast.seen->ttft().mean_ns() == slow.seen->ttft().mean_ns());
      CHECK(fast.seen->itl().count() == slow.seen->itl().count());
      CHECK(fast.seen->itl().mean_ns() == slow.seen->itl().mean_ns());
      CHECK(fast.seen->itl().quantile_ns(0.99) == slow.seen->itl().quantile_ns(0.99));
      CHECK(fast.seen->e2e().quantile_ns(0.9) == slow.seen->e2e().quantile_ns(0.9));
      CHECK(fast.seen->split_ns()[0] == Approx(slow.seen->split_ns()[0]));
    }
  }
}

TEST_CASE(
    "Batching policies: every request is served once, within the limits, and all blocks come "
    "back") {
  for (const BatchPolicyInfo& policy : builtin_batch_policies()) {
    for (const uint64_t seed : {1, 2, 3}) {
      Scenario scenario;
      scenario.policy = policy.name;
      scenario.seed = seed;
      scenario.block_tokens = policy.block_tokens;
      scenario.cache_blocks =
          4000 / policy.block_tokens;  // tight: 32 users would like 13,000 tokens
      scenario.schedule_ahead = policy.schedule_ahead;
      scenario.limits.max_sequences = 20;
      scenario.limits.max_tokens = 512;
      scenario.loop = {32, 300, 0, 0};
      scenario.lengths = {{10, 400}, {1, 400}, {}};
      const Outcome outcome = simulate(scenario);
      INFO(policy.name << ", seed " << seed);
      CHECK(outcome.seen->times_finished_.size() == 300);
      for (const auto& [id, times] : outcome.seen->times_finished_) {
        CHECK(times == 1);
      }
      CHECK(outcome.seen->max_sequences_ <= 20);
      CHECK(outcome.seen->max_prefill_tokens_ <= 512);
      CHECK(outcome.seen->last_held_ == 0);
      if (policy.never_preempts) {
        CHECK(outcome.result.preemptions == 0);
      }
      if (policy.keeps_order) {
        auto firsts = outcome.seen->first_tokens_;
        std::sort(firsts.begin(), firsts.end(),
                  [](const auto& a, const auto& b) { return a.id < b.id; });
        TimeNs latest = 0;
        for (const auto& first : firsts) {
          if (first.preemptions == 0) {
            CHECK(first.time_ns >= latest);
            latest = first.time_ns;
          }
        }
      }
    }
  }
}

TEST_CASE("Batching policies: with prefix caching every block is still accounted for") {
  for (const BatchPolicyInfo& policy : builtin_batch_policies()) {
    Scenario scenario;
    scenario.policy = policy.name;
    scenario.block_tokens = policy.block_tokens;
    scenario.cache_blocks = 6000 / policy.block_tokens;
    scenario.prefix_caching = true;
    scenario.schedule_ahead = policy.schedule_ahead;
    scenario.loop = {24, 200, 0, 0};
    scenario.lengths = {{200, 400}, {1, 200}, {128, 3}};
    const Outcome outcome = simulate(scenario);
    INFO(policy.name);
    CHECK(outcome.seen->requests() == 200);
    CHECK(outcome.seen->cached_tokens() > 0);
    CHECK(outcome.seen->last_held_ == 0);
  }
}

// A user's policy, outside the tree: one sequence at a time.
class OneAtATime final : public BatchPolicy {
 public:
  void plan(BatchState& state, TimeNs now, StepPlan* plan) override {
    if (state.running().empty() && !state.waiting().empty()) {
      const SequenceId id = state.admit(now);
      if (!state.reserve_all(id)) {
        state.cancel_admission();
        return;
      }
    }
    for (const SequenceId id : state.running()) {
      plan->slices.push_back({id, state.sequence(id).missing()});
    }
  }
};

TEST_CASE("Batching policies: a user's policy runs by its name, and names are unique") {
  BatchPolicyRegistry registry;
  BatchPolicyInfo own = builtin_batch_policies()[0];
  own.name = "one-at-a-time";
  own.schedule_ahead = false;
  own.make = [](const BatchLimits&) -> std::unique_ptr<BatchPolicy> {
    return std::make_unique<OneAtATime>();
  };
  REQUIRE(registry.add(own).ok());
  CHECK_FALSE(registry.add(own).ok());
  testing::FakeCost model;
  ServeSetup setup;
  setup.engine.policy = "one-at-a-time";
  setup.policies = &registry;
  setup.costs = &model;
  setup.cache_tokens = 10000;
  setup.workload.users = {8, 40, 0, 0};
  setup.workload.lengths = {{100, 100}, {20, 20}, {}};
  const auto result = simulate_serving(setup);
  INFO(result.status().message());
  REQUIRE(result.ok());
  CHECK(result->requests == 40);
  CHECK(result->mean_decodes == 1);
  setup.policies = nullptr;
  const auto unknown = simulate_serving(setup);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.status().message().find("one-at-a-time") != std::string::npos);
}

}  // namespace
}  // namespace dfsim
