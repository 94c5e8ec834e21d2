// When policies decide: ahead of the run or when a task becomes ready, with links, and at what
// cost. Makespans are computed by hand.
#include <catch2/catch.hpp>
#include <string>

#include "graphs/taskgraph/task_graph.h"
#include "schedulers/decision_cost.h"
#include "schedulers/planning/task_view.h"
#include "study/comparison/comparison.h"
#include "study/comparison/drawn_runs.h"
#include "tests/schedulers/check_schedule.h"
#include "tests/schedulers/hand_graphs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

ProblemInstance instance_of(const std::string& rest, const char* links) {
  auto graph = parse_task_graph(R"({"format": "dfsim-taskgraph", "version": 1, "links": ")" +
                                    std::string(links) + "\", " + rest + "}",
                                "test.json");
  INFO(graph.status().message());
  REQUIRE(graph.ok());
  auto instance = make_instance(std::move(*graph), TaskGraphMachine{});
  INFO(instance.status().message());
  REQUIRE(instance.ok());
  return std::move(instance).value();
}

double units_of(const ProblemInstance& instance, const std::string& policy,
                const CompareOptions& options = {}) {
  const PolicyRegistry registry;
  const auto policies = registry.select(policy, instance.graph.task_count());
  REQUIRE(policies.ok());
  const auto compared = compare_policies(instance, *policies, options);
  INFO(policy << ": " << compared.status().message());
  REQUIRE(compared.ok());
  INFO(policy << ": " << compared->policies[0].status.message());
  REQUIRE(compared->policies[0].status.ok());
  return static_cast<double>(compared->policies[0].makespan_ns) /
         static_cast<double>(kNsPerFileUnit);
}

// Two producers on P1, one reader of each; D may also stay on P1.
constexpr const char* kTwoReaders = R"("tasks": [[1, null], [1, null], [null, 1], [15, 1]],
  "edges": [[0, 2, 10], [1, 3, 10]])";

}  // namespace

TEST_CASE("Deciding when ready: data moves only then") {
  // D reads A (done at 2 on P1, 6 to move) and X (done at 10 on P2).
  const ProblemInstance instance =
      make_hand_instance({{2, -1}, {-1, 10}, {-1, 5}}, {{1, 3, 6}, {2, 3, 0}});
  for (const char* policy : {"heft", "hlfet", "peft", "ppts", "ippts", "hsv", "lookahead", "cpop",
                             "dls", "etf", "minmin", "maxmin", "sufferage", "hsip"}) {
    INFO(policy);
    CHECK(units_of(instance, policy) == 15);
    CHECK(units_of(instance, policy + std::string("@ready")) == 21);
    CHECK(units_of(instance, policy + std::string("@ahead")) == 15);
  }
  for (const char* policy : {"donf", "donf2", "adon", "donfl", "donfl2", "adonl", "datacentric"}) {
    INFO(policy);
    CHECK(units_of(instance, policy) == 21);
    CHECK(units_of(instance, policy + std::string("@ahead")) == 15);
  }
}

TEST_CASE("Deciding when ready: a task goes into the gap before one that waits for its data") {
  // At 10, D (first by rank) can start at 16 and E, whose data comes at 11, fits before it.
  const ProblemInstance instance = make_hand_instance(
      {{2, -1}, {8, -1}, {-1, 10}, {-1, 5}, {-1, 3}}, {{1, 4, 6}, {3, 4, 0}, {2, 5, 1}});
  CHECK(units_of(instance, "heft@ready") == 21);
  CHECK(units_of(instance, "minmin@ready") == 21);  // takes E first
  const PolicyRegistry registry;
  const auto plan = plan_with(**registry.find("heft@ready"), instance.problem());
  REQUIRE(plan.ok());
  CHECK(plan->order[1] == std::vector<TaskId>{TaskId(2), TaskId(4), TaskId(3)});
  CHECK(check_schedule(instance.problem(), *plan) == "");
}

TEST_CASE("Links: policies that know them wait for them, others are late") {
  const ProblemInstance fifo = instance_of(kTwoReaders, "fifo");
  // C's data takes the link until 11, D's until 21; on P1, D would end at 2 + 15.
  CHECK(units_of(fifo, "heft") == 22);
  CHECK(units_of(fifo, "heft@ready") == 22);
  for (const char* policy : {"donfl", "donfl2", "adonl", "donfl@ahead", "adonl@ahead"}) {
    INFO(policy);
    CHECK(units_of(fifo, policy) == 17);
  }
  const ProblemInstance free = instance_of(kTwoReaders, "free");
  for (const char* policy : {"heft", "heft@ready", "donfl", "donfl@ahead", "send-ahead"}) {
    INFO(policy);
    CHECK(units_of(free, policy) == 13);  // D's data comes at 12
  }
}

