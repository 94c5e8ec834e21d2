#include "sim/engine/device_queues.h"

#include <catch2/catch.hpp>

#include "tests/sim/part_case.h"

using namespace dfsim;

TEST_CASE("DeviceQueues: an in-order device takes the plan's order", "[sim]") {
  PartCase sim(1);
  sim.task(10);
  sim.task(10);
  sim.arrive();
  DeviceQueues queues(sim.platform, QueueOrder::kAuto, LineKind::kPlanned, *sim.slots,
                      sim.timeline);
  queues.load_plan({{TaskId(1), TaskId(0)}});
  queues.expect(0, 10);
  queues.expect(0, 10);
  CHECK(queues.next(0) == 1);
  const uint32_t queue = queues.take(0, 1);
  CHECK_FALSE(queues.has_free_queue(0));
  CHECK(queues.next(0) == 0);
  CHECK(queues.next_planned(0) == 0);
  queues.start(queue, 10);
  CHECK(queues.available_ns(0) == 20);  // 10 more to run, and 10 in line
  const Event end = sim.next_event();
  CHECK(end.kind == kTaskFinished);
  CHECK(end.time_ns == 10);
  queues.finish(queue);
  CHECK(queues.unfinished(0) == 1);
  CHECK(queues.has_free_queue(0));
  std::vector<DeviceUse> use(1);
  queues.sum_up(use);
  CHECK(use[0].busy_ns == 10);
  CHECK(use[0].tasks == 1);
}

TEST_CASE("DeviceQueues: a ready-first device takes the earliest task that is ready", "[sim]") {
  PartCase sim(1);
  sim.platform.devices[0].queues = 2;
  sim.platform.runtime.streams = 2;
  for (int i = 0; i < 3; ++i) {
    sim.task(10);
  }
  sim.arrive();
  DeviceQueues queues(sim.platform, QueueOrder::kAuto, LineKind::kPlanned, *sim.slots,
                      sim.timeline);
  queues.load_plan({{TaskId(2), TaskId(1), TaskId(0)}});
  CHECK(queues.ready_first(0));
  CHECK(queues.next(0) == kNoIndex);
  queues.push_ready(0, 0);
  queues.push_ready(1, 0);
  CHECK(queues.next(0) == 1);  // second in the plan, task 0 is third
  const uint32_t first = queues.take(0, 1);
  const uint32_t second = queues.take(0, 0);
  CHECK(queues.index_on_device(first) == 0);
  CHECK(queues.index_on_device(second) == 1);
  CHECK(queues.instance_on(second) == 0);
}

TEST_CASE("DeviceQueues: decided instances run in the order of the decisions", "[sim]") {
  PartCase sim(1);
  sim.task(10);
  sim.task(10);
  sim.arrive();
  DeviceQueues queues(sim.platform, QueueOrder::kInOrder, LineKind::kDecided, *sim.slots,
                      sim.timeline);
  CHECK(queues.next(0) == kNoIndex);
  queues.line_up(1, 0);
  queues.line_up(0, 0);
  CHECK(queues.next(0) == 1);
  queues.start(queues.take(0, 1), 0);
  CHECK(queues.next(0) == 0);
}

TEST_CASE("DeviceQueues: a decided instance passes those behind the started one", "[sim]") {
  PartCase sim(1);
  for (int i = 0; i < 4; ++i) {
    sim.task(10);
  }
  sim.arrive();
  DeviceQueues queues(sim.platform, QueueOrder::kInOrder, LineKind::kDecided, *sim.slots,
                      sim.timeline);
  queues.line_up(0, 0);
  queues.start(queues.take(0, 0), 0);
  queues.line_up(1, 0);
  queues.line_up(2, 0, 1);
  queues.line_up(3, 0, 9);  // all that have not started
  CHECK(queues.next(0) == 3);
  queues.finish(0);
  queues.start(queues.take(0, 3), 0);
  CHECK(queues.next(0) == 2);
  queues.finish(0);
  queues.start(queues.take(0, 2), 0);
  CHECK(queues.next(0) == 1);
}

TEST_CASE("DeviceQueues: the plan starts again for the next request", "[sim]") {
  PartCase sim(1);
  sim.requests.requests = 2;
  sim.requests.in_flight = 2;
  sim.task(10);
  sim.arrive();
  DeviceQueues queues(sim.platform, QueueOrder::kAuto, LineKind::kPlanned, *sim.slots,
                      sim.timeline);
  queues.load_plan({{TaskId(0)}});
  queues.start(queues.take(0, queues.next(0)), 10);
  CHECK(queues.next(0) == kNoIndex);  // request 1 has not come
  sim.slots->arrive(1);
  CHECK(queues.next(0) == 1);  // task 0 in slot 1
}

TEST_CASE("DeviceQueues: a transfer slows the running task down, and its end moves", "[sim]") {
  PartCase sim(1);
  sim.platform.devices[0].overlap_slowdown = 2;
  sim.task(100);
  sim.arrive();
  DeviceQueues queues(sim.platform, QueueOrder::kAuto, LineKind::kPlanned, *sim.slots,
                      sim.timeline);
  queues.load_plan({{TaskId(0)}});
  queues.start(queues.take(0, 0), 100);
  sim.timeline.move_to(40);
  queues.change_transfers(0, 1);  // 60 left take 120: the end is at 160
  queues.change_transfers(0, 1);  // the second one changes nothing
  const Event old_end = sim.timeline.pop();
  CHECK(old_end.time_ns == 100);
  CHECK(queues.out_of_date(old_end));
  CHECK(sim.timeline.next_ns() == 160);
  sim.timeline.move_to(60);
  queues.change_transfers(0, -1);
  queues.change_transfers(0, -1);  // 50 left at full speed: 110
  const Event end = sim.timeline.pop();
  CHECK(end.time_ns == 110);
  CHECK_FALSE(queues.out_of_date(end));
}
