#include "sim/data/tensor_lifetimes.h"

#include <catch2/catch.hpp>

#include "tests/sim/memory_case.h"

using namespace dfsim;

TEST_CASE("TensorLifetimes: an output lives until its last reader, a workspace for its task",
          "[sim]") {
  MemoryCase sim(1);
  const TaskId a = sim.task(1, 0, 7);
  const TaskId b = sim.task(1, 0);
  const TaskId c = sim.task(1, 0);
  const DataId data = sim.edge(a, b, 40);
  sim.builder.add_edge(data, c);
  sim.arrive_with(MemoryPolicy::kTrack);
  REQUIRE(sim.lifetimes->admit(0, 0));
  CHECK(sim.memory->in_use(0) == 47);
  sim.tasks->finish(0);
  sim.lifetimes->task_finished(0, 0);
  CHECK(sim.memory->in_use(0) == 40);
  sim.run_task(1);
  CHECK(sim.memory->in_use(0) == 40);
  sim.run_task(2);
  CHECK(sim.memory->in_use(0) == 0);
  CHECK(sim.memory->peak(0) == 47);
}

TEST_CASE("TensorLifetimes: outputs of the graph stay until the request is done", "[sim]") {
  MemoryCase sim(1);
  const TaskId a = sim.task(1);
  sim.builder.add_data(a, 30, true);
  sim.builder.add_data(a, 5, false);  // nobody reads it
  sim.arrive_with(MemoryPolicy::kTrack);
  sim.run_task(0);
  CHECK(sim.memory->peak(0) == 35);
  CHECK(sim.memory->in_use(0) == 30);
  sim.lifetimes->free_outputs(0);
  CHECK(sim.memory->in_use(0) == 0);
}

TEST_CASE("TensorLifetimes: a delivered copy frees the original, its last reader the copy",
          "[sim]") {
  MemoryCase sim(2);
  const TaskId a = sim.task(1, 0);
  const TaskId b = sim.task(1, 1);
  sim.edge(a, b, 40);
  sim.arrive_with(MemoryPolicy::kTrack);
  sim.run_task(0);
  CHECK_FALSE(sim.sender->send(0, 0, 0, 1));
  CHECK(sim.memory->in_use(0) == 40);
  CHECK(sim.memory->in_use(1) == 40);
  sim.copies->arrive(sim.copies->find(0, 0, 1));
  sim.lifetimes->reader_served(0, 0);
  CHECK(sim.memory->in_use(0) == 0);
  CHECK(sim.memory->in_use(1) == 40);
  sim.run_task(1);
  CHECK(sim.memory->in_use(1) == 0);
  CHECK(sim.copies->find(0, 0, 1) == kNoIndex);
}

TEST_CASE("TensorLifetimes: weights are allocated before the run, and every task must fit",
          "[sim]") {
  MemoryCase sim(1);
  sim.platform.devices[0].memory_bytes = 100;
  sim.task(1, 0, 30, 60);
  sim.task(1, 0, 50, 0);
  SECTION("tracked, they only count") {
    sim.arrive_with(MemoryPolicy::kTrack);
    CHECK(sim.lifetimes->allocate_weights(sim.placement).ok());
    CHECK(sim.memory->in_use(0) == 60);
    CHECK(sim.memory->resident(0) == 60);
  }
  SECTION("a task that never fits is an error when tasks wait for memory") {
    sim.arrive_with(MemoryPolicy::kWait);
    const Status status = sim.lifetimes->allocate_weights(sim.placement);
    REQUIRE_FALSE(status.ok());
    CHECK(status.message().find("task 't1' needs 110 B") != std::string::npos);
  }
}

TEST_CASE("TensorLifetimes: a decided task's weights move in once", "[sim]") {
  MemoryCase sim(1);
  sim.task(1, 0, 0, 60);
  sim.arrive_with(MemoryPolicy::kTrack);
  CHECK(sim.lifetimes->allocate_weights_of(0, 0).ok());
  CHECK(sim.lifetimes->allocate_weights_of(0, 0).ok());
  CHECK(sim.memory->in_use(0) == 60);
}

TEST_CASE("TensorLifetimes: a task without room waits, and says so when nothing will free it",
          "[sim]") {
  MemoryCase sim(1);
  sim.platform.devices[0].memory_bytes = 100;
  sim.task(1, 0, 70);
  sim.task(1, 0, 40);
  sim.arrive_with(MemoryPolicy::kWait);
  REQUIRE(sim.lifetimes->admit(0, 0));
  CHECK(sim.lifetimes->deadlock().ok());
  CHECK_FALSE(sim.lifetimes->admit(1, 0));
  CHECK(sim.memory->blocked(0) == 1);
  const Status status = sim.lifetimes->deadlock();
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find("task 't1' waits for room") != std::string::npos);
  sim.wait_until(9);
  sim.tasks->finish(0);
  sim.lifetimes->task_finished(0, 0);
  CHECK(sim.memory->anything_freed());
  CHECK(sim.lifetimes->admit(1, 0));
  sim.tasks->start(1, 0, 9, 10);
  CHECK(sim.tasks->record(1).wait_ns == WaitTimes{0, 0, 0, 0, 9});
}

TEST_CASE("TensorLifetimes: the list of holdings names the largest tensors", "[sim]") {
  MemoryCase sim(1);
  const TaskId a = sim.task(1, 0, 0, 12);
  const TaskId b = sim.task(1, 0);
  sim.edge(a, b, 40);
  sim.edge(a, b, 50);
  sim.arrive_with(MemoryPolicy::kTrack);
  CHECK(sim.lifetimes->allocate_weights(sim.placement).ok());
  sim.run_task(0);
  CHECK(sim.lifetimes->holdings(0) == "weights 12 B, output of 't0' 50 B, output of 't0' 40 B");
}
