// Every kind of run, on random graphs and platforms, keeps the invariants; and a listener changes
// nothing.
#include "sim/invariants.h"

#include <catch2/catch.hpp>
#include <memory>

#include "schedulers/registry.h"
#include "sim/requests.h"
#include "tests/sim/random_case.h"

using namespace dfsim;

namespace {

bool same(const SimResult& a, const SimResult& b) {
  bool equal = a.makespan_ns == b.makespan_ns && a.events == b.events && a.wait_ns == b.wait_ns &&
               a.bytes_moved == b.bytes_moved && a.tasks.size() == b.tasks.size();
  for (size_t t = 0; equal && t < a.tasks.size(); ++t) {
    equal = a.tasks[t].start_ns == b.tasks[t].start_ns && a.tasks[t].end_ns == b.tasks[t].end_ns &&
            a.tasks[t].queue == b.tasks[t].queue && a.tasks[t].wait_ns == b.tasks[t].wait_ns;
  }
  return equal;
}

// Devices hold their weights and `share` of the way from the largest task's needs to everything.
void limit_memory(RandomCase& random, double share) {
  for (size_t d = 0; d < random.platform.devices.size(); ++d) {
    Bytes least = 0;
    Bytes resident = 0;
    Bytes all = 0;
    for (const TaskId task : random.schedule.order[d]) {
      Bytes needed = random.graph.workspace_bytes(task);
      for (size_t i = 0; i < random.graph.data_count(); ++i) {
        needed +=
            random.graph.data_producer(DataId(i)) == task ? random.graph.data_bytes(DataId(i)) : 0;
      }
      for (const uint32_t e : random.graph.in_edge_indices(task)) {
        needed += random.graph.edge_bytes(random.graph.edges()[e]);
      }
      least = std::max(least, needed);
      all += needed;
      resident += random.graph.resident_bytes(task);
    }
    random.platform.devices[d].memory_bytes =
        1 + resident + least + static_cast<Bytes>(static_cast<double>(all - least) * share);
  }
}

}  // namespace

TEST_CASE("Invariants: static plans keep them", "[sim]") {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomCase random = random_case(seed, {}, 120);
    SimOptions options;
    options.memory = seed % 3 == 0 ? MemoryPolicy::kOff : MemoryPolicy::kTrack;
    options.queue_order = static_cast<QueueOrder>(seed % 2 == 0 ? 0 : seed % 3);
    if (seed % 5 == 0) {
      options.sync_after = {TaskId(0)};
    }
    InvariantChecker checker(random.input(), options);
    const auto result = simulate(random.input(), random.schedule, options, &checker);
    INFO("seed " << seed << ": " << result.status().message());
    REQUIRE(result.ok());
    const std::string violations = checker.violations(*result);
    CHECK(violations == "");
    const auto again = simulate(random.input(), random.schedule, options);
    REQUIRE(again.ok());
    CHECK(same(*result, *again));
  }
}

// Without limited memory no part asks for data in flight, and arrivals on FIFO links are known when
// they are requested; with limited memory each is an event. The test includes events at one
// instant.
TEST_CASE("Invariants: arrivals known ahead give the same run as arrivals one by one", "[sim]") {
  RandomFeatures features;
  features.fair = false;
  features.overlap = false;
  size_t moved = 0;
  for (uint64_t seed = 5000; seed < 5400; ++seed) {
    RandomCase random = random_case(seed, features, 120);
    SimOptions ahead;
    ahead.queue_order = static_cast<QueueOrder>(seed % 3);
    ahead.memory = MemoryPolicy::kOff;
    SimOptions one_by_one = ahead;
    one_by_one.memory = MemoryPolicy::kTrack;
    const auto first = simulate(random.input(), random.schedule, ahead);
    const auto second = simulate(random.input(), random.schedule, one_by_one);
    INFO("seed " << seed << ": " << first.status().message());
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    CHECK(same(*first, *second));
    moved += first->bytes_moved > 0 ? 1 : 0;
  }
  CHECK(moved > 200);
}

TEST_CASE("Invariants: online policies keep them", "[sim]") {
  for (uint64_t seed = 1000; seed < 1300; ++seed) {
    RandomCase random = random_case(seed, {}, 120);
    SimOptions options;
    options.seed = seed;
    options.memory = seed % 3 == 0 ? MemoryPolicy::kOff : MemoryPolicy::kTrack;
    options.queue_order = static_cast<QueueOrder>(seed % 3);
    InvariantChecker checker(random.input(), options);
    RandomPolicy policy;
    const auto result = simulate(random.input(), policy, options, &checker);
    INFO("seed " << seed << ": " << result.status().message());
    REQUIRE(result.ok());
    const std::string violations = checker.violations(*result);
    CHECK(violations == "");
    const auto again = simulate(random.input(), policy, options);
    REQUIRE(again.ok());
    CHECK(same(*result, *again));
  }
}

