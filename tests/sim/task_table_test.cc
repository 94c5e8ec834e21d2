#include "sim/engine/task_table.h"

#include <catch2/catch.hpp>

#include "sim/engine/task_times.h"
#include "tests/sim/part_case.h"

using namespace dfsim;

namespace {

// c reads a and b.
PartCase join_of_two() {
  PartCase sim(2);
  const TaskId a = sim.task(10, 0);
  const TaskId b = sim.task(20, 1);
  const TaskId c = sim.task(5, 0);
  sim.edge(a, c, 8);
  sim.edge(b, c, 8);
  return sim;
}

}  // namespace

TEST_CASE("TaskTable: a task waits for its predecessors and for their data", "[sim]") {
  PartCase sim = join_of_two();
  sim.arrive();
  TaskTable& tasks = *sim.tasks;
  CHECK(tasks.inputs_there(0));
  CHECK_FALSE(tasks.inputs_there(2));
  CHECK(tasks.producer_device(0, 1) == 1);
  CHECK(tasks.duration_ns(1) == 20);
  CHECK_FALSE(tasks.predecessor_finished(2));
  CHECK_FALSE(tasks.input_came(2));
  CHECK(tasks.predecessor_finished(2));
  CHECK_FALSE(tasks.inputs_there(2));
  CHECK(tasks.input_came(2));
  CHECK(tasks.inputs_there(2));
}

TEST_CASE("TaskTable: inputs on their way arrive at the later instant, last requested last",
          "[sim]") {
  PartCase sim = join_of_two();
  sim.arrive();
  TaskTable& tasks = *sim.tasks;
  const uint64_t first = sim.timeline.take_sequence();
  const uint64_t second = sim.timeline.take_sequence();
  tasks.note_arrival(2, 40, second);
  tasks.note_arrival(2, 40, first);  // the same instant: the later place counts
  tasks.note_arrival(2, 30, first);  // earlier: nothing changes
  tasks.input_came(2);
  tasks.input_came(2);
  CHECK(tasks.inputs_on_their_way(2));
  tasks.await_inputs(2);
  tasks.await_inputs(2);  // one event is enough
  const Event event = sim.next_event();
  CHECK(event.kind == kInputsArrived);
  CHECK(event.time_ns == 40);
  CHECK(event.sequence == second);
  CHECK(event.payload == 2);
  CHECK(sim.timeline.empty());
  CHECK(tasks.inputs_there(2));
}

TEST_CASE("TaskTable: waits follow each other without gaps and add up to the start", "[sim]") {
  PartCase sim = join_of_two();
  sim.arrive();
  TaskTable& tasks = *sim.tasks;
  sim.wait_until(10);
  tasks.predecessor_finished(2);
  sim.wait_until(20);
  tasks.predecessor_finished(2);  // dependency: until 20
  tasks.note_arrival(2, 26, 0);   // link: until 26
  sim.wait_until(30);
  tasks.dispatched(2);  // host: until 30
  sim.wait_until(47);
  tasks.waited_for_memory(2, 7);  // memory: from 40 to 47, so the device took it at 40
  tasks.start(2, 0, 47, 52);
  CHECK(tasks.record(2).wait_ns == WaitTimes{20, 6, 4, 10, 7});
  CHECK(tasks.record(2).start_ns == 47);
  CHECK(tasks.record(2).end_ns == 52);
  CHECK(tasks.total_waits() == WaitTimes{20, 6, 4, 10, 7});
  sim.wait_until(52);
  tasks.finish(2);
  CHECK(tasks.has(2, kFinished));
}

TEST_CASE("TaskTable: a policy that holds a task back makes it wait for the device", "[sim]") {
  PartCase sim = join_of_two();
  sim.arrive();
  TaskTable& tasks = *sim.tasks;
  sim.wait_until(20);
  tasks.predecessor_finished(2);
  tasks.predecessor_finished(2);
  sim.wait_until(32);
  tasks.decided(2, 0);
  tasks.dispatchable_since(2, 0);
  tasks.note_arrival(2, 35, 0);  // sent at the decision
  sim.wait_until(36);
  tasks.start(2, 0, 36, 41);
  CHECK(tasks.record(2).wait_ns == WaitTimes{20, 3, 0, 13, 0});
}

TEST_CASE("TaskTable: the setup by a worker counts as a wait for the host", "[sim]") {
  PartCase sim = join_of_two();
  sim.arrive();
  sim.wait_until(9);
  sim.tasks->start(0, 1, 4, 19);  // picked at 4, set up until 9
  CHECK(sim.tasks->record(0).wait_ns == WaitTimes{0, 0, 5, 4, 0});
  CHECK(sim.tasks->record(0).queue == 1);
}

TEST_CASE("TaskTimes: a draw moves the cost towards the bound on its side", "[sim]") {
  PartCase sim(1);
  sim.task(100);
  sim.task(100);
  sim.build();
  for (const uint32_t row : {0U, 1U}) {
    sim.costs.at(row, DeviceId(0)).low_ns = 90;
    sim.costs.at(row, DeviceId(0)).high_ns = 150;
  }
  CostNoise noise;
  CHECK(TaskTimes(sim.graph, sim.costs, noise).of(0, 0) == 100);
  constexpr float kNinetieth = 1.2815516F;
  noise.deviations = {kNinetieth, -kNinetieth};
  const TaskTimes times(sim.graph, sim.costs, noise);
  CHECK(times.of(0, 0) == 150);  // the 90th percentile is the upper bound
  CHECK(times.of(1, 0) == 90);
  noise.deviations = {-1000.0F, 0.0F};
  CHECK(times.of(0, 0) == 0);  // no task takes negative time
  CHECK(times.of(1, 0) == 100);
  sim.costs.at(0, DeviceId(0)).high_ns = 0;  // no interval
  CHECK(times.of(0, 0) == 100);
}
