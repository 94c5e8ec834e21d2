// Requests and repetition.
#include <catch2/catch.hpp>
#include <cmath>

#include "schedulers/registry.h"
#include "sim/repeat.h"
#include "sim/requests.h"
#include "tests/sim/sim_case.h"

using namespace dfsim;

namespace {

// Two stages of 10 and 20 on a device each, with a free transfer between them.
SimCase two_stages() {
  SimCase sim(2);
  const TaskId a = sim.task(10, 0);
  sim.edge(a, sim.task(20, 1), 0);
  sim.build();
  return sim;
}

}  // namespace

TEST_CASE("Closed loop: one request at a time gives one run after the other", "[sim]") {
  const SimCase sim = two_stages();
  RequestOptions requests;
  requests.requests = 5;
  const auto result = simulate_requests(sim.input(), sim.schedule, requests);
  REQUIRE(result.ok());
  CHECK(result->run.makespan_ns == 150);
  CHECK(result->p50_ns == 30);
  CHECK(result->max_ns == 30);
  CHECK(result->throughput_per_s == Approx(1e9 / 30));
}

TEST_CASE("Closed loop: a full pipeline runs at the pace of its slowest stage", "[sim]") {
  const SimCase sim = two_stages();
  RequestOptions requests;
  requests.requests = 10;
  requests.in_flight = 3;
  requests.warm_up = 2;
  const auto result = simulate_requests(sim.input(), sim.schedule, requests);
  REQUIRE(result.ok());
  CHECK(result->run.makespan_ns == 10 + 10 * 20);
  CHECK(result->throughput_per_s == Approx(1e9 / 20));
  CHECK(result->p50_ns == 60);  // three stages of 20 behind one another
}

TEST_CASE("Open loop: requests keep their latency below capacity and queue above it", "[sim]") {
  const SimCase sim = two_stages();
  RequestOptions requests;
  requests.requests = 100;
  requests.arrivals = ArrivalKind::kUniform;
  requests.requests_per_s = 1e9 / 40;
  const auto calm = simulate_requests(sim.input(), sim.schedule, requests);
  REQUIRE(calm.ok());
  CHECK(calm->max_ns == 30);
  requests.requests_per_s = 1e9 / 10;
  const auto busy = simulate_requests(sim.input(), sim.schedule, requests);
  REQUIRE(busy.ok());
  CHECK(busy->max_ns == 30 + 99 * 10);  // each waits 10 longer than the one before
  requests.requests_per_s = 0;
  CHECK_FALSE(simulate_requests(sim.input(), sim.schedule, requests).ok());
}

TEST_CASE("Requests: a policy decides on every request separately, earlier requests first",
          "[sim]") {
  // One task of 10 per request, on either of two devices.
  SimCase sim(2);
  sim.task(10, 0);
  sim.build();
  const PolicyRegistry registry;
  const auto run = [&](const char* name, const RequestOptions& requests) {
    const PolicyInfo* policy = *registry.find(name);
    const MakePolicy make = [policy] { return policy->make_online({}); };
    auto result = simulate_requests(sim.input(), make, requests);
    INFO(name << ": " << result.status().message());
    REQUIRE(result.ok());
    return std::move(result).value();
  };
  RequestOptions requests;
  requests.requests = 4;
  requests.in_flight = 2;
  for (const char* name : {"mct", "donf", "fcfs", "sjf", "work-stealing"}) {
    const RequestResult result = run(name, requests);
    INFO(name);
    CHECK(result.run.makespan_ns == 20);  // two at a time
    CHECK(result.max_ns == 10);
    CHECK(result.run.devices[0].tasks == 2);
  }
  // Each request's round robin starts at the first device.
  CHECK(run("round-robin", requests).run.makespan_ns == 40);
  // Every 4 ns one comes, two devices take one each 5 ns: the last of 11 comes at 40, and starts at
  // 50, when the device of the ninth is done.
  requests.requests = 11;
  requests.arrivals = ArrivalKind::kUniform;
  requests.requests_per_s = 1e9 / 4;
  const RequestResult queued = run("fcfs", requests);
  REQUIRE(queued.requests.size() == 11);
  CHECK(queued.requests[0].finish_ns == 10);
  CHECK(queued.requests[1].finish_ns == 14);
  CHECK(queued.requests[2].finish_ns == 20);
  CHECK(queued.requests[3].finish_ns == 24);
  CHECK(queued.requests[10].arrival_ns == 40);
  CHECK(queued.requests[10].finish_ns == 60);
}

