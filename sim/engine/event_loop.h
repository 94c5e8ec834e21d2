// EventLoop: one run. It owns the parts, takes events out of the timeline one by one, and says to
// each part what the others have to know of it.
//
// The parts, from the bottom up; each sees only those above it in this list:
//   Timeline         the clock, events to come, the first error
//   RequestSlots     requests in flight, and the slots of their state
//   TaskTable        how far each task is, and what it waited for
//   DeviceQueues     which task a device takes next, and how fast it runs
//   HostDispatch     the host's threads that hand tasks to devices
//   Transfers        data in flight (over sim/network)
//   DataCopies       copies of data and the tasks that wait for them
//   DeviceMemory, Spill, TensorLifetimes   bytes; only when memory is simulated
//   InputSender      how inputs get to another device
//   PolicyDriver     online policies, when no plan decides
// Nothing is allocated per event.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "schedulers/scheduler.h"
#include "sim/data/data_copies.h"
#include "sim/data/device_memory.h"
#include "sim/data/input_sender.h"
#include "sim/data/spill.h"
#include "sim/data/tensor_lifetimes.h"
#include "sim/data/transfers.h"
#include "sim/engine/device_queues.h"
#include "sim/engine/host_dispatch.h"
#include "sim/engine/policy_driver.h"
#include "sim/engine/policy_view.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/run_mode.h"
#include "sim/engine/task_table.h"
#include "sim/engine/task_times.h"
#include "sim/engine/timeline.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

class EventLoop final : private DecisionTaker {
 public:
  // References must outlive the loop; `listener` may be null. The input has been checked.
  EventLoop(const SimInput& input, const SimOptions& options, const RunMode& mode,
            SimListener* listener, LineKind line)
      : EventLoop(input, options, mode, listener, line, input.graph.has_shared_data()) {}
  ~EventLoop() override = default;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // The decision maker: a plan that fits the input, or policies (`policy`: an OnlineScheduler or a
  // MakePolicy). One of the two, before run(). Errors: weights or tasks that do not fit.
  Status use_plan(const Schedule& schedule, std::vector<uint32_t> placement);
  template <typename Policy>
  void use_policy(const SchedulingProblem& problem, Policy& policy, TimeNs decision_ns = 0) {
    policies_ = std::make_unique<PolicyDriver>(problem, policy, slots_, tasks_, view_, timeline_);
    policies_->think_for(decision_ns);
  }

  StatusOr<SimResult> run();
  // Results of the finished run.
  std::vector<RequestRecord> take_requests() { return slots_.take_records(); }

 private:
  EventLoop(const SimInput& input, const SimOptions& options, const RunMode& mode,
            SimListener* listener, LineKind line, bool shared_data);

  // event_loop.cc: time, requests and devices.
  void run_plan_in_order();
  void run_instant_by_instant();
  void handle(const Event& event);
  void handle_network();
  void use_freed_memory();
  void route_arrived(uint32_t route);
  void host_dispatched(uint32_t thread);
  void request_arrived(uint32_t request);
  void request_finished(uint32_t slot);
  void slot_opened(uint32_t slot);
  SimResult result();
  Status stuck() const;

  // task_flow.cc: a task from its inputs to its finish.
  void place(uint32_t instance, uint32_t device) {
    const TimeNs duration_ns = times_.of(slots_.task_of(instance), device);
    tasks_.place(instance, device, duration_ns);
    queues_.expect(device, duration_ns);
  }
  Status decided(uint32_t slot, const Decision& decision) override;
  void input_arrived(uint32_t instance);
  void task_ready(uint32_t instance);
  void start_tasks(uint32_t device);
  void start(uint32_t queue);
  void finish(uint32_t queue);
  void release_successors(uint32_t instance, uint32_t device);
  void transfer_arrived(uint32_t transfer);
  void copy_arrived(uint32_t copy);
  void data_came_back(uint32_t data, uint32_t device);
  bool may_start(uint32_t instance, uint32_t device) const {
    return tasks_.inputs_there(instance) && host_.lets_start(instance, device);
  }
  // As may_start(), before the request is open: a ready-first device lines it up, and starts it
  // when the request opens.
  bool may_be_queued(uint32_t instance, uint32_t device) const {
    return tasks_.inputs_there(instance) &&
           (!host_.dispatches(device) || tasks_.has(instance, kDispatched));
  }

  const ExecGraph& graph_;
  const Platform& platform_;
  SimListener* listener_;
  Timeline timeline_;
  RequestSlots slots_;
  TaskTable tasks_;
  TaskTimes times_;
  DeviceQueues queues_;
  HostDispatch host_;
  Transfers transfers_;
  DataCopies copies_;
  std::unique_ptr<DeviceMemory> memory_;        // null = memory is not simulated
  std::unique_ptr<Spill> spill_;                // null = tensors do not leave a full memory
  std::unique_ptr<TensorLifetimes> lifetimes_;  // null as memory_
  InputSender sender_;
  PolicyView view_;
  std::unique_ptr<PolicyDriver> policies_;  // null = a plan decides
  std::vector<uint32_t> placement_;         // by task, of a plan
};

}  // namespace dfsim::inline sim
