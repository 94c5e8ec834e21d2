// The three ways of an input.
#include "sim/data/input_sender.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline sim {

InputSender::InputSender(const ExecGraph& graph, const Platform& platform,
                         const RequestSlots& slots, TaskTable& tasks, DataCopies& copies,
                         Transfers& transfers, const MemoryParts& parts, Timeline& timeline,
                         bool shared, bool keep_copies)
    : graph_(graph),
      platform_(platform),
      slots_(slots),
      tasks_(tasks),
      copies_(copies),
      transfers_(transfers),
      parts_(parts),
      timeline_(timeline),
      shared_(shared),
      forgets_(!keep_copies && shared_),
      way_(!keep_copies && transfers.arrivals_known() ? Way::kBooked
           : keep_copies || shared_                   ? Way::kCopies
                                                      : Way::kUnshared) {}

void InputSender::grow(uint32_t slot) {
  if (way_ == Way::kCopies) {
    copies_.grow(slot);
  } else if (way_ == Way::kBooked && shared_) {
    booked_.grow((slot + size_t{1}) * graph_.data_count());
  }
}

bool InputSender::fail_no_route(uint32_t data, uint32_t from, uint32_t to) {
  timeline_.fail(invalid_input(fmt::format(
      "task '{}' on '{}' has data for '{}', but no links lead there; add a link between them",
      printable(graph_.name(graph_.data_producer(DataId(data)))),
      printable(platform_.devices[from].name), printable(platform_.devices[to].name))));
  return false;
}

inline bool InputSender::send_booked(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to) {
  const uint32_t data = graph_.edges()[edge].data.value();
  if (!check_route(data, from, to)) {
    return false;
  }
  const uint32_t reader = slots_.instance(slot, graph_.edges()[edge].to.value());
  const auto data_instance = static_cast<uint32_t>(slot * graph_.data_count() + data);
  if (shared_) {
    if (const BookedArrivals::Booked* earlier = booked_.find(data_instance, to);
        earlier != nullptr) {
      tasks_.note_arrival(reader, earlier->time_ns, earlier->sequence);
      return true;
    }
  }
  const Transfers::Arrival arrival =
      transfers_.book({data, slot, kNoIndex, kNoIndex, from, to, TransferPurpose::kInput});
  if (shared_) {
    booked_.add(data_instance, to, arrival.time_ns, arrival.sequence);
  }
  tasks_.note_arrival(reader, arrival.time_ns, arrival.sequence);
  return true;
}

inline bool InputSender::send_unshared(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to) {
  const uint32_t data = graph_.edges()[edge].data.value();
  if (check_route(data, from, to)) {
    transfers_.start({data, slot, kNoIndex, edge, from, to, TransferPurpose::kInput});
  }
  return false;
}

inline uint32_t InputSender::make_copy(uint32_t slot, uint32_t data, uint32_t from, uint32_t to) {
  if (!check_route(data, from, to)) {
    return kNoIndex;
  }
  const uint32_t copy = copies_.add(slot, data, to);
  if (parts_.spill != nullptr) {
    parts_.spill->add_copy(copy);
  }
  DeviceMemory* memory = parts_.memory;
  if (memory != nullptr && memory->copy_must_wait(to, graph_.data_bytes(DataId(data)))) {
    memory->waiting_copies(to).push_back(copy);
    memory->look_again(to);  // the task that runs next may need it at once
  } else {
    send_copy(copy);
  }
  return copy;
}

inline bool InputSender::send_by_copy(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to) {
  const uint32_t data = graph_.edges()[edge].data.value();
  uint32_t copy = copies_.find(slot, data, to);
  if (copy == kNoIndex) {
    copy = make_copy(slot, data, from, to);
  }
  if (copy == kNoIndex || !copies_.add_reader(copy, edge)) {
    return false;
  }
  // Asked before the reader is served: the last one to be served frees copies without readers.
  const bool on_device = parts_.spill == nullptr || parts_.spill->copy_on_device(copy);
  if (parts_.lifetimes != nullptr) {
    parts_.lifetimes->reader_served(slot, data);
  }
  return on_device;
}

bool InputSender::send(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to) {
  const uint32_t data = graph_.edges()[edge].data.value();
  if (graph_.data_bytes(DataId(data)) == 0) {
    if (parts_.lifetimes != nullptr) {
      parts_.lifetimes->reader_served(slot, data);
    }
    return true;
  }
  switch (way_) {
    case Way::kBooked:
      return send_booked(slot, edge, from, to);
    case Way::kUnshared:
      return send_unshared(slot, edge, from, to);
    case Way::kCopies:
      return send_by_copy(slot, edge, from, to);
  }
  return false;
}

void InputSender::send_copy(uint32_t id) {
  const DataCopy& copy = copies_.at(id);
  if (parts_.memory != nullptr) {
    parts_.memory->allocate(copy.device, graph_.data_bytes(DataId(copy.data)),
                            {MemoryUse::kCopy, copy.slot, copy.data});
  }
  const uint32_t from = parts_.spill != nullptr ? parts_.spill->source_of(copy.data)
                                                : tasks_.producer_device(copy.slot, copy.data);
  transfers_.start(
      {copy.data, copy.slot, id, kNoIndex, from, copy.device, TransferPurpose::kInput});
}

void InputSender::sent_outputs(uint32_t slot, std::span<const Edge> out) {
  if (!forgets_) {
    return;
  }
  if (way_ == Way::kBooked) {
    return booked_.clear();
  }
  for (const Edge& edge : out) {
    copies_.forget(slot, edge.data.value());
  }
}

void InputSender::fetch_inputs(uint32_t task, uint32_t d) {
  std::vector<uint32_t>& waiting = parts_.memory->waiting_copies(d);
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    const uint32_t data = graph_.edges()[e].data.value();
    const Bytes bytes = graph_.data_bytes(DataId(data));
    if (bytes == 0) {
      continue;
    }
    const auto copy = std::find_if(waiting.begin(), waiting.end(), [&](uint32_t waiting_copy) {
      return copies_.at(waiting_copy).data == data;
    });
    const bool waits = copy != waiting.end();
    if ((!waits && !parts_.spill->on_host(data, d)) || !parts_.spill->make_room(d, bytes, task)) {
      continue;
    }
    if (waits) {
      const uint32_t id = *copy;
      waiting.erase(copy);
      send_copy(id);
    } else {
      parts_.spill->fetch(data, d);
    }
  }
}

void InputSender::send_waiting(uint32_t d) {
  DeviceMemory& memory = *parts_.memory;
  std::vector<uint32_t>& waiting = memory.waiting_copies(d);
  while (!waiting.empty() && memory.blocked(d) == kNoIndex) {
    const uint32_t copy = waiting.front();
    if (!memory.fits(d, graph_.data_bytes(DataId(copies_.at(copy).data)))) {
      break;
    }
    waiting.erase(waiting.begin());
    send_copy(copy);
  }
}

}  // namespace dfsim::inline sim
