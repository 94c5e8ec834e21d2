// Engine: the state of one run and what events do to it. Internal to sim/; use simulator.h.
//
// Flat arrays over tasks, data items and edges; nothing is allocated per event. Several requests
// may be in flight: each occupies a slot, a copy of the per-task and per-data arrays, used again
// when the request is done. An *instance* is a task in a slot (slot * tasks + task); likewise for
// data items. Split by concern: engine.cc (set-up, event loop, result), engine_requests.cc
// (arrivals, slots), engine_tasks.cc (readiness, start, finish), engine_data.cc (transfers),
// engine_memory.cc (lifetimes, capacity), engine_spill.cc (to the host and back), engine_host.cc
// (dispatch), engine_online.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hardware/route.h"
#include "sim/event_queue.h"
#include "sim/fifo_network.h"
#include "sim/flow_network.h"
#include "sim/requests.h"
#include "sim/simulator.h"

namespace dfsim::inline sim {

// What a run has beyond SimOptions: set by the modes of simulator.h and requests.h.
struct EngineMode {
  // Requests and when they come; a single run is one request at 0.
  size_t requests = 1;
  size_t in_flight = 0;             // closed loop; 0 = the arrivals below
  std::vector<TimeNs> arrivals_ns;  // ascending, one per request; empty = closed loop or single run
  // Standard-normal draws per cost row or task (noise); empty = the costs as they are.
  std::vector<float> deviations;
  bool deviation_per_row = false;
};

class Engine final : public OnlineView {
 public:
  Engine(const SimInput& input, const SimOptions& options, const EngineMode& mode,
         SimListener* listener);

  StatusOr<SimResult> run(const Schedule& schedule);
  StatusOr<SimResult> run(OnlineScheduler& policy);
  // A policy of its own for each request in flight.
  StatusOr<SimResult> run(const MakePolicy& make_policy);
  // Of the finished run: when each request came and was done.
  const std::vector<RequestRecord>& requests() const { return requests_; }

