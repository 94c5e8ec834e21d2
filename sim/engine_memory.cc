#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/text.h"
#include "sim/engine.h"

namespace dfsim::inline sim {

bool Engine::fits(uint32_t device, Bytes bytes) const {
  const Bytes capacity = platform_.devices[device].memory_bytes;
  return capacity == 0 || bytes <= capacity - devices_[device].memory_in_use;
}

// Copies queue up behind tasks and copies that wait already.
bool Engine::must_wait_for_memory(uint32_t d, Bytes bytes) const {
  const DeviceState& device = devices_[d];
  return waits_for_memory_ &&
         (device.blocked != kNone || !device.waiting_copies.empty() || !fits(d, bytes));
}

MemoryEvent Engine::memory_event(uint32_t device, Bytes bytes, MemoryUse use, uint32_t slot,
                                 uint32_t id) const {
  const bool of_task = use == MemoryUse::kWorkspace || use == MemoryUse::kResident;
  return {now_,
          DeviceId(device),
          bytes,
          devices_[device].memory_in_use,
          use,
          of_task ? DataId() : DataId(id),
          of_task ? TaskId(id) : TaskId(),
          slot < slots_.size() ? slots_[slot].request : 0};
}

// `id`: the data item of tensors and copies, the task of workspaces and residents.
void Engine::allocate(uint32_t d, Bytes bytes, MemoryUse use, uint32_t slot, uint32_t id) {
  if (bytes == 0) {
    return;
  }
  DeviceState& device = devices_[d];
  const bool fail_over = options_.memory == MemoryPolicy::kFail && !fits(d, bytes);
  if (fail_over || __builtin_add_overflow(device.memory_in_use, bytes, &device.memory_in_use)) {
    return fail(failed(fmt::format(
        "'{}' is out of memory at {}: {} more do not fit into {}; it holds {} in all: {}",
        printable(platform_.devices[d].name), format_time(now_), format_bytes(bytes),
        format_bytes(platform_.devices[d].memory_bytes), format_bytes(device.memory_in_use),
        memory_list(d))));
  }
  Bytes& peak = result_.devices[d].peak_memory_bytes;
  peak = std::max(peak, device.memory_in_use);
  if (listener_ != nullptr) {
    listener_->on_memory_allocated(memory_event(d, bytes, use, slot, id));
  }
}

void Engine::release(uint32_t d, Bytes bytes, MemoryUse use, uint32_t slot, uint32_t id) {
  if (bytes == 0) {
    return;
  }
  devices_[d].memory_in_use -= bytes;
  if (waits_for_memory_) {
    freed_.push_back(d);
  }
  if (listener_ != nullptr) {
    listener_->on_memory_freed(memory_event(d, bytes, use, slot, id));
  }
}

Status Engine::allocate_residents() {
  for (uint32_t t = 0; t < task_count_ && error_.ok(); ++t) {
    const Bytes bytes = graph_.resident_bytes(TaskId(t));
    if (__builtin_add_overflow(resident_[placement_[t]], bytes, &resident_[placement_[t]])) {
      return invalid_input("the weights of all tasks together overflow a 64-bit count of bytes");
    }
    allocate(placement_[t], bytes, MemoryUse::kResident, kNone, t);
  }
  return error_;
}

Bytes Engine::bytes_for_start(uint32_t task) const {
  Bytes bytes = graph_.workspace_bytes(TaskId(task));
  for (uint32_t i = data_offsets_[task]; i < data_offsets_[task + 1]; ++i) {
    bytes += graph_.data_bytes(DataId(data_of_[i]));
  }
  return bytes;
}

// Before a run that waits for memory: every task must fit beside the weights with its inputs.
Status Engine::check_capacity() const {
  if (!waits_for_memory_) {
    return ok_status();
  }
  for (uint32_t t = 0; t < task_count_; ++t) {
    DFSIM_RETURN_IF_ERROR(check_fits_ever(t, placement_[t]));
  }
  return ok_status();
}

Status Engine::check_fits_ever(uint32_t task, uint32_t device) const {
  Count needed = Count(bytes_for_start(task)) + Count(resident_[device]);
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    needed += graph_.edge_bytes(graph_.edges()[e]);
  }
  const Bytes capacity = platform_.devices[device].memory_bytes;
  if (capacity == 0 || (!needed.overflowed() && needed.value() <= capacity)) {
    return ok_status();
  }
  return invalid_input(fmt::format(
      "task '{}' needs {} on '{}' (inputs, outputs, workspace and the {} of weights there), which "
      "has {}; place it on a larger device",
      printable(graph_.name(TaskId(task))), format_bytes(needed.value()),
      printable(platform_.devices[device].name), format_bytes(resident_[device]),
      format_bytes(capacity)));
}

