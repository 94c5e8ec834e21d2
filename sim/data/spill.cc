// Which tensor leaves, the way out, and the way back.
#include "sim/data/spill.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace dfsim::inline sim {

Spill::Spill(const ExecGraph& graph, const Platform& platform, TaskTable& tasks,
             const DataCopies& copies, DeviceMemory& memory, Transfers& transfers,
             Timeline& timeline)
    : graph_(graph),
      platform_(platform),
      tasks_(tasks),
      copies_(copies),
      memory_(memory),
      transfers_(transfers),
      timeline_(timeline),
      produced_at_(graph.data_count()),
      devices_(platform.devices.size()) {}

void Spill::add_copy(uint32_t copy) {
  if (copy >= copies_at_.size()) {
    copies_at_.resize(copy + 1);
  }
  copies_at_[copy] = Place{};
}

const Spill::Place* Spill::place_of(uint32_t data, uint32_t device) const {
  if (tasks_.producer_device(0, data) == device) {
    return &produced_at_[data];
  }
  const uint32_t copy = copies_.find(0, data, device);
  return copy == kNoIndex ? nullptr : &copies_at_[copy];
}

void Spill::came_to_device(uint32_t data, uint32_t device) {
  if (on_device(data, device) && graph_.data_bytes(DataId(data)) > 0) {
    devices_[device].spillable.insert(data);
    memory_.look_again(device);  // it can make room for what waits
  }
}

void Spill::pin_inputs(uint32_t task, uint32_t device, int by) {
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    if (Place* place = place_of(graph_.edges()[e].data.value(), device); place != nullptr) {
      place->pins += static_cast<uint32_t>(by);
    }
  }
}

uint32_t Spill::source_of(uint32_t data) {
  Place& place = produced_at_[data];
  if (place.at == Home::kOnHost || place.at == Home::kFetching) {
    return transfers_.host();
  }
  ++place.pins;
  return tasks_.producer_device(0, data);
}

void Spill::sent(const Shipment& shipment) {
  if (shipment.from == tasks_.producer_device(0, shipment.data)) {
    --produced_at_[shipment.data].pins;
    memory_.look_again(shipment.from);
  }
}

bool Spill::make_room(uint32_t d, Bytes bytes, uint32_t task) {
  const uint32_t host = transfers_.host();
  if (memory_.fits(d, bytes) || host == d) {
    return memory_.fits(d, bytes);
  }
  while (timeline_.ok() && memory_.in_use(d) - devices_[d].leaving + bytes > memory_.capacity(d)) {
    const uint32_t victim = last_needed(d, task);
    if (victim == kNoIndex) {
      return false;
    }
    if (!transfers_.reachable(d, host) || !transfers_.reachable(host, d)) {
      timeline_.fail(invalid_input(fmt::format(
          "'{}' has to spill tensors to the host's memory, but no links lead there and back; add a "
          "link or use memory policy 'wait'",
          printable(platform_.devices[d].name))));
      return false;
    }
    send_out(victim, d);
  }
  return memory_.fits(d, bytes);
}

// The tensor to spill for `task`: of those that nobody uses now, the one whose next reader comes
// last; kNoIndex = there is none.
uint32_t Spill::last_needed(uint32_t d, uint32_t task) const {
  uint32_t victim = kNoIndex;
  uint32_t last_use = 0;
  for (const uint32_t data : devices_[d].spillable) {
    const auto inputs = graph_.in_edge_indices(TaskId(task));
    const bool needed = std::any_of(inputs.begin(), inputs.end(), [&](uint32_t e) {
      return graph_.edges()[e].data.value() == data;
    });
    const uint32_t use = next_reader(data, d);
    if (!needed && place_of(data, d)->pins == 0 && (victim == kNoIndex || use > last_use)) {
      victim = data;
      last_use = use;
    }
  }
  return victim;
}

