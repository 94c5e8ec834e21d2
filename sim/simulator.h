// The simulator: executes a task graph on a platform, on a clock of integer nanoseconds.
//
// The model is described in docs/simulator.md. A run owns all of its state: many runs may go on in
// one process and in parallel threads as long as each has its own policy and listener. The same
// input gives the same result, bit by bit.
// Cost: O((tasks + edges) log(queues + routes)) with FIFO links; at most 200 bytes per task.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"
#include "graphs/ir/exec_graph.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "schedulers/scheduler.h"
#include "sim/listener.h"

namespace dfsim::inline sim {

// What is simulated. References outlive the run.
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
  uint64_t seed = 0;  // handed to online policies
};

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

// Runs the plan. The planned times are not used, only devices and orders.
// Errors: kInvalidInput (the plan does not fit the graph or the platform, or waits in a circle; a
// task that its device cannot run; no links between devices that exchange data; memory that can
// never fit), kFailed (memory overflow under kFail, or a deadlock of tasks waiting for memory).
StatusOr<SimResult> simulate(const SimInput& input, const Schedule& schedule,
                             const SimOptions& options = {}, SimListener* listener = nullptr);

// Makes an online policy, for modes that need several.
using MakePolicy = std::function<std::unique_ptr<OnlineScheduler>()>;

// Asks the policy as the run goes on. Errors: as above, the policy's own, and kFailed when it makes
// an invalid decision or leaves ready tasks undecided.
StatusOr<SimResult> simulate(const SimInput& input, OnlineScheduler& policy,
                             const SimOptions& options = {}, SimListener* listener = nullptr);

// The plan that runs every task on one device in the order of ids.
Schedule single_device_schedule(const ExecGraph& graph, size_t devices, DeviceId device);

}  // namespace dfsim::inline sim