TEST_CASE("send-ahead: books links for data that is sent as soon as it is produced") {
  // Ranks: B 35.5, A 27, C 16, D 14.5. B runs until 1 and A until 2 on P1; C's data takes the link
  // until 12 in the plan and D's until 32, so that D ends at 33 on P2 and at 2 + 28 on P1. HEFT
  // expects D's data at 21, sends it first, and so holds up C, before which D cannot run.
  constexpr const char* kTasks = R"("tasks": [[1, null], [1, null], [null, 16], [28, 1]],
    "edges": [[0, 2, 10], [1, 3, 20]])";
  CHECK(units_of(instance_of(kTasks, "fifo"), "heft") == 48);
  CHECK(units_of(instance_of(kTasks, "fifo"), "send-ahead") == 30);
  CHECK(units_of(instance_of(kTasks, "free"), "heft") == 29);
  CHECK(units_of(instance_of(kTasks, "free"), "send-ahead") == 29);
}

TEST_CASE("DATACENTRIC: goes to the largest input when moving it takes long for the task") {
  // B takes 4 on either device, P2 is free: 1 + 3 + 4 = 8 there, 6 + 4 = 10 behind C on P1.
  const ProblemInstance instance =
      make_hand_instance({{1, 20}, {5, -1}, {4, 4}}, {{1, 2, 0}, {1, 3, 3}});
  CompareOptions options;
  CHECK(units_of(instance, "donf", options) == 8);
  CHECK(units_of(instance, "datacentric", options) == 8);  // 3 is less than the task's 4
  options.policy.ratio = 0.5;
  CHECK(units_of(instance, "datacentric", options) == 10);
  CHECK(units_of(instance, "datacentric@ahead", options) == 10);
}

TEST_CASE("ADON: alpha weighs the later generations") {
  // At 0, A holds up one task alone, and B two of which each has another predecessor (1 = 1/2 +
  // 1/2) and a successor of its own. alpha = 0 leaves a tie, which A wins as the first.
  const ProblemInstance instance = make_hand_instance({{3}, {3}, {1}, {1}, {1}, {1}},
                                                      {{1, 3, 0}, {2, 4, 0}, {4, 5, 0}, {5, 6, 0}});
  const PolicyRegistry registry;
  PolicyOptions options;
  for (const char* policy : {"adon", "donf2", "adonl", "donfl2", "adon@ahead"}) {
    INFO(policy);
    options.alpha = 0;
    CHECK(plan_with(**registry.find(policy), instance.problem(), options)->order[0][0] ==
          TaskId(0));
    options.alpha = 0.5;
    CHECK(plan_with(**registry.find(policy), instance.problem(), options)->order[0][0] ==
          TaskId(1));
  }
}

TEST_CASE("Policy registry: finds policies by the time at which they decide") {
  const PolicyRegistry registry;
  CHECK((*registry.find("heft@ready"))->online());
  CHECK(*registry.find("heft@ahead") == *registry.find("heft"));
  CHECK(*registry.find("donf@ready") == *registry.find("donf"));
  CHECK_FALSE((*registry.find("donf@ahead"))->online());
  CHECK(registry.find("anneal@ready").status().message().find("anneal only decides ahead") !=
        std::string::npos);
  CHECK(registry.find("hefd@ready").status().message().find("did you mean 'heft'") !=
        std::string::npos);
  const auto ready = registry.select("heft,donf,anneal,peft@ahead", 10, DecideWhen::kReady);
  REQUIRE(ready.ok());
  REQUIRE(ready->size() == 4);
  CHECK((*ready)[0]->name == "heft@ready");
  CHECK((*ready)[1]->name == "donf");
  CHECK((*ready)[2]->name == "anneal");
  CHECK((*ready)[3]->name == "peft");
}

TEST_CASE("Policy variants: give a valid schedule on every shape and number of devices") {
  for (const char* shape : {"chain", "fork-join", "layered", "random", "cholesky", "independent"}) {
    for (const size_t devices : {1, 3, 16}) {
      for (const size_t tasks : {0, 1, 60}) {
        const ProblemInstance instance = generated({shape, tasks}, devices, 2.0, 0.2, 3);
        for (const PolicyInfo& policy : policy_variants()) {
          INFO(policy.name << " " << shape << " " << tasks << " on " << devices);
          const auto schedule = plan_with(policy, instance.problem());
          INFO(schedule.status().message());
          REQUIRE(schedule.ok());
          CHECK(check_schedule(instance.problem(), *schedule) == "");
          CHECK(units_of(instance, policy.name) * static_cast<double>(kNsPerFileUnit) >=
                static_cast<double>(least_critical_path(instance.problem())));
        }
      }
    }
  }
}