// The first task still to read the data there; past the last task when there is none.
uint32_t Spill::next_reader(uint32_t data, uint32_t device) const {
  for (const Edge& edge : graph_.out_edges(graph_.data_producer(DataId(data)))) {
    const TaskState& reader = tasks_.state(edge.to.value());
    if (edge.data.value() == data && (reader.flags & kFinished) == 0 &&
        (reader.device == device || reader.device == kNoIndex)) {
      return edge.to.value();
    }
  }
  return static_cast<uint32_t>(graph_.task_count());
}

void Spill::send_out(uint32_t data, uint32_t d) {
  Place& place = *place_of(data, d);
  const Bytes bytes = graph_.data_bytes(DataId(data));
  devices_[d].spillable.erase(data);
  take_from_readers(data, d);
  if (place.host_copy) {
    place.at = Home::kOnHost;
    return memory_.release(d, bytes, item(data, d));
  }
  place.at = Home::kSpilling;
  devices_[d].leaving += bytes;
  host_in_use_ += bytes;
  host_peak_ = std::max(host_peak_, host_in_use_);
  const Bytes capacity = platform_.host.memory_bytes;
  if (capacity > 0 && host_in_use_ > capacity) {
    return timeline_.fail(failed(fmt::format(
        "the host is out of memory at {}: spilled tensors need {} of {}",
        format_time(timeline_.now_ns()), format_bytes(host_in_use_), format_bytes(capacity))));
  }
  Shipment shipment;
  shipment.data = data;
  shipment.from = d;
  shipment.to = transfers_.host();
  shipment.purpose = TransferPurpose::kSpill;
  transfers_.start(shipment);
}

// The data is gone: its readers on the device that have not begun miss an input again.
void Spill::take_from_readers(uint32_t data, uint32_t device) {
  for (const Edge& edge : graph_.out_edges(graph_.data_producer(DataId(data)))) {
    TaskState& reader = tasks_.state(edge.to.value());
    if (edge.data.value() == data && reader.device == device && (reader.flags & kPicked) == 0) {
      ++reader.inputs_left;
    }
  }
}

SpillEnd Spill::spilled(const Shipment& shipment) {
  const uint32_t d = shipment.from;
  const uint32_t data = shipment.data;
  const Bytes bytes = graph_.data_bytes(DataId(data));
  Place& place = *place_of(data, d);
  devices_[d].leaving -= bytes;
  place.host_copy = true;
  if (!place.dead && place.pins == 0) {
    place.at = Home::kOnHost;
    memory_.release(d, bytes, item(data, d));
    return SpillEnd::kOnHost;
  }
  place.at = Home::kOnDevice;
  memory_.look_again(d);  // whoever waits for this memory has to look for other
  if (place.dead) {
    place.dead = false;
    return SpillEnd::kDead;
  }
  devices_[d].spillable.insert(data);
  return SpillEnd::kStillNeeded;
}

void Spill::fetch(uint32_t data, uint32_t d) {
  place_of(data, d)->at = Home::kFetching;
  memory_.allocate(d, graph_.data_bytes(DataId(data)), item(data, d));
  Shipment shipment;
  shipment.data = data;
  shipment.from = transfers_.host();
  shipment.to = d;
  shipment.purpose = TransferPurpose::kFetch;
  transfers_.start(shipment);
}

void Spill::fetched(const Shipment& shipment) {
  place_of(shipment.data, shipment.to)->at = Home::kOnDevice;
  devices_[shipment.to].spillable.insert(shipment.data);
}

bool Spill::copy_dies_on_the_way(uint32_t copy) {
  Place& place = copies_at_[copy];
  place.dead = place.dead || place.at == Home::kSpilling;
  return place.at == Home::kSpilling;
}

bool Spill::drop(Place& place, uint32_t data, uint32_t device) {
  devices_[device].spillable.erase(data);
  if (place.at == Home::kSpilling) {
    place.dead = true;  // freed when it has left
    return false;
  }
  if (place.host_copy) {
    host_in_use_ -= graph_.data_bytes(DataId(data));
    place.host_copy = false;
  }
  return place.at == Home::kOnDevice;
}

}  // namespace dfsim::inline sim
