// MemoryLog: memory in use on each device over the time of a run, and what it held at the peak.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "hardware/platform.h"
#include "sim/forwarding_listener.h"

namespace dfsim::inline study {

// One allocation that was alive at the peak.
struct HeldMemory {
  MemoryUse use = MemoryUse::kTensor;
  DataId data;  // of tensors and copies
  TaskId task;  // of workspaces and weights
  Bytes bytes = 0;
  TimeNs since_ns = 0;
};

struct DeviceMemoryLog {
  Bytes peak_bytes = 0;
  TimeNs peak_ns = 0;                              // when it was first reached
  std::vector<std::pair<TimeNs, Bytes>> timeline;  // in use after each instant that changed it
  std::vector<HeldMemory> at_peak;                 // largest first
};

class MemoryLog final : public ForwardingListener {
 public:
  // Passes everything on to `next`, when there is one. References outlive the log.
  explicit MemoryLog(const Platform& platform, SimListener* next = nullptr);

  // After the run, by device. O(events log events).
  std::vector<DeviceMemoryLog> devices() const;

  void on_memory_allocated(const MemoryEvent& event) override;
  void on_memory_freed(const MemoryEvent& event) override;

 private:
  struct Change {
    MemoryEvent event;
    bool freed = false;
  };

  std::vector<std::vector<Change>> changes_;  // by device
};

}  // namespace dfsim::inline study
