// Input, options and result of a simulation (sim/simulator.h), apart from the function that runs
// it: the parts of the engine need only these.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "graphs/ir/exec_graph.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "schedulers/scheduler.h"
#include "sim/listener.h"

namespace dfsim::inline sim {

// The simulated problem. References outlive the run.
struct SimInput {
  const ExecGraph& graph;
  const CostTable& costs;
  const Platform& platform;
};

// How memory is treated. Capacities of 0 bytes are unlimited.
enum class MemoryPolicy : uint8_t {
  kOff,    // not simulated: fastest
  kTrack,  // lifetimes and peaks; capacities are not enforced
  kFail,   // more than a device holds ends the run with the list of what it holds
  kWait,   // tasks and transfers wait until enough is free
  kSpill,  // idle tensors move to the host's memory over the links and come back when needed
};

// Which task a device takes next. In order: strictly as planned or decided, as a stream does; a
// task that is not ready holds up those behind it. Ready first: the earliest that is ready, as a
// pool of workers does. Auto: in order on a device with one queue, ready first on several.
enum class QueueOrder : uint8_t { kAuto, kInOrder, kReadyFirst };

struct SimOptions {
  MemoryPolicy memory = MemoryPolicy::kTrack;
  QueueOrder queue_order = QueueOrder::kAuto;
  // The host waits for each of these to finish before it dispatches anything else.
  std::vector<TaskId> sync_after;
  // Host time to dispatch each task; empty = the runtime's dispatch_ns for all.
  std::vector<TimeNs> dispatch_ns;
  // Each device has a host thread of its own, which dispatches its tasks alone, instead of the
  // runtime's threads, which share all tasks. For single runs of a plan.
  bool host_thread_per_device = false;
  uint64_t seed = 0;  // handed to online policies
  // The time that an online policy thinks about each task that became ready. It decides on several
  // at the end of all the thinking. 0 = it decides at once.
  TimeNs decision_ns = 0;
};

// Makes an online policy, for modes that need several.
using MakePolicy = std::function<std::unique_ptr<OnlineScheduler>()>;

struct TaskRecord {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  WaitTimes wait_ns{};  // adds up to start_ns exactly
  DeviceId device;
  uint32_t queue = 0;
};

struct DeviceUse {
  TimeNs busy_ns = 0;  // summed over its queues
  size_t tasks = 0;
  Bytes bytes_in = 0;
  Bytes bytes_out = 0;
  Bytes peak_memory_bytes = 0;
};

struct LinkUse {
  TimeNs busy_ns = 0;  // summed over directions: the time its full bandwidth would have taken
  Bytes bytes = 0;
  size_t transfers = 0;
};

struct SimResult {
  TimeNs makespan_ns = 0;
  std::vector<TaskRecord> tasks;
  std::vector<DeviceUse> devices;
  std::vector<LinkUse> links;
  WaitTimes wait_ns{};  // summed over tasks
  TimeNs host_busy_ns = 0;
  Bytes host_peak_memory_bytes = 0;  // spilled tensors
  Bytes bytes_moved = 0;             // between devices, each transfer once
  Bytes bytes_spilled = 0;           // out to the host and back in
  size_t transfers = 0;
  uint64_t events = 0;
};

}  // namespace dfsim::inline sim
