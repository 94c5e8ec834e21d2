// The books of device memory.
#include "sim/data/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace dfsim::inline sim {

DeviceMemory::DeviceMemory(const Platform& platform, MemoryPolicy policy, const RequestSlots& slots,
                           Timeline& timeline, SimListener* listener)
    : platform_(platform),
      slots_(slots),
      timeline_(timeline),
      listener_(listener),
      fails_(policy == MemoryPolicy::kFail),
      waits_(policy == MemoryPolicy::kWait || policy == MemoryPolicy::kSpill),
      devices_(platform.devices.size()) {}

Bytes DeviceMemory::free_bytes(uint32_t device) const {
  return capacity(device) == 0 ? std::numeric_limits<Bytes>::max()
                               : std::max<Bytes>(0, capacity(device) - in_use(device));
}

void DeviceMemory::fail_full(uint32_t d, Bytes bytes) {
  timeline_.fail(failed(
      fmt::format("'{}' is out of memory at {}: {} more do not fit into {}; it holds {} in all: {}",
                  printable(platform_.devices[d].name), format_time(timeline_.now_ns()),
                  format_bytes(bytes), format_bytes(capacity(d)), format_bytes(in_use(d)),
                  inventory_ == nullptr ? "" : inventory_->holdings(d))));
}

void DeviceMemory::tell_allocated(uint32_t device, Bytes bytes, const MemoryItem& item) const {
  listener_->on_memory_allocated(event_of(device, bytes, item));
}

void DeviceMemory::tell_freed(uint32_t device, Bytes bytes, const MemoryItem& item) const {
  listener_->on_memory_freed(event_of(device, bytes, item));
}

MemoryEvent DeviceMemory::event_of(uint32_t device, Bytes bytes, const MemoryItem& item) const {
  const bool of_task = item.use == MemoryUse::kWorkspace || item.use == MemoryUse::kResident;
  return {timeline_.now_ns(),
          DeviceId(device),
          bytes,
          in_use(device),
          item.use,
          of_task ? DataId() : DataId(item.id),
          of_task ? TaskId(item.id) : TaskId(),
          item.slot < slots_.size() ? slots_.request_of(item.slot) : 0};
}

Status DeviceMemory::add_resident(uint32_t device, Bytes bytes) {
  Bytes& resident = devices_[device].resident;
  if (__builtin_add_overflow(resident, bytes, &resident)) {
    return invalid_input("the weights of all tasks together overflow a 64-bit count of bytes");
  }
  return ok_status();
}

void DeviceMemory::block(uint32_t d, uint32_t instance) {
  Device& device = devices_[d];
  if (device.blocked == kNoIndex) {
    device.blocked = instance;
    device.blocked_since_ns = timeline_.now_ns();
  }
}

TimeNs DeviceMemory::unblock(uint32_t d, uint32_t instance) {
  Device& device = devices_[d];
  const bool held_up = device.blocked == instance;
  device.blocked = kNoIndex;
  return held_up ? timeline_.now_ns() - device.blocked_since_ns : 0;
}

// Copies queue up behind tasks and copies that wait already.
bool DeviceMemory::copy_must_wait(uint32_t d, Bytes bytes) const {
  const Device& device = devices_[d];
  return waits_ &&
         (device.blocked != kNoIndex || !device.waiting_copies.empty() || !fits(d, bytes));
}

const std::vector<uint32_t>& DeviceMemory::take_freed() {
  std::sort(freed_.begin(), freed_.end());
  freed_.erase(std::unique(freed_.begin(), freed_.end()), freed_.end());
  taken_.clear();
  taken_.swap(freed_);
  return taken_;
}

}  // namespace dfsim::inline sim
