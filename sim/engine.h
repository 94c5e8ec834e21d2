// Engine: the state of one run and what events do to it. Internal to sim/; use simulator.h.
//
// Flat arrays over tasks, data items and edges; nothing is allocated per event. Split by concern:
// engine.cc (set-up, event loop, result), engine_tasks.cc (readiness, start, finish),
// engine_data.cc (transfers and memory), engine_host.cc (dispatch), engine_online.cc (policies).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/route.h"
#include "sim/event_queue.h"
#include "sim/fifo_network.h"
#include "sim/simulator.h"

namespace dfsim {

class Engine final : public OnlineView {
 public:
  Engine(const SimInput& input, const SimOptions& options, SimListener* listener);

  StatusOr<SimResult> run(const Schedule& schedule);
  StatusOr<SimResult> run(OnlineScheduler& policy);

  // OnlineView.
  TimeNs now_ns() const override { return now_; }
  TimeNs available_ns(DeviceId device) const override;
  size_t unfinished_tasks(DeviceId device) const override;
  Bytes free_bytes(DeviceId device) const override;
  bool has_data(DataId data, DeviceId device) const override;
  DeviceId device_of(TaskId task) const override { return DeviceId(tasks_[task.index()].device); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  enum EventKind : uint32_t {
    kTaskFinished,     // payload: queue
    kDataArrived,      // payload: route
    kTransferStarted,  // payload: copy; only with a listener
    kHostOpened,       // the run's overhead is over
    kHostDispatched,   // payload: host thread
    kWorkerReady,      // payload: queue; a worker of a pool has set up its task
  };
  enum Flag : uint32_t { kDispatched = 1, kStarted = 2, kFinished = 4, kSync = 8 };

  struct TaskState {
    uint32_t inputs_left = 0;  // in-edges whose data is not on the device yet
    uint32_t preds_left = 0;   // in-edges whose producer has not finished
    uint32_t device = kNone;
    uint32_t flags = 0;
  };
  struct QueueState {
    uint32_t task = kNone;
    uint32_t device = 0;
    TimeNs end_ns = 0;
  };
  struct DeviceState {
    std::vector<uint32_t> order;  // tasks as planned or decided
    std::vector<uint32_t> ready;  // ready first: a heap of positions in `order`, smallest on top
    uint32_t position = 0;        // in order: the next task
    uint32_t first_queue = 0;
    uint32_t queues = 1;
    uint32_t free_queues = 1;
    uint32_t launched = 0;    // dispatched and not finished
    uint32_t unfinished = 0;  // decided and not finished
    bool ready_first = false;
    bool worker_pool = false;  // queues are workers that pay for their own dispatch
    TimeNs queued_ns = 0;      // costs of decided tasks that have not started
    Bytes memory_in_use = 0;
  };
  // A data item on, or on its way to, a device that did not produce it.
  struct Copy {
    uint32_t data = 0;
    uint32_t device = 0;
    uint32_t next = kNone;          // copy of the same data
    uint32_t next_route = kNone;    // requested after this one on the same route
    uint32_t first_reader = kNone;  // edge; further ones by next_reader_
    uint32_t readers_left = 0;      // that have not finished
    TimeNs requested_ns = 0;
    TimeNs begin_ns = 0;
    TimeNs arrive_ns = 0;
    uint64_t sequence = 0;
    bool present = false;
  };
  struct RouteQueue {
    uint32_t first = kNone;
    uint32_t last = kNone;
  };
  struct HostThread {
    uint32_t task = kNone;  // being dispatched, or waited for when synchronous
    bool busy = false;
  };

  // engine.cc
  Status prepare();
  Status adopt(const Schedule& schedule);
  Status check_inputs() const;
  void set_up_devices();
  void set_up_data();
  void loop();
  void handle(const Event& event);
  StatusOr<SimResult> finish_run();
  Status stuck() const;
  void fail(Status status);

  // engine_tasks.cc
  void place(uint32_t task, uint32_t device, TimeNs duration_ns);
  void release_successors(uint32_t task, uint32_t device);
  void input_arrived(uint32_t task);
  void task_ready(uint32_t task);
  bool may_start(uint32_t task) const;
  uint32_t next_task(const DeviceState& device) const;
  void remove_next_task(DeviceState& device);
  void start_tasks(uint32_t device);
  uint32_t take_queue(DeviceState& device, uint32_t task);
  void start(uint32_t queue, TimeNs picked_ns);
  void account_waits(uint32_t task, TaskRecord& record, TimeNs picked_ns);
  void finish(uint32_t queue);

  // engine_data.cc
  void send(uint32_t edge, uint32_t from, uint32_t to);
  uint32_t find_copy(uint32_t data, uint32_t device) const;
  uint32_t new_copy(uint32_t data, uint32_t from, uint32_t to);
  void drop_copy(uint32_t copy);
  void transfer_started(uint32_t copy);
  void data_arrived(uint32_t route);
  TransferEvent transfer_event(uint32_t copy, TimeNs time_ns) const;
  void allocate(uint32_t device, Bytes bytes, MemoryUse use, uint32_t data, uint32_t task);
  void release(uint32_t device, Bytes bytes, MemoryUse use, uint32_t data, uint32_t task);
  void allocate_for_start(uint32_t task, uint32_t device);
  void release_after_finish(uint32_t task, uint32_t device);
  void reader_served(uint32_t data, uint32_t count);
  std::string memory_list(uint32_t device) const;

  // engine_host.cc
  void set_up_host();
  void order_host_program(const Schedule& schedule);
  void open_host();
  void run_host();
  void dispatched(uint32_t thread);
  void host_task_finished(uint32_t task);

  // engine_online.cc
  void ask_policy();
  Status apply(const Decision& decision);

  const ExecGraph& graph_;
  const CostTable& costs_;
  const Platform& platform_;
  const SimOptions& options_;
  SimListener* listener_;
  OnlineScheduler* policy_ = nullptr;

  TimeNs now_ = 0;
  EventQueue events_;
  uint64_t event_count_ = 0;
  size_t finished_ = 0;
  Status error_;
  SimResult result_;

  std::vector<TaskState> tasks_;
  std::vector<DeviceState> devices_;
  std::vector<QueueState> queues_;
  std::vector<uint32_t> position_;  // of a task in its device's order; only for ready-first devices

  RouteTable routes_;
  uint32_t ends_;
  FifoNetwork network_;
  std::vector<RouteQueue> in_flight_;  // by route
  std::vector<Copy> copies_;
  std::vector<uint32_t> free_copies_;
  std::vector<uint32_t> copy_head_;    // by data
  std::vector<uint32_t> next_reader_;  // by edge; empty when no data item has two readers
  bool memory_ = false;
  bool keep_copies_ = false;
  std::vector<uint32_t> readers_left_;  // by data: not finished (local) or not sent to (remote)
  std::vector<uint32_t> data_offsets_;  // by task, into data_of_
  std::vector<uint32_t> data_of_;

  bool host_free_ = true;  // dispatch costs nothing and never blocks
  bool host_open_ = false;
  std::vector<HostThread> threads_;
  std::vector<uint32_t> program_;  // tasks in the order of dispatch
  size_t program_next_ = 0;
  uint32_t sync_task_ = kNone;  // the host waits for it

  std::vector<TaskId> newly_ready_;
  std::vector<Decision> decisions_;
  bool ask_ = false;
};

}  // namespace dfsim