// Takes the memory that the task needs to start; false when it must wait for it.
bool Engine::admit(uint32_t instance, uint32_t d) {
  DeviceState& device = devices_[d];
  const uint32_t task = task_of(instance);
  if (waits_for_memory_) {
    const Bytes bytes = bytes_for_start(task);
    if (!(spill_ ? make_room(d, bytes, task) : fits(d, bytes))) {
      if (device.blocked == kNone) {
        device.blocked = instance;
        device.blocked_since_ns = now_;
      }
      return false;
    }
    if (device.blocked == instance) {
      wait(instance, WaitReason::kMemory) = now_ - device.blocked_since_ns;
    }
    device.blocked = kNone;
  }
  allocate_for_start(instance, d);
  return error_.ok();
}

void Engine::allocate_for_start(uint32_t instance, uint32_t device) {
  const uint32_t task = task_of(instance);
  const uint32_t slot = slot_of(instance);
  for (uint32_t i = data_offsets_[task]; i < data_offsets_[task + 1]; ++i) {
    allocate(device, graph_.data_bytes(DataId(data_of_[i])), MemoryUse::kTensor, slot, data_of_[i]);
  }
  allocate(device, graph_.workspace_bytes(TaskId(task)), MemoryUse::kWorkspace, slot, task);
  if (spill_) {
    pin_inputs(task, device, 1);
  }
}

void Engine::release_after_finish(uint32_t instance, uint32_t device) {
  const uint32_t task = task_of(instance);
  const uint32_t slot = slot_of(instance);
  release(device, graph_.workspace_bytes(TaskId(task)), MemoryUse::kWorkspace, slot, task);
  if (spill_) {
    pin_inputs(task, device, -1);
  }
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    const Edge& edge = graph_.edges()[e];
    const uint32_t data = edge.data.value();
    if (tasks_[instance - task + edge.from.index()].device == device) {
      reader_served(slot, data);
      continue;
    }
    const uint32_t copy = find_copy(data_instance(slot, data), device);
    if (copy != kNone && --copies_[copy].readers_left == 0 &&
        (!online_ || readers_left_[data_instance(slot, data)] == 0)) {
      drop_copy(copy);
    }
  }
  for (uint32_t i = data_offsets_[task]; i < data_offsets_[task + 1]; ++i) {
    const uint32_t data = data_of_[i];
    if (readers_left_[data_instance(slot, data)] == 0 && graph_.data_bytes(DataId(data)) > 0) {
      drop_home(slot, data);  // nobody reads it
    } else if (spill_) {
      came_to_device(data, device);
    }
  }
}

// One reader less needs the data on its producer's device; the last one frees it.
void Engine::reader_served(uint32_t slot, uint32_t data) {
  if (--readers_left_[data_instance(slot, data)] > 0) {
    return;
  }
  drop_home(slot, data);
  for (uint32_t copy = copy_head_[data_instance(slot, data)]; copy != kNone;) {
    const uint32_t next = copies_[copy].next;
    if (copies_[copy].present && copies_[copy].readers_left == 0) {
      drop_copy(copy);
    }
    copy = next;
  }
}

