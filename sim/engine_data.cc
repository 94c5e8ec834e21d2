#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/engine.h"

namespace dfsim::inline sim {

uint32_t Engine::find_copy(uint32_t data_instance, uint32_t device) const {
  uint32_t copy = copy_head_[data_instance];
  while (copy != kNone && copies_[copy].device != device) {
    copy = copies_[copy].next;
  }
  return copy;
}

// The reader of `edge` runs on `to`, the data was produced on `from`.
void Engine::send(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to) {
  const uint32_t data = graph_.edges()[edge].data.value();
  const uint32_t reader = slot * task_count_ + graph_.edges()[edge].to.value();
  if (graph_.data_bytes(DataId(data)) == 0) {
    if (memory_) {
      reader_served(slot, data);
    }
    return input_arrived(reader);
  }
  if (arrivals_known_) {
    return send_booked(slot, edge, from, to);
  }
  if (!look_for_copies_) {
    return send_unshared(slot, edge, from, to);
  }
  uint32_t id = find_copy(data_instance(slot, data), to);
  if (id == kNone) {
    id = new_copy(slot, data, from, to);
    if (id == kNone) {
      return;
    }
  }
  Copy& copy = copies_[id];
  ++copy.readers_left;
  if (!copy.present) {
    if (!next_reader_.empty()) {
      next_reader_[slot * graph_.edge_count() + edge] = copy.first_reader;
    }
    copy.first_reader = edge;
    return;
  }
  const bool on_device = copy.at.home == Home::kOnDevice;
  if (memory_) {
    reader_served(slot, data);
  }
  if (on_device) {
    input_arrived(reader);
  }
}

// Where arrivals are known: notes when the data will be there.
void Engine::send_booked(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to) {
  const uint32_t data = graph_.edges()[edge].data.value();
  if (!check_route(data, from, to)) {
    return;
  }
  Arrival arrival;
  if (shared_data_) {
    uint32_t& head = copy_head_[data_instance(slot, data)];
    uint32_t id = head;
    while (id != kNone && arrivals_[id].device != to) {
      id = arrivals_[id].next;
    }
    if (id == kNone) {
      arrivals_.push_back(book(slot, data, from, to));
      arrivals_.back().next = std::exchange(head, static_cast<uint32_t>(arrivals_.size() - 1));
      id = head;
    }
    arrival = arrivals_[id];
  } else {
    arrival = book(slot, data, from, to);
  }
  const uint32_t reader = slot * task_count_ + graph_.edges()[edge].to.value();
  TaskState& state = tasks_[reader];
  if (arrival.time_ns >= state.arrival_ns) {
    // Of two at the same instant the later requested one comes later.
    state.arrival_sequence = arrival.time_ns > state.arrival_ns
                                 ? arrival.sequence
                                 : std::max(state.arrival_sequence, arrival.sequence);
    state.arrival_ns = arrival.time_ns;
  }
  input_arrived(reader);
}

Engine::Arrival Engine::book(uint32_t slot, uint32_t data, uint32_t from, uint32_t to) {
  const uint32_t route = from * ends_ + to;
  const Bytes bytes = graph_.data_bytes(DataId(data));
  RouteUse& use = route_use_[route];
  ++use.transfers;
  use.input_bytes += bytes;
  ++event_count_;  // its arrival
  const FifoNetwork::Timing timing = fifo_.book(route, bytes, now_);
  if (listener_ != nullptr) {
    Transfer transfer;
    transfer.data = data;
    transfer.slot = slot;
    transfer.from = from;
    transfer.to = to;
    transfer.requested_ns = now_;
    const uint32_t id = take_transfer(transfer);
    events_.push(timing.begin_ns, kTransferStarted, id);
    transfers_[id].sequence = events_.take_sequence();
    events_.push({timing.arrive_ns, transfers_[id].sequence, kTransferFinished, id});
  }
  return {to, kNone, timing.arrive_ns, events_.take_sequence()};
}

// Data with one reader, where copies are not kept: the transfer is all there is to remember.
void Engine::send_unshared(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to) {
  const uint32_t data = graph_.edges()[edge].data.value();
  if (!check_route(data, from, to)) {
    return;
  }
  Transfer transfer;
  transfer.data = data;
  transfer.slot = slot;
  transfer.edge = edge;
  transfer.from = from;
  transfer.to = to;
  start_transfer(transfer);
}

void Engine::unshared_arrived(uint32_t slot, uint32_t edge) {
  const uint32_t reader = slot * task_count_ + graph_.edges()[edge].to.value();
  tasks_[reader].arrival_ns = now_;
  input_arrived(reader);
}

bool Engine::no_route(uint32_t data, uint32_t from, uint32_t to) {
  fail(invalid_input(fmt::format(
      "task '{}' on '{}' has data for '{}', but no links lead there; add a link between them",
      printable(graph_.name(graph_.data_producer(DataId(data)))),
      printable(platform_.devices[from].name), printable(platform_.devices[to].name))));
  return false;
}

uint32_t Engine::new_copy(uint32_t slot, uint32_t data, uint32_t from, uint32_t to) {
  if (!check_route(data, from, to)) {
    return kNone;
  }
  auto id = static_cast<uint32_t>(copies_.size());
  if (free_copies_.empty()) {
    copies_.emplace_back();
  } else {
    id = free_copies_.back();
    free_copies_.pop_back();
  }
  Copy& copy = copies_[id];
  copy = Copy{};
  copy.data = data;
  copy.slot = slot;
  copy.device = to;
  copy.next = std::exchange(copy_head_[data_instance(slot, data)], id);
  if (memory_ && must_wait_for_memory(to, graph_.data_bytes(DataId(data)))) {
    devices_[to].waiting_copies.push_back(id);
    freed_.push_back(to);  // the task that runs next may need it at once
  } else {
    send_copy(id);
  }
  return id;
}

void Engine::send_copy(uint32_t id) {
  const Copy& copy = copies_[id];
  if (memory_) {
    allocate(copy.device, graph_.data_bytes(DataId(copy.data)), MemoryUse::kCopy, copy.slot,
             copy.data);
  }
  Transfer transfer;
  transfer.data = copy.data;
  transfer.slot = copy.slot;
  transfer.copy = id;
  transfer.from = producer_device(copy.slot, copy.data);
  transfer.to = copy.device;
  if (spill_) {
    Location& home = homes_[copy.data];
    if (home.home == Home::kOnHost || home.home == Home::kFetching) {
      transfer.from = routes_.host();
    } else {
      ++home.pins;
    }
  }
  start_transfer(transfer);
}

// The id of a new transfer, `what` to begin with.
uint32_t Engine::take_transfer(const Transfer& what) {
  const uint32_t id = free_transfer_;
  if (id == kNone) {
    transfers_.push_back(what);
    return static_cast<uint32_t>(transfers_.size() - 1);
  }
  free_transfer_ = transfers_[id].next;
  transfers_[id] = what;
  return id;
}

void Engine::start_transfer(const Transfer& what) {
  const uint32_t id = take_transfer(what);
  Transfer& transfer = transfers_[id];
  const Bytes bytes = graph_.data_bytes(DataId(transfer.data));
  const uint32_t route = transfer.from * ends_ + transfer.to;
  RouteUse& use = route_use_[route];
  ++use.transfers;
  (transfer.purpose == TransferPurpose::kInput ? use.input_bytes : use.spill_bytes) += bytes;
  transfer.requested_ns = now_;
  if (flows_.has_value()) {
    transfer.sequence = events_.take_sequence();
    flows_->request(id, route, bytes, now_, flow_events_);
    return;
  }
  const FifoNetwork::Timing timing = fifo_.book(route, bytes, now_);
  if (listener_ != nullptr) {
    events_.push(timing.begin_ns, kTransferStarted, id);
  }
  transfer.arrive_ns = timing.arrive_ns;
  transfer.sequence = events_.take_sequence();
  if (!fifo_.ordered(route)) {
    return events_.push({transfer.arrive_ns, transfer.sequence, kTransferArrived, id});
  }
  // They arrive in the order of request: only the first one needs an event.
  RouteQueue& queue = in_flight_[route];
  if (queue.first == kNone) {
    queue.first = id;
    events_.push({transfer.arrive_ns, transfer.sequence, kRouteArrived, route});
  } else {
    transfers_[queue.last].next = id;
  }
  queue.last = id;
}

void Engine::pop_route(uint32_t route) {
  RouteQueue& queue = in_flight_[route];
  const uint32_t id = queue.first;
  queue.first = transfers_[id].next;
  if (queue.first != kNone) {
    const Transfer& next = transfers_[queue.first];
    events_.push({next.arrive_ns, next.sequence, kRouteArrived, route});
  }
  transfer_arrived(id);
}

void Engine::handle_flows() {
  for (size_t i = 0; i < flow_events_.size(); ++i) {  // grows: arrivals start other transfers
    const FlowEvent event = flow_events_[i];
    const Transfer& transfer = transfers_[event.transfer];
    switch (event.step) {
      case FlowStep::kStarted:
        change_speed(transfer.from, 1);
        change_speed(transfer.to, 1);
        if (listener_ != nullptr) {
          transfer_started(event.transfer);
        }
        break;
      case FlowStep::kReleased:
        change_speed(transfer.from, -1);
        change_speed(transfer.to, -1);
        break;
      case FlowStep::kArrived:
        transfer_arrived(event.transfer);
        break;
    }
  }
  flow_events_.clear();
}

TransferEvent Engine::transfer_event(uint32_t id) const {
  const Transfer& transfer = transfers_[id];
  const auto end = [this](uint32_t e) { return e < devices_.size() ? DeviceId(e) : DeviceId(); };
  return {now_,
          transfer.sequence,
          DataId(transfer.data),
          slots_[transfer.slot].request,
          end(transfer.from),
          end(transfer.to),
          graph_.data_bytes(DataId(transfer.data)),
          routes_.route(transfer.from, transfer.to).hops,
          transfer.requested_ns,
          transfer.purpose};
}

void Engine::transfer_started(uint32_t transfer) {
  listener_->on_transfer_started(transfer_event(transfer));
}

// What went over each route, as totals of the result, its devices and links.
void Engine::sum_up_transfers() {
  for (uint32_t from = 0; from < ends_; ++from) {
    for (uint32_t to = 0; to < ends_; ++to) {
      const RouteUse& use = route_use_[from * ends_ + to];
      const Bytes bytes = use.input_bytes + use.spill_bytes;
      result_.transfers += use.transfers;
      result_.bytes_moved += use.input_bytes;
      result_.bytes_spilled += use.spill_bytes;
      if (from < devices_.size()) {
        result_.devices[from].bytes_out += bytes;
      }
      if (to < devices_.size()) {
        result_.devices[to].bytes_in += bytes;
      }
      for (const Hop& hop : routes_.route(from, to).hops) {
        LinkUse& link = result_.links[hop.link.index()];
        link.bytes += bytes;
        link.transfers += use.transfers;
        link.busy_ns += occupancy_ns(1e9 / platform_.links[hop.link.index()].bytes_per_s, bytes);
      }
    }
  }
}

// Tells the listener; the transfer's place may be taken by another afterwards.
void Engine::transfer_finished(uint32_t id) {
  if (listener_ != nullptr) {
    listener_->on_transfer_finished(transfer_event(id));
  }
  transfers_[id].next = std::exchange(free_transfer_, id);
}

void Engine::transfer_arrived(uint32_t id) {
  const Transfer transfer = transfers_[id];
  transfer_finished(id);
  if (transfer.edge != kNone) {
    return unshared_arrived(transfer.slot, transfer.edge);
  }
  switch (transfer.purpose) {
    case TransferPurpose::kInput:
      if (spill_ && transfer.from == producer_device(transfer.slot, transfer.data)) {
        --homes_[transfer.data].pins;
        freed_.push_back(transfer.from);
      }
      return copy_arrived(transfer.copy);
    case TransferPurpose::kSpill:
      return spilled(transfer);
    case TransferPurpose::kFetch:
      return fetched(transfer);
  }
}

void Engine::copy_arrived(uint32_t id) {
  const uint32_t data = copies_[id].data;
  const uint32_t slot = copies_[id].slot;
  const uint32_t first_reader = std::exchange(copies_[id].first_reader, kNone);
  copies_[id].present = true;
  if (!keep_copies_) {
    free_copies_.push_back(id);
  }
  if (spill_) {
    came_to_device(data, copies_[id].device);
  }
  for (uint32_t edge = first_reader; edge != kNone;) {
    const uint32_t next =
        next_reader_.empty() ? kNone : next_reader_[slot * graph_.edge_count() + edge];
    const uint32_t reader = slot * task_count_ + graph_.edges()[edge].to.value();
    tasks_[reader].arrival_ns = now_;
    if (memory_) {
      reader_served(slot, data);
    }
    input_arrived(reader);
    edge = next;
  }
}

}  // namespace dfsim::inline sim
