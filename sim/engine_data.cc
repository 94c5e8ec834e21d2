#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/engine.h"

namespace dfsim {

uint32_t Engine::find_copy(uint32_t data, uint32_t device) const {
  uint32_t copy = copy_head_[data];
  while (copy != kNone && copies_[copy].device != device) {
    copy = copies_[copy].next;
  }
  return copy;
}

// The reader of `edge` runs on `to`, the data was produced on `from`.
void Engine::send(uint32_t edge, uint32_t from, uint32_t to) {
  const uint32_t data = graph_.edges()[edge].data.value();
  const uint32_t reader = graph_.edges()[edge].to.value();
  if (graph_.data_bytes(DataId(data)) == 0) {
    if (memory_) {
      reader_served(data, 1);
    }
    return input_arrived(reader);
  }
  uint32_t id = find_copy(data, to);
  if (id == kNone) {
    id = new_copy(data, from, to);
    if (id == kNone) {
      return;
    }
  }
  Copy& copy = copies_[id];
  ++copy.readers_left;
  if (copy.present) {
    if (memory_) {
      reader_served(data, 1);
    }
    return input_arrived(reader);
  }
  if (!next_reader_.empty()) {
    next_reader_[edge] = copy.first_reader;
  }
  copy.first_reader = edge;
}

uint32_t Engine::new_copy(uint32_t data, uint32_t from, uint32_t to) {
  const uint32_t route = from * ends_ + to;
  if (!routes_.route(from, to).reachable) {
    fail(invalid_input(fmt::format(
        "task '{}' on '{}' has data for '{}', but no links lead there; add a link between them",
        printable(graph_.name(graph_.data_producer(DataId(data)))),
        printable(platform_.devices[from].name), printable(platform_.devices[to].name))));
    return kNone;
  }
  uint32_t id;
  if (free_copies_.empty()) {
    id = static_cast<uint32_t>(copies_.size());
    copies_.emplace_back();
  } else {
    id = free_copies_.back();
    free_copies_.pop_back();
  }
  const Bytes bytes = graph_.data_bytes(DataId(data));
  const FifoNetwork::Timing timing = network_.book(route, bytes, now_);
  Copy copy;
  copy.data = data;
  copy.device = to;
  copy.next = std::exchange(copy_head_[data], id);
  copy.requested_ns = now_;
  copy.begin_ns = timing.begin_ns;
  copy.arrive_ns = timing.arrive_ns;
  const uint64_t start_sequence = listener_ != nullptr ? events_.take_sequence() : 0;
  copy.sequence = events_.take_sequence();
  copies_[id] = copy;
  RouteQueue& queue = in_flight_[route];
  if (queue.first == kNone) {
    queue.first = id;
    events_.push({copy.arrive_ns, copy.sequence, kDataArrived, route});
  } else {
    copies_[queue.last].next_route = id;
  }
  queue.last = id;
  result_.devices[from].bytes_out += bytes;
  for (const Hop& hop : routes_.route(from, to).hops) {
    LinkUse& link = result_.links[hop.link.index()];
    link.bytes += bytes;
    ++link.transfers;
    link.busy_ns += occupancy_ns(1e9 / platform_.links[hop.link.index()].bytes_per_s, bytes);
  }
  if (memory_) {
    allocate(to, bytes, MemoryUse::kCopy, data, kNone);
  }
  if (listener_ != nullptr) {
    if (copy.begin_ns == now_) {
      transfer_started(id);
    } else {
      events_.push({copy.begin_ns, start_sequence, kTransferStarted, id});
    }
  }
  return id;
}

TransferEvent Engine::transfer_event(uint32_t id, TimeNs time_ns) const {
  const Copy& copy = copies_[id];
  const uint32_t from = tasks_[graph_.data_producer(DataId(copy.data)).index()].device;
  return {time_ns,
          copy.sequence,
          DataId(copy.data),
          0,
          DeviceId(from),
          DeviceId(copy.device),
          graph_.data_bytes(DataId(copy.data)),
          routes_.route(from, copy.device).hops,
          copy.requested_ns,
          TransferPurpose::kInput};
}

void Engine::transfer_started(uint32_t copy) {
  listener_->on_transfer_started(transfer_event(copy, now_));
}

void Engine::data_arrived(uint32_t route) {
  RouteQueue& queue = in_flight_[route];
  const uint32_t id = queue.first;
  const Copy copy = copies_[id];
  const Bytes bytes = graph_.data_bytes(DataId(copy.data));
  queue.first = copy.next_route;
  if (queue.first != kNone) {
    const Copy& next = copies_[queue.first];
    events_.push({next.arrive_ns, next.sequence, kDataArrived, route});
  }
  copies_[id].present = true;
  copies_[id].first_reader = kNone;
  result_.devices[copy.device].bytes_in += bytes;
  result_.bytes_moved += bytes;
  ++result_.transfers;
  if (listener_ != nullptr) {
    listener_->on_transfer_finished(transfer_event(id, now_));
  }
  if (!keep_copies_) {
    free_copies_.push_back(id);
  }
  for (uint32_t edge = copy.first_reader; edge != kNone;) {
    const uint32_t next = next_reader_.empty() ? kNone : next_reader_[edge];
    const uint32_t reader = graph_.edges()[edge].to.value();
    result_.tasks[reader].wait_ns[static_cast<int>(WaitReason::kLink)] = now_;
    input_arrived(reader);
    edge = next;
    if (memory_) {
      reader_served(copy.data, 1);
    }
  }
}

// Frees a copy that no reader needs any more.
void Engine::drop_copy(uint32_t id) {
  const Copy& copy = copies_[id];
  uint32_t* link = &copy_head_[copy.data];
  while (*link != id) {
    link = &copies_[*link].next;
  }
  *link = copy.next;
  release(copy.device, graph_.data_bytes(DataId(copy.data)), MemoryUse::kCopy, copy.data, kNone);
  free_copies_.push_back(id);
}

void Engine::allocate(uint32_t d, Bytes bytes, MemoryUse use, uint32_t data, uint32_t task) {
  if (bytes == 0) {
    return;
  }
  DeviceState& device = devices_[d];
  const Bytes capacity = platform_.devices[d].memory_bytes;
  if (__builtin_add_overflow(device.memory_in_use, bytes, &device.memory_in_use) ||
      (options_.memory == MemoryPolicy::kFail && capacity > 0 && device.memory_in_use > capacity)) {
    return fail(
        failed(fmt::format("'{}' is out of memory at {}: {} more do not fit into {}; it holds {}",
                           printable(platform_.devices[d].name), format_time(now_),
                           format_bytes(bytes), format_bytes(capacity), memory_list(d))));
  }
  Bytes& peak = result_.devices[d].peak_memory_bytes;
  peak = std::max(peak, device.memory_in_use);
  if (listener_ != nullptr) {
    listener_->on_memory_allocated({now_, DeviceId(d), bytes, device.memory_in_use, use,
                                    data == kNone ? DataId() : DataId(data),
                                    task == kNone ? TaskId() : TaskId(task), 0});
  }
}

void Engine::release(uint32_t d, Bytes bytes, MemoryUse use, uint32_t data, uint32_t task) {
  if (bytes == 0) {
    return;
  }
  devices_[d].memory_in_use -= bytes;
  if (listener_ != nullptr) {
    listener_->on_memory_freed({now_, DeviceId(d), bytes, devices_[d].memory_in_use, use,
                                data == kNone ? DataId() : DataId(data),
                                task == kNone ? TaskId() : TaskId(task), 0});
  }
}

void Engine::allocate_for_start(uint32_t task, uint32_t device) {
  for (uint32_t i = data_offsets_[task]; i < data_offsets_[task + 1]; ++i) {
    allocate(device, graph_.data_bytes(DataId(data_of_[i])), MemoryUse::kTensor, data_of_[i],
             kNone);
  }
  allocate(device, graph_.workspace_bytes(TaskId(task)), MemoryUse::kWorkspace, kNone, task);
}

void Engine::release_after_finish(uint32_t task, uint32_t device) {
  release(device, graph_.workspace_bytes(TaskId(task)), MemoryUse::kWorkspace, kNone, task);
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    const Edge& edge = graph_.edges()[e];
    const uint32_t data = edge.data.value();
    if (tasks_[edge.from.index()].device == device) {
      reader_served(data, 1);
      continue;
    }
    const uint32_t copy = find_copy(data, device);
    if (copy != kNone && --copies_[copy].readers_left == 0 &&
        (policy_ == nullptr || readers_left_[data] == 0)) {
      drop_copy(copy);
    }
  }
  for (uint32_t i = data_offsets_[task]; i < data_offsets_[task + 1]; ++i) {
    if (readers_left_[data_of_[i]] == 0) {
      reader_served(data_of_[i], 0);  // nobody reads it
    }
  }
}

