#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sim/engine.h"

namespace dfsim::inline sim {

// Spilling is for single runs: data items and their instances are the same here.

Engine::Location* Engine::location(uint32_t data, uint32_t device) {
  if (producer_device(0, data) == device) {
    return &homes_[data];
  }
  const uint32_t copy = find_copy(data, device);
  return copy == kNone ? nullptr : &copies_[copy].at;
}

// The data is whole on the device now.
void Engine::came_to_device(uint32_t data, uint32_t device) {
  const Location* at = location(data, device);
  if (at->home == Home::kOnDevice && graph_.data_bytes(DataId(data)) > 0) {
    devices_[device].spillable.insert(data);
    freed_.push_back(device);  // it can make room for what waits
  }
}

// The data is needed on the device no more. Returns whether it holds memory that can be freed now.
bool Engine::left_memory(Location& at, uint32_t data, uint32_t device) {
  devices_[device].spillable.erase(data);
  if (at.home == Home::kSpilling) {
    at.dead = true;  // freed when it has left
    return false;
  }
  if (at.host_copy) {
    host_memory_in_use_ -= graph_.data_bytes(DataId(data));
    at.host_copy = false;
  }
  return at.home == Home::kOnDevice;
}

// The first task still to read the data there; past the last task when there is none.
uint32_t Engine::next_reader(uint32_t data, uint32_t device) const {
  const TaskId producer = graph_.data_producer(DataId(data));
  for (const Edge& edge : graph_.out_edges(producer)) {
    const TaskState& reader = tasks_[edge.to.index()];
    if (edge.data.value() == data && (reader.flags & kFinished) == 0 &&
        (reader.device == device || reader.device == kNone)) {
      return edge.to.value();
    }
  }
  return task_count_;
}

// Frees memory for `bytes` that `task` needs, by sending out the tensors that are needed last,
// never an input of `task`. Returns whether they fit now; else more is on its way out or nothing
// can go.
bool Engine::make_room(uint32_t d, Bytes bytes, uint32_t task) {
  DeviceState& device = devices_[d];
  const uint32_t host = routes_.host();
  if (fits(d, bytes) || host == d) {
    return fits(d, bytes);
  }
  const Bytes capacity = platform_.devices[d].memory_bytes;
  while (error_.ok() && device.memory_in_use - device.memory_leaving + bytes > capacity) {
    uint32_t victim = kNone;
    uint32_t last_use = 0;
    for (const uint32_t data : device.spillable) {
      const auto inputs = graph_.in_edge_indices(TaskId(task));
      const bool needed = std::any_of(inputs.begin(), inputs.end(), [&](uint32_t e) {
        return graph_.edges()[e].data.value() == data;
      });
      const uint32_t use = next_reader(data, d);
      if (!needed && location(data, d)->pins == 0 && (victim == kNone || use > last_use)) {
        victim = data;
        last_use = use;
      }
    }
    if (victim == kNone) {
      return false;
    }
    if (!routes_.route(d, host).reachable || !routes_.route(host, d).reachable) {
      fail(invalid_input(fmt::format(
          "'{}' has to spill tensors to the host's memory, but no links lead there and back; add a "
          "link or use memory policy 'wait'",
          printable(platform_.devices[d].name))));
      return false;
    }
    spill(victim, d);
  }
  return fits(d, bytes);
}

void Engine::spill(uint32_t data, uint32_t d) {
  Location& at = *location(data, d);
  const Bytes bytes = graph_.data_bytes(DataId(data));
  devices_[d].spillable.erase(data);
  count_local_readers(data, d, false);
  if (at.host_copy) {
    at.home = Home::kOnHost;
    return release(d, bytes, use_of(data, d), 0, data);
  }
  at.home = Home::kSpilling;
  devices_[d].memory_leaving += bytes;
  host_memory_in_use_ += bytes;
  result_.host_peak_memory_bytes = std::max(result_.host_peak_memory_bytes, host_memory_in_use_);
  const Bytes capacity = platform_.host.memory_bytes;
  if (capacity > 0 && host_memory_in_use_ > capacity) {
    return fail(failed(fmt::format("the host is out of memory at {}: spilled tensors need {} of {}",
                                   format_time(now_), format_bytes(host_memory_in_use_),
                                   format_bytes(capacity))));
  }
  Transfer transfer;
  transfer.data = data;
  transfer.from = d;
  transfer.to = routes_.host();
  transfer.purpose = TransferPurpose::kSpill;
  start_transfer(transfer);
}

void Engine::spilled(const Transfer& transfer) {
  const uint32_t d = transfer.from;
  const uint32_t data = transfer.data;
  const Bytes bytes = graph_.data_bytes(DataId(data));
  Location& at = *location(data, d);
  devices_[d].memory_leaving -= bytes;
  at.host_copy = true;
  if (at.dead || at.pins > 0) {
    at.home = Home::kOnDevice;
    freed_.push_back(d);  // whoever waits for this memory has to look for other
  }
  if (at.dead) {
    at.dead = false;
    const uint32_t copy = producer_device(0, data) == d ? kNone : find_copy(data, d);
    return copy == kNone ? drop_home(0, data) : drop_copy(copy);
  }
  if (at.pins > 0) {
    devices_[d].spillable.insert(data);
    return count_local_readers(data, d, true);
  }
  at.home = Home::kOnHost;
  release(d, bytes, use_of(data, d), 0, data);
}

void Engine::fetched(const Transfer& transfer) {
  Location& at = *location(transfer.data, transfer.to);
  at.home = Home::kOnDevice;
  devices_[transfer.to].spillable.insert(transfer.data);
  count_local_readers(transfer.data, transfer.to, true);
}

// The device's next task is not ready: brings its inputs back from the host, and makes room for
// those that wait for memory.
void Engine::fetch_inputs(uint32_t task, uint32_t d) {
  DeviceState& device = devices_[d];
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    const uint32_t data = graph_.edges()[e].data.value();
    const Bytes bytes = graph_.data_bytes(DataId(data));
    Location* at = location(data, d);
    if (at == nullptr || bytes == 0) {
      continue;
    }
    const auto waiting = std::find_if(device.waiting_copies.begin(), device.waiting_copies.end(),
                                      [&](uint32_t copy) { return copies_[copy].data == data; });
    const bool waits = waiting != device.waiting_copies.end();
    if ((at->home != Home::kOnHost && !waits) || !make_room(d, bytes, task)) {
      continue;
    }
    if (waits) {
      const uint32_t copy = *waiting;
      device.waiting_copies.erase(waiting);
      send_copy(copy);
      continue;
    }
    at->home = Home::kFetching;
    allocate(d, bytes, use_of(data, d), 0, data);
    Transfer transfer;
    transfer.data = data;
    transfer.from = routes_.host();
    transfer.to = d;
    transfer.purpose = TransferPurpose::kFetch;
    start_transfer(transfer);
  }
}

// The data has come to (`there`) or gone from its readers on the device that have not begun.
void Engine::count_local_readers(uint32_t data, uint32_t device, bool there) {
  for (const Edge& edge : graph_.out_edges(graph_.data_producer(DataId(data)))) {
    const uint32_t reader = edge.to.value();
    TaskState& state = tasks_[reader];
    if (edge.data.value() != data || state.device != device || (state.flags & kPicked) != 0) {
      continue;
    }
    if (there) {
      tasks_[reader].arrival_ns = now_;
      input_arrived(reader);
    } else {
      ++state.inputs_left;
    }
  }
}

void Engine::pin_inputs(uint32_t task, uint32_t device, int by) {
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    if (Location* at = location(graph_.edges()[e].data.value(), device); at != nullptr) {
      at->pins += static_cast<uint32_t>(by);
    }
  }
}

}  // namespace dfsim::inline sim
