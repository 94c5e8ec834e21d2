// The answer of a comparison: which policy is best, whether one device is as good, ties.
#include <catch2/catch.hpp>

#include "report/predictions/comparison_views.h"
#include "study/comparison/comparison.h"

using namespace dfsim;

namespace {

PolicyOutcome outcome_with(const std::string& name, TimeNs makespan_ns, double planning_ms) {
  PolicyOutcome outcome;
  outcome.name = name;
  outcome.makespan_ns = makespan_ns;
  outcome.schedule_time_ms = planning_ms;
  outcome.result.devices.resize(2);
  return outcome;
}

// Two GPUs; a run of 20 ms on one of them.
Comparison two_gpus(std::vector<PolicyOutcome> policies) {
  Comparison comparison;
  comparison.graph = "net";
  comparison.hardware = "node";
  comparison.devices = {"gpu0", "gpu1"};
  comparison.capacity_bytes = {0, 0};
  comparison.single_device_ns = 20 * kNsPerMs;
  comparison.single_device = "gpu0";
  comparison.single_device_is_gpu = true;
  comparison.policies = std::move(policies);
  return comparison;
}

}  // namespace

TEST_CASE("Comparison: a policy whose planning costs more than it gains is not the best") {
  Comparison comparison =
      two_gpus({outcome_with("anneal", 15 * kNsPerMs, 900), outcome_with("heft", 16 * kNsPerMs, 1),
                outcome_with("one", 20 * kNsPerMs, 0.1)});
  REQUIRE(comparison.best() != nullptr);
  CHECK(comparison.best()->name == "heft");
  const std::string text = comparison_text(comparison, TimeFormat{});
  CHECK(text.find("\nbest: heft, 16.0 ms") != std::string::npos);
  CHECK(text.find("anneal saves 1.00 ms more but takes 900 ms to plan") != std::string::npos);
  CHECK(text.find("heft *") != std::string::npos);
  CHECK(text.find("anneal *") == std::string::npos);
  comparison.unitless = true;  // its times and those of planning have nothing in common
  CHECK(comparison.best()->name == "anneal");
  comparison.unitless = false;
  for (PolicyOutcome& outcome : comparison.policies) {
    outcome.schedule_time_ms = -1;  // not asked for
  }
  CHECK(comparison.best()->name == "anneal");
}

TEST_CASE("Comparison: a policy that exceeds the memory is best only where none fits") {
  Comparison comparison =
      two_gpus({outcome_with("heft", 15 * kNsPerMs, 0), outcome_with("spread", 18 * kNsPerMs, 0)});
  comparison.capacity_bytes = {1000, 1000};
  comparison.policies[0].result.devices[0].peak_memory_bytes = 1500;
  REQUIRE(comparison.best() != nullptr);
  CHECK(comparison.best()->name == "spread");
  CHECK(missing_memory(comparison).empty());
  CHECK(comparison_text(comparison, TimeFormat{})
            .find("best: spread, 18.0 ms, 0.00 times as fast as one device; heft takes 15.0 ms but "
                  "needs more memory than there is\n") != std::string::npos);
  comparison.policies[1].result.devices[1].peak_memory_bytes = 2000;
  CHECK(comparison.best()->name == "heft");
  CHECK(missing_memory(comparison) == "no policy fits: heft needs 1.50 kB of 1.00 kB on gpu0");
  CHECK(comparison_text(comparison, TimeFormat{}).starts_with("DOES NOT FIT: no policy fits: "));
  comparison.delays = true;  // times on edges, no bytes
  CHECK(missing_memory(comparison).empty());
}

TEST_CASE("Comparison: estimates are best before limits, and failed policies never are") {
  Comparison comparison = two_gpus({outcome_with("slow", 30 * kNsPerMs, 1)});
  PolicyOutcome limit = outcome_with("limit", kNsPerMs, 0);
  limit.bound_only_share = 1;
  comparison.policies.push_back(limit);
  PolicyOutcome broken = outcome_with("broken", 0, 0);
  broken.status = failed("no");
  comparison.policies.push_back(broken);
  CHECK(comparison.best()->name == "slow");
  CHECK(two_gpus({broken}).best() == nullptr);
  CHECK(two_gpus({}).best() == nullptr);
}

TEST_CASE("Comparison: one GPU is as good only when it is, and its memory suffices") {
  Comparison comparison = two_gpus({outcome_with("heft", 19'900'000, 0)});
  CHECK(comparison.one_device_is_enough());
  CHECK(comparison_text(comparison, TimeFormat{}).find("one GPU is as good: gpu0 alone") !=
        std::string::npos);
  comparison.single_device_fits = false;
  CHECK_FALSE(comparison.one_device_is_enough());
  comparison.single_device_fits = true;
  comparison.single_device_is_limit = true;
  CHECK_FALSE(comparison.one_device_is_enough());
  comparison = two_gpus({outcome_with("heft", 19 * kNsPerMs, 0)});
  CHECK_FALSE(comparison.one_device_is_enough());
}

TEST_CASE("Comparison: equal makespans are one row that names all") {
  const Comparison comparison =
      two_gpus({outcome_with("a", 16'800'000, 2), outcome_with("b", 16'800'000, 0.06),
                outcome_with("c", 16'800'000, 1), outcome_with("d", 17'000'000, 1)});
  const std::string text = comparison_text(comparison, TimeFormat{});
  CHECK(text.find("b +2 *") != std::string::npos);
  CHECK(text.find("3 policies tie at 16.8 ms: a, b, c; cheapest to plan: b, 60.0 us") !=
        std::string::npos);
  CHECK(text.find("\nd ") != std::string::npos);
}
