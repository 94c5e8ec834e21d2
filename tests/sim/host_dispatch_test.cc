#include "sim/engine/host_dispatch.h"

#include <catch2/catch.hpp>
#include <memory>

#include "tests/sim/part_case.h"

using namespace dfsim;

namespace {

// `tasks` tasks on one device, and a host that dispatches them by id.
struct HostCase {
  explicit HostCase(int tasks, int devices = 1) : sim(devices) {
    sim.platform.runtime.dispatch_ns = 10;
    sim.platform.runtime.run_overhead_ns = 100;
    for (int i = 0; i < tasks; ++i) {
      sim.task(5);
    }
  }
  HostDispatch& begin() {
    sim.arrive();
    queues = std::make_unique<DeviceQueues>(sim.platform, QueueOrder::kAuto, LineKind::kPlanned,
                                            *sim.slots, sim.timeline);
    host = std::make_unique<HostDispatch>(sim.platform.runtime, options, LineKind::kPlanned,
                                          *queues, *sim.slots, *sim.tasks, sim.timeline, nullptr);
    std::vector<uint32_t> program;
    for (uint32_t t = 0; t < sim.graph.task_count(); ++t) {
      program.push_back(t);
    }
    host->load_program(program, sim.placement);
    host->request_arrived(0);
    return *host;
  }
  // The overhead of the run passes.
  void open() {
    const Event event = sim.next_event();
    REQUIRE(event.kind == kHostOpened);
    sim.slots->open(event.payload);
    host->opened();
  }
  // The next dispatch; returns the task.
  uint32_t dispatch() {
    const Event event = sim.next_event();
    REQUIRE(event.kind == kHostDispatched);
    return host->dispatched(event.payload);
  }

  PartCase sim;
  SimOptions options;
  std::unique_ptr<DeviceQueues> queues;
  std::unique_ptr<HostDispatch> host;
};

}  // namespace

TEST_CASE("HostDispatch: free dispatch waits only for the run's overhead", "[sim]") {
  HostCase host(1);
  host.sim.platform.runtime.dispatch_ns = 0;
  const HostDispatch& dispatch = host.begin();
  CHECK(dispatch.instant());
  CHECK_FALSE(dispatch.lets_start(0, 0));
  host.open();
  CHECK(host.sim.timeline.now_ns() == 100);
  CHECK(dispatch.lets_start(0, 0));
  CHECK(host.sim.timeline.empty());
}

TEST_CASE("HostDispatch: an asynchronous host dispatches one task after the other", "[sim]") {
  HostCase host(2);
  const HostDispatch& dispatch = host.begin();
  CHECK_FALSE(dispatch.instant());
  host.open();
  CHECK(host.dispatch() == 0);
  CHECK(host.sim.timeline.now_ns() == 110);
  CHECK(dispatch.lets_start(0, 0));
  CHECK_FALSE(dispatch.lets_start(1, 0));
  CHECK(host.dispatch() == 1);
  CHECK(host.sim.timeline.now_ns() == 120);
  CHECK(dispatch.busy_ns() == 20);
  CHECK(host.sim.timeline.empty());
}

TEST_CASE("HostDispatch: a full launch queue blocks the host until a task finishes", "[sim]") {
  HostCase host(2);
  host.sim.platform.runtime.queue_depth = 1;
  HostDispatch& dispatch = host.begin();
  host.open();
  CHECK(host.dispatch() == 0);
  CHECK(host.sim.timeline.empty());
  host.sim.wait_until(200);
  dispatch.task_finished(0, 0);
  CHECK(host.sim.timeline.next_ns() == 210);
}

TEST_CASE("HostDispatch: a synchronous thread waits for its task", "[sim]") {
  HostCase host(3);
  host.sim.platform.runtime.asynchronous = false;
  host.sim.platform.runtime.dispatch_threads = 2;
  HostDispatch& dispatch = host.begin();
  host.open();
  CHECK(host.dispatch() == 0);
  CHECK(host.dispatch() == 1);
  CHECK(host.sim.timeline.now_ns() == 110);  // the two threads dispatched side by side
  CHECK(host.sim.timeline.empty());
  host.sim.wait_until(150);
  dispatch.task_finished(1, 0);
  CHECK(host.dispatch() == 2);
  CHECK(host.sim.timeline.now_ns() == 160);
}

TEST_CASE("HostDispatch: after a synchronisation point nothing is dispatched until it is done",
          "[sim]") {
  HostCase host(2);
  host.options.sync_after = {TaskId(0)};
  HostDispatch& dispatch = host.begin();
  host.open();
  CHECK(host.dispatch() == 0);
  CHECK(host.sim.timeline.empty());
  host.sim.wait_until(130);
  dispatch.task_finished(0, 0);
  CHECK(host.dispatch() == 1);
  CHECK(host.sim.timeline.now_ns() == 140);
}

TEST_CASE("HostDispatch: worker pools dispatch their own tasks", "[sim]") {
  HostCase host(1);
  host.sim.platform.devices[0].type = DeviceType::kCpu;
  host.sim.platform.runtime.inter_op_workers = 2;
  HostDispatch& dispatch = host.begin();
  CHECK_FALSE(dispatch.dispatches(0));
  host.open();
  CHECK(dispatch.lets_start(0, 0));
  CHECK(host.sim.timeline.empty());
  dispatch.worker_dispatches(0);
  CHECK(dispatch.busy_ns() == 10);
}

TEST_CASE("HostDispatch: times per task replace the runtime's", "[sim]") {
  HostCase host(2);
  host.options.dispatch_ns = {1, 2};
  HostDispatch& dispatch = host.begin();
  CHECK(dispatch.dispatch_ns(1) == 2);
  host.open();
  host.dispatch();
  host.dispatch();
  CHECK(host.sim.timeline.now_ns() == 103);
}

TEST_CASE("HostDispatch: with a thread per device, a full queue blocks its own device alone",
          "[sim]") {
  HostCase host(4, 2);
  host.sim.platform.runtime.queue_depth = 1;
  host.sim.placement = {0, 0, 1, 1};
  host.options.host_thread_per_device = true;
  HostDispatch& dispatch = host.begin();
  host.open();
  CHECK(host.dispatch() == 0);
  CHECK(host.dispatch() == 2);
  CHECK(host.sim.timeline.now_ns() == 110);  // both threads at the same time
  CHECK(host.sim.timeline.empty());
  host.sim.wait_until(200);
  dispatch.task_finished(2, 1);  // device 0 is busy still
  CHECK(host.dispatch() == 3);
  CHECK(host.sim.timeline.now_ns() == 210);
  CHECK(host.sim.timeline.empty());
}