// Frees a tensor that no reader needs where it was produced; the graph's outputs stay.
void Engine::drop_home(uint32_t slot, uint32_t data) {
  const uint32_t device = producer_device(slot, data);
  if (graph_.data_is_output(DataId(data))) {
    if (spill_) {
      came_to_device(data, device);
    }
    return;
  }
  if (spill_ && !left_memory(homes_[data], data, device)) {
    return;
  }
  release(device, graph_.data_bytes(DataId(data)), MemoryUse::kTensor, slot, data);
}

// Frees a copy that no reader needs any more.
void Engine::drop_copy(uint32_t id) {
  Copy& copy = copies_[id];
  if (spill_ && copy.at.home == Home::kSpilling) {
    copy.at.dead = true;
    return;
  }
  uint32_t* link = &copy_head_[data_instance(copy.slot, copy.data)];
  while (*link != id) {
    link = &copies_[*link].next;
  }
  *link = copy.next;
  free_copies_.push_back(id);
  if (spill_ && !left_memory(copy.at, copy.data, copy.device)) {
    return;
  }
  release(copy.device, graph_.data_bytes(DataId(copy.data)), MemoryUse::kCopy, copy.slot,
          copy.data);
}

void Engine::free_outputs(uint32_t slot) {
  for (uint32_t d = 0; d < data_count_; ++d) {
    if (graph_.data_is_output(DataId(d))) {
      release(producer_device(slot, d), graph_.data_bytes(DataId(d)), MemoryUse::kTensor, slot, d);
    }
  }
}

// Memory was freed on some devices: what waits for it goes on, a blocked task before copies.
void Engine::use_freed_memory() {
  std::sort(freed_.begin(), freed_.end());
  freed_.erase(std::unique(freed_.begin(), freed_.end()), freed_.end());
  std::vector<uint32_t> devices;
  devices.swap(freed_);
  for (const uint32_t d : devices) {
    DeviceState& device = devices_[d];
    start_tasks(d);
    while (!device.waiting_copies.empty() && device.blocked == kNone) {
      const uint32_t copy = device.waiting_copies.front();
      if (!fits(d, graph_.data_bytes(DataId(copies_[copy].data)))) {
        break;
      }
      device.waiting_copies.erase(device.waiting_copies.begin());
      send_copy(copy);
    }
  }
}

std::string Engine::memory_list(uint32_t device) const {
  std::vector<std::pair<Bytes, uint32_t>> held;
  for (uint32_t i = 0; i < tasks_.size(); ++i) {
    const uint32_t t = task_of(i);
    const bool here = tasks_[i].device == device;
    const bool produced = (tasks_[i].flags & kStarted) != 0;
    for (uint32_t k = data_offsets_[t]; produced && k < data_offsets_[t + 1]; ++k) {
      const uint32_t data = data_of_[k];
      const uint32_t index = data_instance(slot_of(i), data);
      const bool alive = readers_left_[index] > 0 || graph_.data_is_output(DataId(data)) ||
                         (tasks_[i].flags & kFinished) == 0;
      if ((here && alive) || find_copy(index, device) != kNone) {
        held.emplace_back(graph_.data_bytes(DataId(data)), t);
      }
    }
  }
  constexpr size_t kMostListed = 10;
  std::sort(held.begin(), held.end(), std::greater<>());
  std::vector<std::string> parts{fmt::format("weights {}", format_bytes(resident_[device]))};
  for (size_t i = 0; i < std::min(held.size(), kMostListed); ++i) {
    parts.push_back(fmt::format("output of '{}' {}",
                                printable(graph_.name(TaskId(held[i].second)), 40),
                                format_bytes(held[i].first)));
  }
  if (held.size() > kMostListed) {
    parts.push_back(fmt::format("{} smaller tensors", held.size() - kMostListed));
  }
  return join(parts, ", ");
}

}  // namespace dfsim::inline sim
