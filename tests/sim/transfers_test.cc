#include "sim/data/transfers.h"

#include <catch2/catch.hpp>

#include "tests/sim/part_case.h"

using namespace dfsim;

namespace {

// Two devices, one link of 1 byte/ns, and data items of 100 and 50 bytes on d0.
PartCase two_items() {
  PartCase sim(2);
  const TaskId a = sim.task(1, 0);
  const TaskId b = sim.task(1, 1);
  sim.edge(a, b, 100);
  sim.edge(a, b, 50);
  return sim;
}

Shipment shipment_of(uint32_t data) {
  Shipment shipment;
  shipment.data = data;
  shipment.from = 0;
  shipment.to = 1;
  return shipment;
}

// What a listener hears of transfers.
class Heard final : public SimListener {
 public:
  void on_transfer_started(const TransferEvent& event) override { starts.push_back(event); }
  void on_transfer_finished(const TransferEvent& event) override { ends.push_back(event); }
  std::vector<TransferEvent> starts;
  std::vector<TransferEvent> ends;
};

}  // namespace

TEST_CASE("Transfers: a booked transfer needs no event, and counts as one", "[sim]") {
  PartCase sim = two_items();
  sim.arrive();
  Transfers transfers(sim.graph, sim.platform, *sim.slots, sim.timeline, nullptr);
  REQUIRE(transfers.arrivals_known());
  CHECK(transfers.book(shipment_of(0)).time_ns == 100);
  const Transfers::Arrival second = transfers.book(shipment_of(1));
  CHECK(second.time_ns == 150);  // one transfer at a time
  CHECK(sim.timeline.empty());
  CHECK(sim.timeline.events() == 2);
}

TEST_CASE("Transfers: transfers of a route arrive in the order of request", "[sim]") {
  PartCase sim = two_items();
  sim.arrive();
  Transfers transfers(sim.graph, sim.platform, *sim.slots, sim.timeline, nullptr);
  transfers.start(shipment_of(0));
  transfers.start(shipment_of(1));
  const Event first = sim.next_event();
  CHECK(first.kind == kRouteArrived);
  CHECK(first.time_ns == 100);
  CHECK(transfers.finish(transfers.take_first(first.payload)).data == 0);
  const Event second = sim.next_event();
  CHECK(second.time_ns == 150);
  CHECK(transfers.finish(transfers.take_first(second.payload)).data == 1);
  CHECK(sim.timeline.empty());
}

TEST_CASE("Transfers: a fair link shares its bandwidth, instant by instant", "[sim]") {
  PartCase sim = two_items();
  sim.platform.links[0].sharing = LinkSharing::kFair;
  sim.arrive();
  Transfers transfers(sim.graph, sim.platform, *sim.slots, sim.timeline, nullptr);
  CHECK_FALSE(transfers.arrivals_known());
  transfers.start(shipment_of(0));
  transfers.start(shipment_of(1));
  REQUIRE(transfers.steps().size() == 2);
  CHECK(transfers.steps()[0].step == FlowStep::kStarted);
  transfers.steps().clear();
  CHECK(transfers.next_ns() == 0);  // the latencies, of 0, have passed
  transfers.advance();
  CHECK(transfers.next_ns() == 100);  // 50 bytes at half the rate
  sim.timeline.move_to(100);
  transfers.advance();
  REQUIRE(transfers.steps().size() == 2);
  CHECK(transfers.steps()[1].step == FlowStep::kArrived);
  CHECK(transfers.finish(transfers.steps()[1].transfer).data == 1);
  transfers.steps().clear();
  CHECK(transfers.next_ns() == 150);  // the other 50 at the full rate
}

TEST_CASE("Transfers: the listener hears of starts and finishes, also of booked ones", "[sim]") {
  PartCase sim = two_items();
  sim.arrive();
  Heard heard;
  Transfers transfers(sim.graph, sim.platform, *sim.slots, sim.timeline, &heard);
  transfers.book(shipment_of(0));
  transfers.book(shipment_of(1));
  while (!sim.timeline.empty()) {
    const Event event = sim.next_event();
    if (event.kind == kTransferStarted) {
      transfers.tell_started(event.payload);
    } else {
      transfers.tell_finished(event.payload);
    }
  }
  REQUIRE(heard.starts.size() == 2);
  REQUIRE(heard.ends.size() == 2);
  CHECK(heard.starts[1].time_ns == 100);
  CHECK(heard.starts[1].requested_ns == 0);
  CHECK(heard.ends[1].time_ns == 150);
  CHECK(heard.ends[1].id == heard.starts[1].id);
  CHECK(heard.ends[1].bytes == 50);
}

TEST_CASE("Transfers: totals keep inputs and spilled tensors apart", "[sim]") {
  PartCase sim = two_items();
  sim.arrive();
  Transfers transfers(sim.graph, sim.platform, *sim.slots, sim.timeline, nullptr);
  transfers.book(shipment_of(0));
  Shipment spill = shipment_of(1);
  spill.purpose = TransferPurpose::kSpill;
  transfers.start(spill);
  SimResult result;
  result.devices.resize(2);
  result.links.resize(1);
  transfers.sum_up(result);
  CHECK(result.transfers == 2);
  CHECK(result.bytes_moved == 100);
  CHECK(result.bytes_spilled == 50);
  CHECK(result.devices[0].bytes_out == 150);
  CHECK(result.devices[1].bytes_in == 150);
  CHECK(result.links[0].busy_ns == 150);
}

TEST_CASE("Transfers: ends that no link joins are not reachable", "[sim]") {
  PartCase sim = two_items();
  sim.platform.links.clear();
  sim.arrive();
  const Transfers transfers(sim.graph, sim.platform, *sim.slots, sim.timeline, nullptr);
  CHECK_FALSE(transfers.reachable(0, 1));
}