TEST_CASE("Charged decisions: ahead of the run, or before each task of an online policy") {
  const ProblemInstance chain = make_hand_instance({{10}, {10}}, {{1, 2, 0}});
  const PolicyRegistry registry;
  // 2 tasks on 1 device and 1 edge.
  CHECK(decision_looks(**registry.find("heft"), chain.problem(), {}) == 3);
  CHECK(decision_looks(**registry.find("peft"), chain.problem(), {}) == 7);
  CHECK(decision_looks(**registry.find("lookahead"), chain.problem(), {}) == 4);
  CHECK(decision_looks(**registry.find("dls"), chain.problem(), {}) == 5);
  CHECK(decision_looks(**registry.find("round-robin"), chain.problem(), {}) == 2);
  CompareOptions options;
  options.charge_ns = 2 * kNsPerFileUnit;
  CHECK(units_of(chain, "heft", options) == 6 + 20);
  CHECK(units_of(chain, "donf", options) == 3 + 10 + 3 + 10);
  // Two tasks at once are thought about together; the chain's second task waits for its own turn.
  const ProblemInstance two = make_hand_instance({{10, 10}, {10, 10}}, {});
  options.charge_ns = kNsPerFileUnit;  // 4 looks: 2 per task
  CHECK(units_of(two, "donf", options) == 4 + 10);
}

TEST_CASE("Repeated runs: every policy sees the same draws, and wins add up") {
  ProblemInstance instance = generated({"layered", 60}, 4, 2.0, 0.0, 9);
  CompareOptions options;
  options.noise = {50, 0.3};
  REQUIRE(add_noise(instance, options.noise).ok());
  const PolicyRegistry registry;
  const auto policies = registry.select("heft,heft@ready,donf,send-ahead", 60);
  const auto a = compare_policies(instance, *policies, options);
  const auto b = compare_policies(instance, *policies, options);
  REQUIRE(a.ok());
  double wins = 0;
  for (size_t p = 0; p < a->policies.size(); ++p) {
    const PolicyOutcome& outcome = a->policies[p];
    REQUIRE(outcome.repeated.has_value());
    CHECK(outcome.repeated->makespans_ns == b->policies[p].repeated->makespans_ns);
    CHECK(outcome.repeated->p10_ns <= outcome.repeated->p50_ns);
    CHECK(outcome.repeated->standard_deviation_ns > 0);
    wins += outcome.win_share;
  }
  CHECK(wins >= Approx(1.0));  // ties count for each
  ProblemInstance exact = generated({"layered", 60}, 4, 2.0, 0.0, 9);
  CHECK(add_noise(exact, {50, 0}).message().find("no intervals") != std::string::npos);
}

TEST_CASE("TripletRun: a task takes the longer of its work and its data") {
  const auto graph = [] {
    auto parsed = parse_task_graph(
        R"({"nodes": [{"id": 0, "comDmd": 6, "dataDmd": 4}], "edges": []})", "g.json");
    REQUIRE(parsed.ok());
    return std::move(parsed).value();
  };
  const auto cluster = parse_triplet_cluster(
      R"({"devices": [{"id": 0, "compute": 2, "bw": 4}, {"id": 1, "compute": 6, "bw": 1}],
      "links": [{"src": 0, "dst": 1, "bw": 1}]})",
      "c.json");
  REQUIRE(cluster.ok());
  const auto instance = make_instance(graph(), *cluster);
  REQUIRE(instance.ok());
  CHECK(instance->costs.time_ns(0, DeviceId(0)) == 3 * kNsPerSecond);  // 6 / 2 against 4 / 4
  CHECK(instance->costs.time_ns(0, DeviceId(1)) == 4 * kNsPerSecond);  // 6 / 6 against 4 / 1
  CHECK(instance->platform.links.size() == 1);
  CHECK(instance->platform.links[0].sharing == LinkSharing::kFifo);
  CHECK(make_instance(graph(), *cluster, TaskGraphLinks::kFree)->platform.links[0].sharing ==
        LinkSharing::kNone);
  auto times = parse_task_graph("1\n0 0 0\n1 9 1 0\n2 0 1 1\n", "g.stg");
  REQUIRE(times.ok());
  CHECK(make_instance(std::move(*times), *cluster).status().message().find("what they compute") !=
        std::string::npos);
}