// `count` readers need the data on its producer's device no more; the last one frees it.
void Engine::reader_served(uint32_t data, uint32_t count) {
  readers_left_[data] -= count;
  if (readers_left_[data] > 0) {
    return;
  }
  if (!graph_.data_is_output(DataId(data))) {
    release(tasks_[graph_.data_producer(DataId(data)).index()].device,
            graph_.data_bytes(DataId(data)), MemoryUse::kTensor, data, kNone);
  }
  for (uint32_t copy = copy_head_[data]; copy != kNone;) {
    const uint32_t next = copies_[copy].next;
    if (copies_[copy].readers_left == 0) {
      drop_copy(copy);
    }
    copy = next;
  }
}

std::string Engine::memory_list(uint32_t device) const {
  std::vector<std::pair<Bytes, std::string>> held;
  Bytes resident = 0;
  for (uint32_t t = 0; t < tasks_.size(); ++t) {
    const bool here = tasks_[t].device == device;
    resident += here ? graph_.resident_bytes(TaskId(t)) : 0;
    const bool produced = (tasks_[t].flags & kStarted) != 0;
    for (uint32_t i = data_offsets_[t]; produced && i < data_offsets_[t + 1]; ++i) {
      const DataId data(data_of_[i]);
      const bool alive = readers_left_[data.index()] > 0 || graph_.data_is_output(data) ||
                         (tasks_[t].flags & kFinished) == 0;
      if ((here && alive) || find_copy(data.value(), device) != kNone) {
        held.emplace_back(graph_.data_bytes(data), printable(graph_.name(TaskId(t)), 40));
      }
    }
  }
  constexpr size_t kMostListed = 10;
  std::sort(held.begin(), held.end(), std::greater<>());
  std::vector<std::string> parts{fmt::format("weights {}", format_bytes(resident))};
  for (size_t i = 0; i < std::min(held.size(), kMostListed); ++i) {
    parts.push_back(fmt::format("output of '{}' {}", held[i].second, format_bytes(held[i].first)));
  }
  if (held.size() > kMostListed) {
    parts.push_back(fmt::format("{} smaller tensors", held.size() - kMostListed));
  }
  return join(parts, ", ");
}

}  // namespace dfsim
