// Servers with prefill and decode replicas apart: the way of a request by hand, and what holds for
// every batching policy.
#include <catch2/catch.hpp>
#include <map>

#include "serving/engine/server.h"
#include "serving/metrics/collector.h"
#include "tests/serving/fake_cost.h"

namespace dfsim {
namespace {

struct Apart {
  std::string policy = "vllm";
  int prefills = 1;
  int decodes = 1;
  int64_t cache_blocks = 1 << 16;
  CacheLink link = {1e9, 0, 1000};  // 1 us per token
  ClosedLoopOptions loop = {1, 1, 0, 0};
  SyntheticLengths lengths = {{100, 100}, {3, 3}, {}};
};

class Books final : public Collector {
 public:
  explicit Books(int64_t blocks) : Collector({}, 0, blocks) {}
  void step(const StepRecord& record) override {
    prefilled_by_[record.replica] += record.prefills;
    decoded_by_[record.replica] += record.decodes * record.steps;
    held_by_[record.replica] = record.held_blocks;
    Collector::step(record);
  }
  void finished(const Sequence& sequence) override {
    ++times_[sequence.spec.id];
    Collector::finished(sequence);
  }
  std::map<int, int64_t> prefilled_by_, decoded_by_, held_by_;
  std::map<int64_t, int> times_;
};

ServerResult serve(const Apart& apart, Books* books) {
  const auto policy = BatchPolicyRegistry().find(apart.policy);
  REQUIRE(policy.ok());
  ReplicaOptions replica;
  replica.policy = *policy;
  replica.limits = *complete_limits(*policy, {});
  replica.cache_blocks = apart.cache_blocks;
  replica.block_tokens = policy->block_tokens;
  ServerOptions options;
  options.link = apart.link;
  for (int i = 0; i < apart.prefills + apart.decodes; ++i) {
    replica.role = i < apart.prefills ? ReplicaRole::kPrefill : ReplicaRole::kDecode;
    options.replicas.push_back(replica);
  }
  testing::FakeCost model;
  StepTable table(&model);
  const std::vector<StepTable*> tables(options.replicas.size(), &table);
  auto source = make_closed_loop(apart.loop, apart.lengths, 1);
  REQUIRE(source.ok());
  const auto result = run_server(options, **source, tables, books);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return *result;
}

TEST_CASE("Disaggregated: the cache crosses the link between prefill and decode") {
  Books books(1 << 16);
  const ServerResult result = serve({}, &books);
  // 1 ms + 100 tokens x 10 us compute the prompt and its first token; 100 tokens x 1 us cross the
  // link; two decodes of 1 ms + 10 us + 100 ns per token of context, 100 and 101.
  const TimeNs prefill = 1'000'000 + 100 * 10'000;
  const TimeNs decodes = 2 * 1'010'000 + 100 * (100 + 101);
  CHECK(books.ttft().mean_ns() == prefill);
  CHECK(books.e2e().mean_ns() == prefill + 100'000 + decodes);
  CHECK(result.transfers == 1);
  CHECK(books.decoded_by_[0] == 0);
  CHECK(books.prefilled_by_[1] == 0);
}

TEST_CASE("Disaggregated: transfers wait for each other on the link") {
  Apart apart;
  apart.loop = {2, 2, 0, 0};
  apart.link = {1e6, 0, 1000};  // 100 ms for each prompt's cache
  Books books(1 << 16);
  serve(apart, &books);
  // Both prompts are computed in one step, so that the second cache is sent after the first.
  const TimeNs prefill = 1'000'000 + 200 * 10'000;
  CHECK(books.ttft().mean_ns() == prefill);
  CHECK(books.e2e().max_ns() >= prefill + 2 * 100'000'000);
}

TEST_CASE("Disaggregated: a request of one token never crosses the link") {
  Apart apart;
  apart.loop = {4, 20, 0, 0};
  apart.lengths.output = {1, 1};
  Books books(1 << 16);
  CHECK(serve(apart, &books).transfers == 0);
  CHECK(books.requests() == 20);
  CHECK(books.decoded_by_[1] == 0);
}

TEST_CASE("Disaggregated: every policy serves each request once and gives all blocks back") {
  for (const BatchPolicyInfo& policy : builtin_batch_policies()) {
    Apart apart;
    apart.policy = policy.name;
    apart.prefills = 2;
    apart.decodes = 3;
    apart.cache_blocks = 6000 / policy.block_tokens;  // tight for 24 users of up to 700 tokens
    apart.loop = {24, 200, 0, 0};
    apart.lengths = {{10, 400}, {1, 300}, {}};
    Books books(apart.cache_blocks);
    const ServerResult result = serve(apart, &books);
    INFO(policy.name);
    CHECK(books.times_.size() == 200);
    for (const auto& [id, times] : books.times_) {
      CHECK(times == 1);
    }
    CHECK(result.transfers > 0);
    for (const auto& [replica, held] : books.held_by_) {
      INFO("replica " << replica);
      CHECK(held == 0);
    }
    // Prefill replicas compute prompts only; decode replicas compute one only after a preemption.
    CHECK(books.decoded_by_[0] + books.decoded_by_[1] == 0);
    if (result.preemptions == 0) {
      CHECK(books.prefilled_by_[2] + books.prefilled_by_[3] + books.prefilled_by_[4] == 0);
    }
  }
}

}  // namespace
}  // namespace dfsim
