// HostDispatch: the threads of the host that hand tasks to devices, in the order of a program.
//
// Either all threads take the next task of one program, as a pool does, or each device has a thread
// and a program of its own, as the processes of a job on several devices have.
// A run begins with an overhead; then each task occupies a thread for its dispatch time. An
// asynchronous host runs ahead of a device by as many launches as the device's queue is deep; a
// synchronous thread waits for its task. After a synchronisation point the host waits for that
// task before it dispatches anything else. Workers of a pool dispatch their own tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/platform.h"
#include "sim/engine/device_queues.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/task_table.h"
#include "sim/engine/timeline.h"
#include "sim/listener.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

class HostDispatch {
 public:
  // References must outlive it; `listener` may be null. The kind of program is that of the lines.
  HostDispatch(const RuntimeSpec& runtime, const SimOptions& options, LineKind program,
               const DeviceQueues& queues, const RequestSlots& slots, TaskTable& tasks,
               Timeline& timeline, SimListener* listener);

  // Dispatch costs nothing and never blocks: tasks may start once their request is open.
  bool instant() const { return instant_; }
  // The device's tasks need a dispatch thread before they can start.
  bool dispatches(uint32_t device) const { return !instant_ && !queues_.worker_pool(device); }
  // The host is done with the instance: it was dispatched, or needs no more than an open request.
  bool lets_start(uint32_t instance, uint32_t device) const {
    return dispatches(device) ? tasks_.has(instance, kDispatched)
                              : slots_.is_open(slots_.slot_of(instance));
  }
  TimeNs dispatch_ns(uint32_t task) const {
    return options_.dispatch_ns.empty() ? runtime_.dispatch_ns : options_.dispatch_ns[task];
  }

  // The program: the tasks of a plan, all at once, or decided instances one by one. Tasks of worker
  // pools are left out of it.
  void load_program(std::vector<uint32_t> tasks, const std::vector<uint32_t>& placement);
  void append(uint32_t instance, uint32_t device);

  // A request has come to the slot: opens it after the run's overhead, when it is its turn.
  void request_arrived(uint32_t slot);
  // The overhead is over.
  void opened();
  // The thread is done with its task; returns the instance.
  uint32_t dispatched(uint32_t thread);
  // A worker of a pool dispatches its own task.
  void worker_dispatches(uint32_t task) { busy_ns_ += dispatch_ns(task); }
  void task_finished(uint32_t instance, uint32_t device);

  TimeNs busy_ns() const { return busy_ns_; }

 private:
  struct Thread {
    uint32_t instance = kNoIndex;  // being dispatched, or waited for when synchronous
    bool busy = false;
  };

  // Tasks as planned, or instances as decided, and how far the host is.
  struct Line {
    std::vector<uint32_t> tasks;
    size_t next = 0;
  };

  // Gives work to free threads until all lines must wait.
  void run();
  Line& line_of(uint32_t thread) { return lines_[own_threads_ ? thread : 0]; }
  bool next_step(Thread& thread, uint32_t index);
  void dispatch(Thread& thread, uint32_t index, uint32_t instance);

  const RuntimeSpec& runtime_;
  const SimOptions& options_;
  const DeviceQueues& queues_;
  const RequestSlots& slots_;
  TaskTable& tasks_;
  Timeline& timeline_;
  SimListener* listener_;
  bool planned_;  // the same program for every request
  bool instant_ = true;
  std::vector<Thread> threads_;
  bool own_threads_;  // a line per thread, otherwise one for all
  std::vector<Line> lines_;
  uint32_t request_ = 0;  // whose tasks come next, or which is to be opened next
  std::vector<uint8_t> sync_after_;
  std::vector<uint32_t> launched_;  // by device: dispatched and not finished
  bool opening_ = false;            // a thread is busy with the overhead of a run
  uint32_t synced_ = kNoIndex;      // the instance that the host waits for
  TimeNs busy_ns_ = 0;
};

}  // namespace dfsim::inline sim
