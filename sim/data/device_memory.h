// DeviceMemory: how many bytes each device has given out, and who waits for bytes to be free.
//
// It counts; what the bytes are for (tensors, copies, workspaces, weights) and how long they live
// is the concern of TensorLifetimes, and what moves out of a full memory that of Spill.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "hardware/platform.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/timeline.h"
#include "sim/listener.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

// What an allocation is for.
struct MemoryItem {
  MemoryUse use = MemoryUse::kTensor;
  uint32_t slot = kNoIndex;  // none of weights
  uint32_t id = 0;           // the data item of tensors and copies, the task of the others
};

// Lists what a device holds, for the message of a run that ends because its memory is full.
class MemoryInventory {
 public:
  virtual ~MemoryInventory() = default;
  virtual std::string holdings(uint32_t device) const = 0;
};

class DeviceMemory {
 public:
  // References must outlive it; `listener` may be null. `policy` is not kOff.
  DeviceMemory(const Platform& platform, MemoryPolicy policy, const RequestSlots& slots,
               Timeline& timeline, SimListener* listener);
  // Without an inventory the message about a full memory has no list.
  void set_inventory(const MemoryInventory* inventory) { inventory_ = inventory; }

  // Allocations that do not fit wait; otherwise they are counted nevertheless, or end the run.
  bool waits() const { return waits_; }
  Bytes capacity(uint32_t device) const { return platform_.devices[device].memory_bytes; }
  Bytes in_use(uint32_t device) const { return devices_[device].in_use; }
  Bytes free_bytes(uint32_t device) const;  // INT64_MAX = not limited
  bool fits(uint32_t device, Bytes bytes) const {
    return capacity(device) == 0 || bytes <= capacity(device) - devices_[device].in_use;
  }
  // 0 bytes are no allocation. Fails the timeline where the policy is kFail and they do not fit.
  void allocate(uint32_t d, Bytes bytes, const MemoryItem& item) {
    Device& device = devices_[d];
    if ((fails_ && bytes > 0 && !fits(d, bytes)) ||
        __builtin_add_overflow(device.in_use, bytes, &device.in_use)) {
      return fail_full(d, bytes);
    }
    device.peak = std::max(device.peak, device.in_use);
    if (listener_ != nullptr && bytes > 0) {
      tell_allocated(d, bytes, item);
    }
  }
  void release(uint32_t d, Bytes bytes, const MemoryItem& item) {
    devices_[d].in_use -= bytes;
    if (waits_ && bytes > 0) {
      freed_.push_back(d);
    }
    if (listener_ != nullptr && bytes > 0) {
      tell_freed(d, bytes, item);
    }
  }
  Bytes peak(uint32_t device) const { return devices_[device].peak; }

  // Weights, which stay to the end. Counted apart, because every task must fit next to them.
  Status add_resident(uint32_t device, Bytes bytes);
  Bytes resident(uint32_t device) const { return devices_[device].resident; }

  // Who waits: at most one task per device, which comes first, and copies in order of request.
  // The device's next task is held up from now on, unless another one is.
  void block(uint32_t device, uint32_t instance);
  uint32_t blocked(uint32_t device) const { return devices_[device].blocked; }  // kNoIndex = none
  // The instance can start; returns for how long it was held up.
  TimeNs unblock(uint32_t device, uint32_t instance);
  bool copy_must_wait(uint32_t device, Bytes bytes) const;
  std::vector<uint32_t>& waiting_copies(uint32_t device) { return devices_[device].waiting_copies; }
  const std::vector<uint32_t>& waiting_copies(uint32_t device) const {
    return devices_[device].waiting_copies;
  }

  // Devices on which somebody who waits may be able to go on. release() notes them by itself.
  void look_again(uint32_t device) { freed_.push_back(device); }
  bool anything_freed() const { return !freed_.empty(); }
  // Ascending, each once; valid until the next call.
  const std::vector<uint32_t>& take_freed();

 private:
  struct Device {
    Bytes in_use = 0;
    Bytes peak = 0;
    Bytes resident = 0;
    uint32_t blocked = kNoIndex;
    TimeNs blocked_since_ns = 0;
    std::vector<uint32_t> waiting_copies;
  };

  MemoryEvent event_of(uint32_t device, Bytes bytes, const MemoryItem& item) const;
  void fail_full(uint32_t device, Bytes bytes);
  void tell_allocated(uint32_t device, Bytes bytes, const MemoryItem& item) const;
  void tell_freed(uint32_t device, Bytes bytes, const MemoryItem& item) const;

  const Platform& platform_;
  const RequestSlots& slots_;
  Timeline& timeline_;
  SimListener* listener_;
  bool fails_;
  bool waits_;
  const MemoryInventory* inventory_ = nullptr;
  std::vector<Device> devices_;
  std::vector<uint32_t> freed_;
  std::vector<uint32_t> taken_;
};

}  // namespace dfsim::inline sim
