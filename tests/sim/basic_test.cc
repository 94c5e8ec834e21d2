#include <catch2/catch.hpp>

#include "tests/sim/sim_case.h"

using namespace dfsim;

TEST_CASE("Simulator: a chain on one device runs back to back", "[sim]") {
  SimCase sim(1);
  const TaskId a = sim.task(10);
  const TaskId b = sim.task(20);
  const TaskId c = sim.task(30);
  sim.edge(a, b, 5);
  sim.edge(b, c, 5);
  sim.build();
  const SimResult result = sim.run();
  CHECK(result.makespan_ns == 60);
  CHECK(result.tasks[2].start_ns == 30);
  CHECK(result.tasks[2].wait_ns == WaitTimes{30, 0, 0, 0, 0});
  CHECK(result.devices[0].busy_ns == 60);
  CHECK(result.devices[0].peak_memory_bytes == 10);
  CHECK(result.bytes_moved == 0);
}

TEST_CASE("Simulator: an asynchronous host dispatches ahead of the device", "[sim]") {
  SimCase sim(1);
  sim.platform.runtime.dispatch_ns = 10;
  sim.platform.runtime.run_overhead_ns = 100;
  const TaskId a = sim.task(50);
  const TaskId b = sim.task(3);
  const TaskId c = sim.task(3);
  sim.edge(a, b, 1);
  sim.edge(b, c, 1);
  sim.build();
  SECTION("the launches of b and c hide behind a") {
    const SimResult result = sim.run();
    CHECK(result.tasks[0].start_ns == 110);
    CHECK(result.tasks[0].wait_ns == WaitTimes{0, 0, 110, 0, 0});
    CHECK(result.tasks[1].start_ns == 160);
    CHECK(result.makespan_ns == 166);
    CHECK(result.host_busy_ns == 30);
  }
  SECTION("a depth of one launch shows every later dispatch") {
    sim.platform.runtime.queue_depth = 1;
    CHECK(sim.run().makespan_ns == 110 + 50 + 10 + 3 + 10 + 3);
  }
  SECTION("a synchronous host does the same") {
    sim.platform.runtime.asynchronous = false;
    CHECK(sim.run().makespan_ns == 110 + 50 + 10 + 3 + 10 + 3);
  }
  SECTION("a sync point after a shows the dispatch of b") {
    SimOptions options;
    options.sync_after = {TaskId(0)};
    // b is dispatched from 160 to 170, c from 170 to 180.
    CHECK(sim.run(options).makespan_ns == 183);
  }
}

TEST_CASE("Simulator: data crosses a link once for all readers of a device", "[sim]") {
  SimCase sim(2);
  const TaskId a = sim.task(10, 0);
  const TaskId b = sim.task(5, 1);
  const TaskId c = sim.task(5, 1);
  const DataId data = sim.edge(a, b, 100);
  sim.builder.add_edge(data, c);
  sim.platform.links[0].latency_ns = 7;
  sim.build();
  const SimResult result = sim.run();
  CHECK(result.transfers == 1);
  CHECK(result.bytes_moved == 100);
  CHECK(result.tasks[1].start_ns == 117);
  CHECK(result.tasks[1].wait_ns == WaitTimes{10, 107, 0, 0, 0});
  CHECK(result.tasks[2].wait_ns == WaitTimes{10, 107, 0, 5, 0});
  CHECK(result.makespan_ns == 127);
}

TEST_CASE("Simulator: the empty graph takes no time", "[sim]") {
  SimCase sim(2);
  sim.build();
  CHECK(sim.run().makespan_ns == 0);
}

TEST_CASE("Simulator: a chain of a million zero-cost tasks does not recurse", "[sim]") {
  SimCase sim(1);
  TaskId last = sim.task(0);
  for (int i = 1; i < 1'000'000; ++i) {
    const TaskId next = sim.task(0);
    sim.edge(last, next, 0);
    last = next;
  }
  sim.build();
  CHECK(sim.run().makespan_ns == 0);
}

TEST_CASE("Simulator: reports a schedule that waits in a circle", "[sim]") {
  SimCase sim(1);
  const TaskId a = sim.task(1);
  const TaskId b = sim.task(1);
  sim.edge(a, b, 1);
  sim.build();
  std::swap(sim.schedule.order[0][0], sim.schedule.order[0][1]);
  const auto result = simulate(sim.input(), sim.schedule);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == StatusCode::kInvalidInput);
  CHECK(result.status().message().find("waits in a circle") != std::string::npos);
}
