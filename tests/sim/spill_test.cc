#include "sim/data/spill.h"

#include <catch2/catch.hpp>

#include "tests/sim/memory_case.h"

using namespace dfsim;

namespace {

// d0 holds 100 bytes and is joined to the host by 1 byte/ns. Tasks 0 and 1 make 40 bytes each,
// which tasks 3 and 2 read; task 2 needs 30 bytes of workspace on top.
MemoryCase two_tensors() {
  MemoryCase sim(1);
  sim.link("host", "d0");
  sim.platform.devices[0].memory_bytes = 100;
  const TaskId a = sim.task(1);
  const TaskId b = sim.task(1);
  const TaskId c = sim.task(1, 0, 30);
  const TaskId d = sim.task(1);
  sim.edge(a, d, 40);
  sim.edge(b, c, 40);
  sim.arrive_with(MemoryPolicy::kSpill);
  for (const uint32_t task : {0U, 1U}) {
    sim.run_task(task);
  }
  sim.tasks->input_came(2);
  sim.tasks->input_came(3);
  return sim;
}

// The next transfer arrives.
Shipment next_shipment(MemoryCase& sim) {
  const Event event = sim.next_event();
  REQUIRE(event.kind == kRouteArrived);
  return sim.transfers->finish(sim.transfers->take_first(event.payload));
}

}  // namespace

TEST_CASE("Spill: the tensor whose reader comes last leaves, and its reader misses it", "[sim]") {
  MemoryCase sim = two_tensors();
  CHECK(sim.memory->in_use(0) == 80);
  CHECK_FALSE(sim.spill->make_room(0, 30, 2));  // on its way out
  CHECK_FALSE(sim.spill->make_room(0, 30, 2));  // asked again: nothing more has to go
  CHECK(sim.spill->produced_data_on_device(1));
  CHECK_FALSE(sim.spill->produced_data_on_device(0));
  CHECK(sim.tasks->state(3).inputs_left == 1);
  const Shipment out = next_shipment(sim);
  CHECK(out.data == 0);
  CHECK(sim.timeline.now_ns() == 40);
  CHECK(sim.timeline.empty());
  CHECK(sim.spill->spilled(out) == SpillEnd::kOnHost);
  CHECK(sim.memory->in_use(0) == 40);
  CHECK(sim.spill->on_host(0, 0));
  CHECK(sim.spill->host_peak() == 40);
  CHECK(sim.spill->make_room(0, 30, 2));
}

TEST_CASE("Spill: a tensor comes back, and the second time it leaves without a transfer", "[sim]") {
  MemoryCase sim = two_tensors();
  sim.spill->make_room(0, 30, 2);
  sim.spill->spilled(next_shipment(sim));
  sim.spill->fetch(0, 0);
  CHECK(sim.memory->in_use(0) == 80);
  CHECK_FALSE(sim.spill->on_host(0, 0));
  const Shipment back = next_shipment(sim);
  CHECK(sim.timeline.now_ns() == 80);
  sim.spill->fetched(back);
  CHECK(sim.spill->produced_data_on_device(0));
  CHECK(sim.spill->make_room(0, 30, 2));  // at once: the host still has it
  CHECK(sim.timeline.empty());
  CHECK(sim.spill->on_host(0, 0));
}

TEST_CASE("Spill: inputs of the task and pinned tensors stay", "[sim]") {
  MemoryCase sim = two_tensors();
  sim.spill->pin_inputs(3, 0, 1);
  CHECK_FALSE(sim.spill->make_room(0, 30, 2));  // item 0 is pinned, item 1 is an input
  CHECK(sim.timeline.empty());
  sim.spill->pin_inputs(3, 0, -1);
  sim.spill->make_room(0, 30, 2);
  CHECK_FALSE(sim.timeline.empty());
}

TEST_CASE("Spill: a tensor that is used while it leaves stays on the device", "[sim]") {
  MemoryCase sim = two_tensors();
  sim.spill->make_room(0, 30, 2);
  sim.spill->pin_inputs(3, 0, 1);
  CHECK(sim.spill->spilled(next_shipment(sim)) == SpillEnd::kStillNeeded);
  CHECK(sim.spill->produced_data_on_device(0));
  CHECK(sim.memory->in_use(0) == 80);
}

TEST_CASE("Spill: a tensor that dies while it leaves is dropped when it has left", "[sim]") {
  MemoryCase sim = two_tensors();
  sim.spill->make_room(0, 30, 2);
  CHECK_FALSE(sim.spill->drop_produced(0, 0));
  const Shipment out = next_shipment(sim);
  CHECK(sim.spill->spilled(out) == SpillEnd::kDead);
  sim.lifetimes->drop(0, 0);
  CHECK(sim.memory->in_use(0) == 40);
}

TEST_CASE("Spill: no links to the host and a full host are errors", "[sim]") {
  MemoryCase sim = two_tensors();
  SECTION("full host") {
    sim.platform.host.memory_bytes = 39;
    sim.spill->make_room(0, 30, 2);
    CHECK(sim.error().find("the host is out of memory") != std::string::npos);
  }
  SECTION("no links") {
    MemoryCase alone(2);
    alone.platform.links.clear();
    alone.link("host", "d1");
    alone.platform.devices[0].memory_bytes = 100;
    const TaskId a = alone.task(1);
    alone.edge(a, alone.task(1), 40);
    alone.task(1, 0, 80);
    alone.arrive_with(MemoryPolicy::kSpill);
    alone.run_task(0);
    CHECK_FALSE(alone.spill->make_room(0, 80, 2));
    CHECK(alone.error().find("no links lead there and back") != std::string::npos);
  }
}