  // OnlineView.
  TimeNs now_ns() const override { return now_; }
  TimeNs available_ns(DeviceId device) const override;
  size_t unfinished_tasks(DeviceId device) const override;
  Bytes free_bytes(DeviceId device) const override;
  bool has_data(DataId data, DeviceId device) const override;
  DeviceId device_of(TaskId task) const override {
    return DeviceId(tasks_[asked_slot_ * task_count_ + task.index()].device);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  enum EventKind : uint32_t {
    kTaskFinished,     // payload: queue
    kRouteArrived,     // payload: route; its first transfer is there
    kTransferArrived,  // payload: transfer
    kRequestArrived,   // payload: request
    kHostOpened,       // payload: slot; the overhead of its run is over
    kHostDispatched,   // payload: host thread
    kWorkerReady,      // payload: queue; a worker of a pool has set up its task
    // From here on no events of the machine, and not counted as such.
    kInputsArrived,     // payload: instance; what its device waits for is there
    kTransferStarted,   // payload: transfer; only with a listener
    kTransferFinished,  // the same, where arrivals are known
  };
  enum Flag : uint32_t {
    kDispatched = 1,
    kPicked = 2,
    kStarted = 4,
    kFinished = 8,
    kAwaited = 16,  // an event will tell that its inputs are there
  };
  // Where a data item of a device's memory is, under MemoryPolicy::kSpill.
  enum class Home : uint8_t { kOnDevice, kSpilling, kOnHost, kFetching };

  struct TaskState {
    uint32_t inputs_left = 0;  // in-edges whose data is not on the device, or not known to come
    uint32_t preds_left = 0;   // in-edges whose producer has not finished
    uint32_t device = kNone;
    uint32_t flags = 0;
    // When the last of its inputs that came over links was or will be there, and which place that
    // has among the events of the instant.
    TimeNs arrival_ns = 0;
    uint64_t arrival_sequence = 0;
  };
  // Of a data item at a device, where arrivals are known.
  struct Arrival {
    uint32_t device = 0;
    uint32_t next = kNone;  // of the same data
    TimeNs time_ns = 0;
    uint64_t sequence = 0;
  };
  struct QueueState {
    uint32_t instance = kNone;
    uint32_t device = 0;
    TimeNs end_ns = 0;
    uint64_t end_sequence = 0;  // of the valid end event
    double work_left_ns = 0;    // at full speed; only on devices that overlap slows down
    TimeNs updated_ns = 0;
    TimeNs picked_ns = 0;  // by a worker that sets it up first
  };
  struct DeviceState {
    std::vector<uint32_t> order;  // tasks as planned, instances as decided
    // Ready first: a heap, smallest on top, of (request, position in the plan's order) or (number
    // of the decision, instance).
    std::vector<uint64_t> ready;
    uint32_t position = 0;  // in order: the next task, of this request
    uint32_t request = 0;
    uint32_t first_queue = 0;
    uint32_t queues = 1;
    uint32_t free_queues = 1;
    uint32_t launched = 0;    // dispatched and not finished
    uint32_t unfinished = 0;  // decided and not finished
    bool ready_first = false;
    bool worker_pool = false;       // queues are workers that pay for their own dispatch
    bool slows_down = false;        // by overlap with transfers
    uint32_t active_transfers = 0;  // that slow it down
    TimeNs queued_ns = 0;           // costs of decided tasks that have not started
    uint32_t blocked = kNone;       // instance that waits for memory, first in line
    TimeNs blocked_since_ns = 0;
    Bytes memory_in_use = 0;
    Bytes memory_leaving = 0;              // being spilled: free soon
    std::vector<uint32_t> waiting_copies;  // copies without memory, in order of request
    std::set<uint32_t> spillable;          // data items whole on the device
  };
  // Spill state of a data item on a device.
  struct Location {
    Home home = Home::kOnDevice;
    bool host_copy = false;  // the host holds it too
    bool dead = false;       // freed as soon as it has left
    uint32_t pins = 0;       // running readers and transfers out of it
  };
  // A data item on, or on its way to, a device that did not produce it.
  struct Copy {
    uint32_t data = 0;  // of the graph
    uint32_t slot = 0;
    uint32_t device = 0;
    uint32_t next = kNone;          // copy of the same data
    uint32_t first_reader = kNone;  // edge; further ones by next_reader_
    uint32_t readers_left = 0;      // that have not finished
    bool present = false;
    Location at;
  };
  // Data under way. Purpose kInput carries a copy; kSpill and kFetch a copy or a data item's home.
  struct Transfer {
    uint32_t data = 0;
    uint32_t slot = 0;
    uint32_t copy = kNone;
    uint32_t edge = kNone;  // instead of a copy: its only reader, when nobody asks where copies are
    uint32_t from = 0;      // ends of the route table
    uint32_t to = 0;
    uint32_t next = kNone;  // requested after this one on the same route; of free ones: a free one
    TransferPurpose purpose = TransferPurpose::kInput;
    TimeNs requested_ns = 0;
    TimeNs arrive_ns = 0;
    uint64_t sequence = 0;
  };
  struct RouteQueue {
    uint32_t first = kNone;
    uint32_t last = kNone;
  };
  struct RouteUse {
    size_t transfers = 0;
    Bytes input_bytes = 0;
    Bytes spill_bytes = 0;
    bool reachable = false;
  };
  struct HostThread {
    uint32_t instance = kNone;  // being dispatched, or waited for when synchronous
    bool busy = false;
  };
  struct Slot {
    uint32_t request = kNone;
    uint32_t tasks_left = 0;
    bool open = false;  // the run's overhead is over
    TimeNs arrival_ns = 0;
    TimeNs open_ns = 0;
    std::vector<TaskId> newly_ready;  // for its policy
  };
  uint32_t task_of(uint32_t instance) const {
    return one_slot_ ? instance : instance % task_count_;
  }
  uint32_t slot_of(uint32_t instance) const { return one_slot_ ? 0 : instance / task_count_; }
  uint32_t data_instance(uint32_t slot, uint32_t data) const { return slot * data_count_ + data; }
  uint32_t producer_device(uint32_t slot, uint32_t data) const {
    return tasks_[slot * task_count_ + graph_.data_producer(DataId(data)).value()].device;
  }
  TimeNs& wait(uint32_t instance, WaitReason reason) {
    return records_[instance].wait_ns[static_cast<int>(reason)];
  }

  // engine.cc
  Status prepare();
  Status check_inputs() const;
  Status check_spill() const;
  Status adopt(const Schedule& schedule);
  Status adopt_orders(const Schedule& schedule);
  void set_up_devices();
  void set_up_data();
  void loop();
  void loop_online_or_fair();
  void handle(const Event& event);
  StatusOr<SimResult> finish_run();
  Status stuck() const;
  void fail(Status status);

  // engine_requests.cc
  void schedule_arrivals();
  void request_arrived(uint32_t request);
  void fill_slot(uint32_t slot);
  void request_finished(uint32_t slot);
  TimeNs duration_of(uint32_t task, uint32_t device) const;

  // engine_tasks.cc
  void place(uint32_t instance, uint32_t device, TimeNs duration_ns);
  void release_successors(uint32_t instance, uint32_t device);
  void input_arrived(uint32_t instance);
  bool arrived(const TaskState& state) const {
    return state.arrival_ns < now_ ||
           (state.arrival_ns == now_ && state.arrival_sequence <= sequence_);
  }
  void await_inputs(uint32_t instance);
  void task_ready(uint32_t instance);
  void push_ready(uint32_t instance, DeviceState& device);
  bool inputs_there(const TaskState& state) const {
    return state.inputs_left == 0 && arrived(state);
  }
  bool may_start(uint32_t instance) const;
  uint32_t next_instance(const DeviceState& device) const;
  void remove_next(DeviceState& device);
  void start_tasks(uint32_t device);
  uint32_t take_queue(DeviceState& device, uint32_t instance);
  void start(uint32_t queue, TimeNs picked_ns);
  void fetch_ahead(uint32_t instance, const DeviceState& device) const;
  void account_waits(uint32_t instance, TimeNs picked_ns);
  void worker_ready(uint32_t queue);
  TimeNs slowed_end(const QueueState& queue, const DeviceState& device) const;
  void finish(uint32_t queue);
  void change_speed(uint32_t device, int transfers);

  // engine_data.cc
  void send(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to);
  void send_unshared(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to);
  void send_booked(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to);
  Arrival book(uint32_t slot, uint32_t data, uint32_t from, uint32_t to);
  bool check_route(uint32_t data, uint32_t from, uint32_t to) {
    return route_use_[from * ends_ + to].reachable || no_route(data, from, to);
  }
  bool no_route(uint32_t data, uint32_t from, uint32_t to);
  uint32_t find_copy(uint32_t data_instance, uint32_t device) const;
  uint32_t new_copy(uint32_t slot, uint32_t data, uint32_t from, uint32_t to);
  void send_copy(uint32_t copy);
  uint32_t take_transfer(const Transfer& what);
  void start_transfer(const Transfer& what);
  void sum_up_transfers();
  void transfer_started(uint32_t transfer);
  void pop_route(uint32_t route);
  void transfer_arrived(uint32_t transfer);
  void transfer_finished(uint32_t transfer);
  void copy_arrived(uint32_t copy);
  void unshared_arrived(uint32_t slot, uint32_t edge);
  void handle_flows();
  TransferEvent transfer_event(uint32_t transfer) const;

  // engine_memory.cc
  bool fits(uint32_t device, Bytes bytes) const;
  bool must_wait_for_memory(uint32_t device, Bytes bytes) const;
  void allocate(uint32_t device, Bytes bytes, MemoryUse use, uint32_t slot, uint32_t id);
  void release(uint32_t device, Bytes bytes, MemoryUse use, uint32_t slot, uint32_t id);
  MemoryEvent memory_event(uint32_t device, Bytes bytes, MemoryUse use, uint32_t slot,
                           uint32_t id) const;
  Status allocate_residents();
  Bytes bytes_for_start(uint32_t task) const;
  bool admit(uint32_t instance, uint32_t device);
  void allocate_for_start(uint32_t instance, uint32_t device);
  void release_after_finish(uint32_t instance, uint32_t device);
  void reader_served(uint32_t slot, uint32_t data);
  void drop_home(uint32_t slot, uint32_t data);
  void free_outputs(uint32_t slot);
  void drop_copy(uint32_t copy);
  void use_freed_memory();
  Status check_capacity() const;
  Status check_fits_ever(uint32_t task, uint32_t device) const;
  std::string memory_list(uint32_t device) const;

  // engine_spill.cc
  Location* location(uint32_t data, uint32_t device);
  MemoryUse use_of(uint32_t data, uint32_t device) const {
    return producer_device(0, data) == device ? MemoryUse::kTensor : MemoryUse::kCopy;
  }
  void came_to_device(uint32_t data, uint32_t device);
  bool left_memory(Location& at, uint32_t data, uint32_t device);
  uint32_t next_reader(uint32_t data, uint32_t device) const;
  bool make_room(uint32_t device, Bytes bytes, uint32_t task);
  void spill(uint32_t data, uint32_t device);
  void spilled(const Transfer& transfer);
  void fetched(const Transfer& transfer);
  void fetch_inputs(uint32_t task, uint32_t device);
  void count_local_readers(uint32_t data, uint32_t device, bool there);
  void pin_inputs(uint32_t task, uint32_t device, int by);

  // engine_host.cc
  void set_up_host();
  TimeNs dispatch_ns(uint32_t task) const;
  void order_host_program(const Schedule& schedule);
  std::vector<uint32_t> planned_order(const Schedule& schedule) const;
  void run_host();
  bool host_next(HostThread& thread, uint32_t index);
  void slot_opened(uint32_t slot);
  void dispatched(uint32_t thread);
  void host_task_finished(uint32_t instance);

  // engine_online.cc
  StatusOr<SimResult> run_online();
  void begin_policy(uint32_t slot);
  void now_ready(uint32_t instance);
  void ask_policies();
  Status ask_policy(uint32_t slot);
  Status apply(const Decision& decision);
  void line_up(uint32_t instance, uint32_t device);
  Status decide_memory(uint32_t task, uint32_t device);
  void forget_copies(uint32_t slot);

  const ExecGraph& graph_;
  const CostTable& costs_;
  const Platform& platform_;
  const SimOptions& options_;
  const EngineMode& mode_;
  SimListener* listener_;
  bool online_ = false;                     // policies decide, not a plan
  std::vector<OnlineScheduler*> policies_;  // by slot
  std::vector<std::unique_ptr<OnlineScheduler>> own_policies_;
  const MakePolicy* make_policy_ = nullptr;  // for more slots
  const SchedulingProblem* problem_ = nullptr;

  TimeNs now_ = 0;
  uint64_t sequence_ = 0;  // of the event being handled
  EventQueue events_;
  uint64_t event_count_ = 0;
  Status error_;
  SimResult result_;

  uint32_t task_count_ = 0;
  uint32_t data_count_ = 0;
  bool one_slot_ = true;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> slot_of_request_;
  std::vector<RequestRecord> requests_;
  size_t arrived_ = 0;
  size_t requests_done_ = 0;
  std::vector<uint32_t> placement_;  // by task, of a static plan

  std::vector<TaskState> tasks_;     // by instance
  std::vector<TaskRecord> records_;  // by instance
  std::vector<DeviceState> devices_;
  std::vector<QueueState> queues_;
  // Only for ready-first devices: of a task in its device's order, or the number of an instance's
  // decision.
  std::vector<uint32_t> position_;

  RouteTable routes_;
  uint32_t ends_;
  FifoNetwork fifo_;
  std::optional<FlowNetwork> flows_;  // instead of fifo_ where links are fair or overlap matters
  std::vector<FlowEvent> flow_events_;
  std::vector<RouteQueue> in_flight_;  // by route
  std::vector<Transfer> transfers_;
  uint32_t free_transfer_ = kNone;  // first of a list
  // Links serve transfers in the order of request, so a transfer's arrival is known when it is
  // requested: where nobody asks what is under way (no memory, no online policy), it needs no
  // event.
  bool arrivals_known_ = false;
  std::vector<Arrival> arrivals_;  // of the task that has finished, where data has several readers
  std::vector<Copy> copies_;
  std::vector<uint32_t> free_copies_;
  std::vector<uint32_t> copy_head_;    // by data instance, into copies_ or arrivals_
  std::vector<uint32_t> next_reader_;  // by edge and slot; empty: no data item has two readers
  bool keep_copies_ = false;
  bool shared_data_ = false;         // some data item has two readers
  bool look_for_copies_ = false;     // data may be on its way to a device already
  std::vector<RouteUse> route_use_;  // by route

  bool memory_ = false;
  bool spill_ = false;
  bool waits_for_memory_ = false;  // policies wait and spill
  std::vector<uint32_t>
      readers_left_;  // by data instance: not finished (local) or sent to (remote)
  std::vector<uint32_t> data_offsets_;  // by task, into data_of_
  std::vector<uint32_t> data_of_;
  std::vector<Bytes> resident_;    // by device
  std::vector<bool> resident_of_;  // online: by task and device, whether the weights are there
  std::vector<Location> homes_;    // by data, where it was produced; only to spill
  Bytes host_memory_in_use_ = 0;
  std::vector<uint32_t> freed_;  // devices with memory freed, or to be looked for anew

  bool host_free_ = true;  // dispatch costs nothing and never blocks
  std::vector<HostThread> threads_;
  std::vector<uint32_t> program_;  // in the order of dispatch: tasks as planned, decided instances
  std::vector<uint8_t> sync_after_;
  size_t program_next_ = 0;
  uint32_t program_request_ = 0;
  bool opening_ = false;            // a thread is busy with the overhead of a run
  uint32_t sync_instance_ = kNone;  // the host waits for it

  std::vector<Decision> decisions_;
  std::vector<uint32_t> asked_;  // slots, in the order of their requests
  uint32_t asked_slot_ = 0;      // whose policy is being asked
  uint32_t decided_ = 0;
  bool ask_ = false;
};

}  // namespace dfsim::inline sim
