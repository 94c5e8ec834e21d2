// Requests, arrivals and totals of transfers.
#include "sim/data/transfers.h"

#include <algorithm>
#include <utility>

namespace dfsim::inline sim {

namespace {

// The closed form of FIFO links does not cover rates that change while a transfer is under way, nor
// a device that computes more slowly while a transfer holds its wires.
bool needs_flows(const Platform& platform) {
  return std::any_of(platform.links.begin(), platform.links.end(),
                     [](const LinkSpec& l) { return l.sharing == LinkSharing::kFair; }) ||
         std::any_of(platform.devices.begin(), platform.devices.end(),
                     [](const DeviceSpec& d) { return d.overlap_slowdown > 1; });
}

}  // namespace

Transfers::Transfers(const ExecGraph& graph, const Platform& platform, const RequestSlots& slots,
                     Timeline& timeline, SimListener* listener)
    : graph_(graph),
      platform_(platform),
      slots_(slots),
      timeline_(timeline),
      listener_(listener),
      routes_(platform),
      ends_(std::max(static_cast<uint32_t>(platform.devices.size()), routes_.host() + 1)),
      fifo_(platform, routes_, ends_),
      in_flight_(static_cast<size_t>(ends_) * ends_),
      use_(in_flight_.size()) {
  if (needs_flows(platform)) {
    flows_.emplace(platform, routes_, ends_);
  }
  for (uint32_t from = 0; from < ends_; ++from) {
    for (uint32_t to = 0; to < ends_; ++to) {
      use_[from * ends_ + to].reachable = routes_.route(from, to).reachable;
    }
  }
}

inline uint32_t Transfers::take_id(const Shipment& shipment) {
  const Transfer transfer{shipment, kNoIndex, timeline_.now_ns(), 0, 0};
  const uint32_t id = free_;
  if (id == kNoIndex) {
    transfers_.push_back(transfer);
    return static_cast<uint32_t>(transfers_.size() - 1);
  }
  free_ = transfers_[id].next;
  transfers_[id] = transfer;
  return id;
}

// Of a booked transfer: two events that the listener hears of.
void Transfers::schedule_reports(const Shipment& shipment, const FifoNetwork::Timing& timing) {
  const uint32_t id = take_id(shipment);
  timeline_.push(timing.begin_ns, kTransferStarted, id);
  transfers_[id].sequence = timeline_.take_sequence();
  timeline_.push_at(timing.arrive_ns, transfers_[id].sequence, kTransferFinished, id);
}

void Transfers::start(const Shipment& shipment) {
  const uint32_t id = take_id(shipment);
  Transfer& transfer = transfers_[id];
  const Bytes bytes = bytes_of(shipment);
  const uint32_t route = route_of(shipment);
  RouteUse& use = use_[route];
  ++use.transfers;
  (shipment.purpose == TransferPurpose::kInput ? use.input_bytes : use.spill_bytes) += bytes;
  if (flows_.has_value()) {
    transfer.sequence = timeline_.take_sequence();
    flows_->request(id, route, bytes, timeline_.now_ns(), steps_);
    return;
  }
  const FifoNetwork::Timing timing = fifo_.book(route, bytes, timeline_.now_ns());
  if (listener_ != nullptr) {
    timeline_.push(timing.begin_ns, kTransferStarted, id);
  }
  transfer.arrive_ns = timing.arrive_ns;
  transfer.sequence = timeline_.take_sequence();
  if (!fifo_.ordered(route)) {
    return timeline_.push_at(transfer.arrive_ns, transfer.sequence, kTransferArrived, id);
  }
  // They arrive in the order of request: only the first one needs an event.
  RouteQueue& queue = in_flight_[route];
  if (queue.first == kNoIndex) {
    queue.first = id;
    timeline_.push_at(transfer.arrive_ns, transfer.sequence, kRouteArrived, route);
  } else {
    transfers_[queue.last].next = id;
  }
  queue.last = id;
}

uint32_t Transfers::take_first(uint32_t route) {
  RouteQueue& queue = in_flight_[route];
  const uint32_t id = queue.first;
  queue.first = transfers_[id].next;
  if (queue.first != kNoIndex) {
    const Transfer& next = transfers_[queue.first];
    timeline_.push_at(next.arrive_ns, next.sequence, kRouteArrived, route);
  }
  return id;
}

Shipment Transfers::finish(uint32_t id) {
  if (listener_ != nullptr) {
    listener_->on_transfer_finished(event_of(id));
  }
  transfers_[id].next = std::exchange(free_, id);
  return transfers_[id].what;
}

void Transfers::tell_started(uint32_t transfer) {
  if (listener_ != nullptr) {
    listener_->on_transfer_started(event_of(transfer));
  }
}

TransferEvent Transfers::event_of(uint32_t id) const {
  const Transfer& transfer = transfers_[id];
  const Shipment& what = transfer.what;
  const auto end = [this](uint32_t e) {
    return e < platform_.devices.size() ? DeviceId(e) : DeviceId();
  };
  return {timeline_.now_ns(),    transfer.sequence,
          DataId(what.data),     slots_.request_of(what.slot),
          end(what.from),        end(what.to),
          bytes_of(what),        routes_.route(what.from, what.to).hops,
          transfer.requested_ns, what.purpose};
}

void Transfers::sum_up(SimResult& result) const {
  for (uint32_t from = 0; from < ends_; ++from) {
    for (uint32_t to = 0; to < ends_; ++to) {
      const RouteUse& use = use_[from * ends_ + to];
      const Bytes bytes = use.input_bytes + use.spill_bytes;
      result.transfers += use.transfers;
      result.bytes_moved += use.input_bytes;
      result.bytes_spilled += use.spill_bytes;
      if (from < result.devices.size()) {
        result.devices[from].bytes_out += bytes;
      }
      if (to < result.devices.size()) {
        result.devices[to].bytes_in += bytes;
      }
      for (const Hop& hop : routes_.route(from, to).hops) {
        LinkUse& link = result.links[hop.link.index()];
        link.bytes += bytes;
        link.transfers += use.transfers;
        link.busy_ns += occupancy_ns(1e9 / platform_.links[hop.link.index()].bytes_per_s, bytes);
      }
    }
  }
}

}  // namespace dfsim::inline sim
