#include "sim/data/input_sender.h"

#include <catch2/catch.hpp>

#include "tests/sim/memory_case.h"

using namespace dfsim;

TEST_CASE("InputSender: where arrivals are known an input is booked, once per device", "[sim]") {
  MemoryCase sim(2);
  const TaskId a = sim.task(1, 0);
  const TaskId b = sim.task(1, 1);
  const TaskId c = sim.task(1, 1);
  const DataId data = sim.edge(a, b, 100);
  sim.builder.add_edge(data, c);
  sim.arrive_with(MemoryPolicy::kOff);
  CHECK(sim.sender->send(0, 0, 0, 1));
  CHECK(sim.sender->send(0, 1, 0, 1));
  sim.sender->sent_outputs(0, sim.graph.out_edges(TaskId(0)));
  CHECK(sim.tasks->state(1).arrival_ns == 100);
  CHECK(sim.tasks->state(2).arrival_ns == 100);
  CHECK(sim.timeline.events() == 1);  // one transfer
  CHECK(sim.timeline.empty());
}

TEST_CASE("InputSender: data with one reader needs no copy on fair links", "[sim]") {
  MemoryCase sim(2);
  sim.platform.links[0].sharing = LinkSharing::kFair;
  const TaskId a = sim.task(1, 0);
  sim.edge(a, sim.task(1, 1), 100);
  sim.arrive_with(MemoryPolicy::kOff);
  CHECK_FALSE(sim.sender->send(0, 0, 0, 1));
  REQUIRE(sim.transfers->steps().size() == 1);
  const Shipment& shipment = sim.transfers->shipment(sim.transfers->steps()[0].transfer);
  CHECK(shipment.edge == 0);
  CHECK(shipment.copy == kNoIndex);
}

TEST_CASE("InputSender: data of no bytes is there at once", "[sim]") {
  MemoryCase sim(2);
  const TaskId a = sim.task(1, 0);
  sim.edge(a, sim.task(1, 1), 0);
  sim.arrive_with(MemoryPolicy::kOff);
  CHECK(sim.sender->send(0, 0, 0, 1));
  CHECK(sim.timeline.events() == 0);
}

TEST_CASE("InputSender: a reader that comes late finds the copy on its device", "[sim]") {
  MemoryCase sim(2);
  const TaskId a = sim.task(1, 0);
  const TaskId b = sim.task(1, 1);
  const TaskId c = sim.task(1, 1);
  const DataId data = sim.edge(a, b, 100);
  sim.builder.add_edge(data, c);
  sim.arrive_with(MemoryPolicy::kTrack);
  sim.run_task(0);
  CHECK_FALSE(sim.sender->send(0, 0, 0, 1));
  CHECK(sim.next_event().time_ns == 100);
  CHECK(sim.copies->arrive(sim.copies->find(0, 0, 1)) == 0);
  sim.lifetimes->reader_served(0, 0);
  CHECK(sim.memory->in_use(0) == 100);  // c has not been served yet
  CHECK(sim.sender->send(0, 1, 0, 1));
  CHECK(sim.memory->in_use(0) == 0);
  CHECK(sim.timeline.empty());
}

TEST_CASE("InputSender: a copy without room waits, and goes when memory is freed", "[sim]") {
  MemoryCase sim(2);
  sim.platform.devices[1].memory_bytes = 120;
  const TaskId a = sim.task(1, 0);
  sim.edge(a, sim.task(1, 1), 100);
  sim.arrive_with(MemoryPolicy::kWait);
  sim.run_task(0);
  sim.memory->allocate(1, 50, {MemoryUse::kTensor, 0, 0});
  CHECK_FALSE(sim.sender->send(0, 0, 0, 1));
  CHECK(sim.memory->waiting_copies(1).size() == 1);
  CHECK(sim.timeline.empty());
  sim.sender->send_waiting(1);
  CHECK(sim.memory->waiting_copies(1).size() == 1);  // still no room
  sim.memory->release(1, 50, {MemoryUse::kTensor, 0, 0});
  sim.memory->block(1, 1);
  sim.sender->send_waiting(1);
  CHECK(sim.memory->waiting_copies(1).size() == 1);  // a task comes first
  sim.memory->unblock(1, 1);
  sim.sender->send_waiting(1);
  CHECK(sim.memory->waiting_copies(1).empty());
  CHECK(sim.memory->in_use(1) == 100);
  CHECK(sim.timeline.next_ns() == 100);
}

TEST_CASE("InputSender: spilled inputs of the next task come back from the host", "[sim]") {
  MemoryCase sim(1);
  sim.link("host", "d0");
  sim.platform.devices[0].memory_bytes = 100;
  const TaskId a = sim.task(1);
  const TaskId b = sim.task(1, 0, 80);
  const TaskId c = sim.task(1);
  sim.edge(a, c, 40);
  static_cast<void>(b);
  sim.arrive_with(MemoryPolicy::kSpill);
  sim.run_task(0);
  CHECK_FALSE(sim.spill->make_room(0, 80, 1));
  Event event = sim.next_event();
  const uint32_t out = sim.transfers->take_first(event.payload);
  CHECK(sim.spill->spilled(sim.transfers->finish(out)) == SpillEnd::kOnHost);
  CHECK(sim.memory->in_use(0) == 0);
  sim.sender->fetch_inputs(2, 0);
  CHECK(sim.memory->in_use(0) == 40);
  event = sim.next_event();
  const Shipment back = sim.transfers->finish(sim.transfers->take_first(event.payload));
  CHECK(back.purpose == TransferPurpose::kFetch);
  CHECK(event.time_ns == 80);
}

TEST_CASE("InputSender: devices that no link joins are an error", "[sim]") {
  MemoryCase sim(2);
  sim.platform.links.clear();
  const TaskId a = sim.task(1, 0);
  sim.edge(a, sim.task(1, 1), 100);
  sim.arrive_with(MemoryPolicy::kOff);
  CHECK_FALSE(sim.sender->send(0, 0, 0, 1));
  CHECK(sim.error().find("no links lead there") != std::string::npos);
}
