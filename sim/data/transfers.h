// Transfers: data under way between devices and the host's memory, over the network of the
// platform.
//
// Links that serve transfers one at a time fix the arrival of a transfer when it is requested
// (FifoNetwork). Links that share their bandwidth do not (FlowNetwork): then the event loop asks
// for the next instant of the network and advances it. Transfers know routes and bytes, but not
// what becomes of the data: the event loop hands each arrival to the parts that wait for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graphs/ir/exec_graph.h"
#include "hardware/platform.h"
#include "hardware/route.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/timeline.h"
#include "sim/listener.h"
#include "sim/network/fifo_network.h"
#include "sim/network/flow_network.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

// What is sent: for kInput a copy, or the input of a single edge; for kSpill and kFetch a data
// item.
struct Shipment {
  uint32_t data = 0;
  uint32_t slot = 0;
  uint32_t copy = kNoIndex;
  uint32_t edge = kNoIndex;
  uint32_t from = 0;  // ends of the route table: devices, and the host's memory
  uint32_t to = 0;
  TransferPurpose purpose = TransferPurpose::kInput;
};

class Transfers {
 public:
  // When the last byte arrives, and at which place among the events of that instant.
  struct Arrival {
    TimeNs time_ns = 0;
    uint64_t sequence = 0;
  };

  // References must outlive the transfers; `listener` may be null.
  Transfers(const ExecGraph& graph, const Platform& platform, const RequestSlots& slots,
            Timeline& timeline, SimListener* listener);

  // The end that stands for the host's memory.
  uint32_t host() const { return routes_.host(); }
  bool reachable(uint32_t from, uint32_t to) const { return use_[from * ends_ + to].reachable; }
  // Arrivals are known when transfers are requested.
  bool arrivals_known() const { return !flows_.has_value(); }

  // Only where arrivals are known: sends without an event for the arrival. With a listener there
  // are two events that only serve the listener.
  Arrival book(const Shipment& shipment) {
    const uint32_t route = route_of(shipment);
    const Bytes bytes = bytes_of(shipment);
    RouteUse& use = use_[route];
    ++use.transfers;
    use.input_bytes += bytes;
    timeline_.count_event();  // its arrival
    const FifoNetwork::Timing timing = fifo_.book(route, bytes, timeline_.now_ns());
    if (listener_ != nullptr) {
      schedule_reports(shipment, timing);
    }
    return {timing.arrive_ns, timeline_.take_sequence()};
  }
  // Sends; an event of the timeline or a step of the network will say that it has arrived.
  void start(const Shipment& shipment);
  // The first transfer of the route is there: the id, which is to be passed to finish().
  uint32_t take_first(uint32_t route);
  // The transfer is over: says so to the listener. Its id may be used for another one.
  Shipment finish(uint32_t transfer);
  // For the listener, at the events of these names.
  void tell_started(uint32_t transfer);
  void tell_finished(uint32_t transfer) { static_cast<void>(finish(transfer)); }

  // The network of fair links. kNever where arrivals are known.
  TimeNs next_ns() { return flows_.has_value() ? flows_->next_ns(timeline_.now_ns()) : kNever; }
  void advance() { flows_->advance(timeline_.now_ns(), steps_); }
  // What happened in the network and has not been handled: the handler clears it. Grows while
  // transfers are started.
  std::vector<FlowEvent>& steps() { return steps_; }
  const Shipment& shipment(uint32_t transfer) const { return transfers_[transfer].what; }

  // Adds what went over each route to the totals of the result, its devices and its links.
  void sum_up(SimResult& result) const;

 private:
  struct Transfer {
    Shipment what;
    uint32_t next =
        kNoIndex;  // requested after this one on the same route; of free ones: a free one
    TimeNs requested_ns = 0;
    TimeNs arrive_ns = 0;
    uint64_t sequence = 0;
  };
  struct RouteQueue {
    uint32_t first = kNoIndex;
    uint32_t last = kNoIndex;
  };
  struct RouteUse {
    size_t transfers = 0;
    Bytes input_bytes = 0;
    Bytes spill_bytes = 0;
    bool reachable = false;
  };

  uint32_t route_of(const Shipment& shipment) const { return shipment.from * ends_ + shipment.to; }
  Bytes bytes_of(const Shipment& shipment) const {
    return graph_.data_bytes(DataId(shipment.data));
  }
  uint32_t take_id(const Shipment& shipment);
  void schedule_reports(const Shipment& shipment, const FifoNetwork::Timing& timing);
  TransferEvent event_of(uint32_t transfer) const;

  const ExecGraph& graph_;
  const Platform& platform_;
  const RequestSlots& slots_;
  Timeline& timeline_;
  SimListener* listener_;
  RouteTable routes_;
  uint32_t ends_;
  FifoNetwork fifo_;
  std::optional<FlowNetwork> flows_;  // instead of fifo_, where links are fair or overlap matters
  std::vector<FlowEvent> steps_;
  std::vector<RouteQueue> in_flight_;  // by route
  std::vector<RouteUse> use_;          // by route
  std::vector<Transfer> transfers_;
  uint32_t free_ = kNoIndex;  // first of a list
};

}  // namespace dfsim::inline sim