TEST_CASE("Invariants: runs in limited memory keep them", "[sim]") {
  size_t waited = 0;
  size_t gave_up = 0;
  size_t spilled = 0;
  for (uint64_t seed = 2000; seed < 2600; ++seed) {
    RandomCase random = random_case(seed, {}, 80);
    limit_memory(random, 0.02 * static_cast<double>(seed % 4));
    SimOptions options;
    options.memory = seed % 2 == 0 ? MemoryPolicy::kWait : MemoryPolicy::kSpill;
    InvariantChecker checker(random.input(), options);
    const auto result = simulate(random.input(), random.schedule, options, &checker);
    INFO("seed " << seed << ": " << result.status().message());
    if (!result.ok()) {
      // Tasks that wait for each other's memory end the run, with a reason.
      CHECK(result.status().code() == StatusCode::kFailed);
      CHECK(result.status().message().find("out of memory for good") != std::string::npos);
      CHECK(options.memory == MemoryPolicy::kWait);
      ++gave_up;
      continue;
    }
    const std::string violations = checker.violations(*result);
    CHECK(violations == "");
    waited += result->wait_ns[static_cast<int>(WaitReason::kMemory)] > 0 ? 1 : 0;
    spilled += result->bytes_spilled > 0 ? 1 : 0;
  }
  CHECK(waited > 20);
  CHECK(spilled > 20);
  CHECK(gave_up < 290);
}

TEST_CASE("Invariants: many requests keep them", "[sim]") {
  for (uint64_t seed = 3000; seed < 3200; ++seed) {
    RandomCase random = random_case(seed, {}, 40);
    SimOptions options;
    options.queue_order = static_cast<QueueOrder>(seed % 3);
    options.memory = seed % 2 == 0 ? MemoryPolicy::kOff : MemoryPolicy::kTrack;
    RequestOptions requests;
    requests.requests = 12;
    requests.arrivals = static_cast<ArrivalKind>(seed % 3);
    requests.in_flight = 1 + seed % 4;
    requests.requests_per_s = 100'000;
    requests.seed = seed;
    InvariantChecker checker(random.input(), options);
    const auto result =
        simulate_requests(random.input(), random.schedule, requests, options, &checker);
    INFO("seed " << seed << ": " << result.status().message());
    REQUIRE(result.ok());
    const std::string violations = checker.violations(result->run, requests.requests);
    CHECK(violations == "");
    const auto again = simulate_requests(random.input(), random.schedule, requests, options);
    REQUIRE(again.ok());
    CHECK(same(result->run, again->run));
  }
}

TEST_CASE("Invariants: many requests under online policies keep them", "[sim]") {
  const PolicyRegistry registry;
  size_t overlapped = 0;
  for (uint64_t seed = 4000; seed < 4300; ++seed) {
    const RandomCase random = random_case(seed, {}, 40);
    SimOptions options;
    options.seed = seed;
    options.queue_order = static_cast<QueueOrder>(seed % 3);
    options.memory = seed % 2 == 0 ? MemoryPolicy::kOff : MemoryPolicy::kTrack;
    if (seed % 7 == 0) {
      options.sync_after = {TaskId(0)};
    }
    RequestOptions requests;
    requests.requests = 12;
    requests.arrivals = static_cast<ArrivalKind>(seed % 3);
    requests.in_flight = 1 + seed % 4;
    requests.requests_per_s = 100'000;
    requests.seed = seed;
    const std::vector<std::string> names = {"",     "donfm",         "mct", "fcfs",
                                            "donf", "work-stealing", "sjf", "critical-path"};
    const std::string& name = names[seed % names.size()];
    const MakePolicy make = [&]() -> std::unique_ptr<OnlineScheduler> {
      if (name.empty()) {
        return std::make_unique<RandomPolicy>();
      }
      return (*registry.find(name))->make_online({});
    };
    InvariantChecker checker(random.input(), options);
    const auto result = simulate_requests(random.input(), make, requests, options, &checker);
    INFO("seed " << seed << ", policy " << name << ": " << result.status().message());
    REQUIRE(result.ok());
    const std::string violations = checker.violations(result->run, requests.requests);
    CHECK(violations == "");
    for (size_t r = 1; r < requests.requests; ++r) {
      overlapped += result->requests[r].arrival_ns < result->requests[r - 1].finish_ns ? 1 : 0;
    }
    const auto again = simulate_requests(random.input(), make, requests, options);
    REQUIRE(again.ok());
    CHECK(same(result->run, again->run));
  }
  CHECK(overlapped > 1000);
}

TEST_CASE("Requests: one request under a policy is a single run", "[sim]") {
  for (uint64_t seed = 5000; seed < 5050; ++seed) {
    const RandomCase random = random_case(seed, {}, 60);
    SimOptions options;
    options.seed = seed;
    RandomPolicy policy;
    const auto single = simulate(random.input(), policy, options);
    RequestOptions requests;
    requests.requests = 3;
    const auto three = simulate_requests(
        random.input(), [] { return std::make_unique<RandomPolicy>(); }, requests, options);
    REQUIRE((single.ok() && three.ok()));
    CHECK(three->requests[0].finish_ns == single->makespan_ns);
  }
}