TEST_CASE("Requests: a device stores the weights of many requests once", "[sim]") {
  SimCase sim(1);
  sim.task(10, 0, 0, 100);
  sim.build();
  const PolicyRegistry registry;
  const PolicyInfo* policy = *registry.find("mct");
  RequestOptions requests;
  requests.requests = 5;
  requests.in_flight = 3;
  const auto result = simulate_requests(
      sim.input(), [policy] { return policy->make_online({}); }, requests);
  REQUIRE(result.ok());
  CHECK(result->run.devices[0].peak_memory_bytes == 100);
}

TEST_CASE("Noise: follows the intervals and the seed", "[sim]") {
  SimCase sim(1);
  sim.task(1'000'000);
  sim.build();
  sim.costs.at(0, DeviceId(0)).low_ns = 900'000;
  sim.costs.at(0, DeviceId(0)).high_ns = 1'200'000;
  RepeatOptions repeat;
  repeat.runs = 4000;
  repeat.seed = 3;
  const auto result = simulate_repeatedly(sim.input(), sim.schedule, repeat);
  REQUIRE(result.ok());
  CHECK(std::abs(static_cast<double>(result->p10_ns) - 900'000) < 8'000);
  CHECK(std::abs(static_cast<double>(result->p50_ns) - 1'000'000) < 8'000);
  CHECK(std::abs(static_cast<double>(result->p90_ns) - 1'200'000) < 16'000);
  repeat.threads = 3;
  const auto threaded = simulate_repeatedly(sim.input(), sim.schedule, repeat);
  REQUIRE(threaded.ok());
  CHECK(threaded->makespans_ns == result->makespans_ns);
  repeat.seed = 4;
  const auto other = simulate_repeatedly(sim.input(), sim.schedule, repeat);
  REQUIRE(other.ok());
  CHECK(other->makespans_ns != result->makespans_ns);
}

TEST_CASE("Noise: an online policy adapts to it", "[sim]") {
  // Two devices, sixteen equal tasks without data: whoever is idle takes the next one.
  SimCase sim(2);
  for (int i = 0; i < 16; ++i) {
    sim.task(1'000'000, static_cast<uint32_t>(i % 2));
  }
  sim.build();
  for (uint32_t row = 0; row < 16; ++row) {
    for (size_t d = 0; d < 2; ++d) {
      sim.costs.at(row, DeviceId(d)).low_ns = 500'000;
      sim.costs.at(row, DeviceId(d)).high_ns = 1'500'000;
    }
  }
  const PolicyRegistry registry;
  const auto fcfs = registry.find("fcfs");
  REQUIRE(fcfs.ok());
  const MakePolicy make = [&] { return (*fcfs)->make_online({}); };
  RepeatOptions repeat;
  repeat.runs = 400;
  repeat.seed = 5;
  const auto adaptive = simulate_repeatedly(sim.input(), make, repeat);
  const auto fixed = simulate_repeatedly(sim.input(), sim.schedule, repeat);
  REQUIRE((adaptive.ok() && fixed.ok()));
  // The same draws: deciding late evens them out.
  CHECK(adaptive->mean_ns < fixed->mean_ns);
  CHECK(adaptive->min_ns > 0);
  repeat.threads = 3;
  const auto threaded = simulate_repeatedly(sim.input(), make, repeat);
  REQUIRE(threaded.ok());
  CHECK(threaded->makespans_ns == adaptive->makespans_ns);
}

TEST_CASE("Noise: tasks of one op share it on request", "[sim]") {
  SimCase sim(1);
  for (int i = 0; i < 100; ++i) {
    ExecGraphBuilder::Task task;
    task.cost_row = 0;
    sim.builder.add_task(task);
  }
  sim.times = {1'000'000};
  sim.placement = {0};
  sim.build();
  for (uint32_t t = 1; t < 100; ++t) {
    sim.schedule.placements.push_back({DeviceId(0), 0, 0});
    sim.schedule.order[0].emplace_back(t);
  }
  sim.costs.at(0, DeviceId(0)).low_ns = 900'000;
  sim.costs.at(0, DeviceId(0)).high_ns = 1'100'000;
  RepeatOptions repeat;
  repeat.runs = 500;
  const auto apart = simulate_repeatedly(sim.input(), sim.schedule, repeat);
  repeat.scope = NoiseScope::kPerOp;
  const auto together = simulate_repeatedly(sim.input(), sim.schedule, repeat);
  REQUIRE((apart.ok() && together.ok()));
  const double ratio = together->standard_deviation_ns / apart->standard_deviation_ns;
  CHECK(ratio == Approx(10).epsilon(0.2));  // sqrt of 100 independent tasks
}
