// SimListener: told what happens in a simulation, in order of time. Views are built from it.
//
// Attach one only when needed: without a listener the engine makes no calls at all. A listener must
// not change the run; the same run with and without one gives the same result.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/units.h"
#include "hardware/route.h"

namespace dfsim::inline sim {

// Why a task does not run yet. The time between the arrival of its request and its start is divided
// among these without gaps: until its last predecessor has finished (dependency), then until its
// last input is on its device (link), until the host has dispatched it (host), until its turn on a
// queue of the device has come (device), until the device has room for its outputs (memory).
enum class WaitReason : uint8_t { kDependency, kLink, kHost, kDevice, kMemory };
inline constexpr int kWaitReasonCount = 5;
std::string_view wait_reason_name(WaitReason reason);

using WaitTimes = std::array<TimeNs, kWaitReasonCount>;  // indexed by WaitReason

struct TaskEvent {
  TimeNs time_ns = 0;
  TaskId task;
  uint32_t request = 0;  // 0 in a single run
  DeviceId device;
  uint32_t queue = 0;  // of the device
};

// A dispatch thread of the host has handed a task to its device.
struct DispatchEvent {
  TimeNs time_ns = 0;  // handed over
  TimeNs begin_ns = 0;
  TaskId task;
  uint32_t request = 0;  // 0 in a single run
  DeviceId device;
  uint32_t thread = 0;
};

// Why data moves: for a reader on another device, out of a full memory, or back into it.
enum class TransferPurpose : uint8_t { kInput, kSpill, kFetch };

struct TransferEvent {
  TimeNs time_ns = 0;
  uint64_t id = 0;  // the same in the started and the finished event
  DataId data;
  uint32_t request = 0;
  DeviceId from;  // none = the host's memory
  DeviceId to;
  Bytes bytes = 0;
  std::span<const Hop> hops;
  TimeNs requested_ns = 0;  // it waited for links and copy engines from here to its start
  TransferPurpose purpose = TransferPurpose::kInput;
};

enum class MemoryUse : uint8_t { kTensor, kCopy, kWorkspace, kResident };

struct MemoryEvent {
  TimeNs time_ns = 0;
  DeviceId device;
  Bytes bytes = 0;         // of this allocation
  Bytes in_use_bytes = 0;  // after it
  MemoryUse use = MemoryUse::kTensor;
  DataId data;  // of tensors and copies
  TaskId task;  // of workspaces and residents
  uint32_t request = 0;
};

struct WaitEvent {
  TaskId task;
  uint32_t request = 0;
  DeviceId device;
  WaitReason reason = WaitReason::kDependency;
  TimeNs begin_ns = 0;
  TimeNs end_ns = 0;
};

class SimListener {
 public:
  virtual ~SimListener() = default;
  virtual void on_task_dispatched(const DispatchEvent&) {}
  // Its waits come right before a task's start, in the order of WaitReason; empty ones are left
  // out.
  virtual void on_task_waited(const WaitEvent&) {}
  virtual void on_task_started(const TaskEvent&) {}
  virtual void on_task_finished(const TaskEvent&) {}
  virtual void on_transfer_started(const TransferEvent&) {}
  virtual void on_transfer_finished(const TransferEvent&) {}
  virtual void on_memory_allocated(const MemoryEvent&) {}
  virtual void on_memory_freed(const MemoryEvent&) {}
  virtual void on_request_arrived(uint32_t /*request*/, TimeNs /*time_ns*/) {}
  virtual void on_request_finished(uint32_t /*request*/, TimeNs /*time_ns*/) {}
};

}  // namespace dfsim::inline sim
