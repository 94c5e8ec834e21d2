// InvariantChecker: listens to a run and says what it did that no machine could do. For tests.
//
// Checked: no queue runs two tasks at once and queues exist; a task starts after its predecessors
// finished, its inputs arrived and its request came; it takes its cost, or more where overlap slows
// it down; waits have no gaps and add up to start - arrival; what is sent arrives, once, and no
// faster than its way allows; memory is never negative, never over an enforced capacity, and the
// books balance; FIFO channels carry one transfer at a time; makespan is at least the critical path
// and the work per device; the result's sums agree with the events.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/listener.h"
#include "sim/requests.h"
#include "sim/simulator.h"

namespace dfsim::inline sim {

class InvariantChecker final : public SimListener {
 public:
  // References must outlive the checker.
  InvariantChecker(const SimInput& input, const SimOptions& options);

  void on_task_dispatched(const DispatchEvent& event) override;
  void on_task_waited(const WaitEvent& event) override;
  void on_task_started(const TaskEvent& event) override;
  void on_task_finished(const TaskEvent& event) override;
  void on_transfer_started(const TransferEvent& event) override;
  void on_transfer_finished(const TransferEvent& event) override;
  void on_memory_allocated(const MemoryEvent& event) override;
  void on_memory_freed(const MemoryEvent& event) override;
  void on_request_arrived(uint32_t request, TimeNs time_ns) override;
  void on_request_finished(uint32_t request, TimeNs time_ns) override;

  // After the run: also compares with its result. The first few violations, one a line; "" = none.
  std::string violations(const SimResult& result, size_t requests = 1);

 private:
  struct TaskSeen {
    TimeNs start_ns = -1;
    TimeNs end_ns = -1;
    TimeNs waited_until_ns = -1;
    DeviceId device;
    WaitTimes wait_ns{};
  };
  struct Moving {
    TimeNs start_ns = 0;
    Bytes bytes = 0;
  };
  using TaskKey = std::pair<uint32_t, TaskId>;             // request, task
  using DataKey = std::tuple<uint32_t, DataId, DeviceId>;  // request, data, device

  void complain(std::string what);
  void tick(TimeNs time_ns);
  void check_inputs(const TaskEvent& event);
  void check_result(const SimResult& result, size_t requests);
  void check_bounds(const SimResult& result, size_t requests);

  SimInput input_;
  SimOptions options_;
  std::vector<std::string> complaints_;
  TimeNs now_ = 0;
  std::map<TaskKey, TaskSeen> tasks_;
  std::map<std::pair<DeviceId, uint32_t>, TaskKey> running_;
  std::map<DataKey, TimeNs> arrived_;
  std::map<uint64_t, Moving> moving_;
  std::map<uint32_t, TimeNs> channel_user_;  // FIFO channel: end of the last holder's wire time
  std::map<uint32_t, TimeNs> arrivals_;      // of requests
  std::vector<Bytes> memory_;
  std::vector<Bytes> peaks_;
  std::vector<Bytes> resident_;  // weights: what many requests leave in memory
  WaitTimes wait_ns_{};
  Bytes sent_ = 0;
  Bytes received_ = 0;
  Bytes moved_ = 0;
  TimeNs last_finish_ns_ = 0;
  size_t requests_finished_ = 0;
};

}  // namespace dfsim::inline sim
