// The arrival of inputs and the account of waits.
#include "sim/engine/task_table.h"

#include <algorithm>

namespace dfsim::inline sim {

void TaskTable::grow(uint32_t slot) {
  const size_t instances = static_cast<size_t>(slot + 1) * slots_.task_count();
  if (states_.size() < instances) {
    reserve_large(states_, instances);
    reserve_large(records_, instances);
    states_.resize(instances);
    records_.resize(instances);
  }
}

void TaskTable::note_arrival(uint32_t instance, TimeNs time_ns, uint64_t sequence) {
  TaskState& state = states_[instance];
  if (time_ns < state.arrival_ns) {
    return;
  }
  // Of two at the same instant the later requested one comes later.
  state.arrival_sequence =
      time_ns > state.arrival_ns ? sequence : std::max(state.arrival_sequence, sequence);
  state.arrival_ns = time_ns;
}

// Readers of one copy share its arrival's place in the instant; EventQueue then takes the larger
// instance first, which is the order in which the engine serves the readers of a copy that arrives
// by an event of its own.
void TaskTable::await_inputs(uint32_t instance) {
  TaskState& state = states_[instance];
  if ((state.flags & kAwaited) == 0) {
    state.flags |= kAwaited;
    timeline_.push_at(state.arrival_ns, state.arrival_sequence, kInputsArrived, instance);
  }
}

void TaskTable::decided(uint32_t instance, TimeNs arrival_ns) {
  wait(instance, WaitReason::kDevice) =
      timeline_.now_ns() - std::max(arrival_ns, wait(instance, WaitReason::kDependency));
}

void TaskTable::start(uint32_t instance, uint32_t queue, TimeNs picked_ns, TimeNs end_ns) {
  account_waits(instance, picked_ns);
  TaskRecord& record = records_[instance];
  mark(instance, kStarted);
  record.start_ns = timeline_.now_ns();
  record.end_ns = end_ns;
  record.queue = queue;
}

// Turns the instants noted in the record into waits that follow each other without gaps, in the
// order of WaitReason. The wait for memory is a length of time already, and so is the time for
// which a policy held the task back: it is noted as a wait for the device, and lies between the
// dependency and the link.
void TaskTable::account_waits(uint32_t instance, TimeNs picked_ns) {
  TaskRecord& record = records_[instance];
  const uint32_t slot = slots_.slot_of(instance);
  wait(instance, WaitReason::kLink) = states_[instance].arrival_ns;
  const TimeNs held_ns = wait(instance, WaitReason::kDevice);
  TimeNs cursor = slots_.arrival_ns(slot);
  for (const WaitReason reason : {WaitReason::kDependency, WaitReason::kLink, WaitReason::kHost}) {
    const TimeNs until = wait(instance, reason);
    wait(instance, reason) = std::max<TimeNs>(0, until - cursor);
    cursor = std::max(cursor, until) + (reason == WaitReason::kDependency ? held_ns : 0);
  }
  wait(instance, WaitReason::kDevice) =
      held_ns + picked_ns - wait(instance, WaitReason::kMemory) - cursor;
  wait(instance, WaitReason::kHost) += timeline_.now_ns() - picked_ns;
  TimeNs begin = slots_.arrival_ns(slot);
  for (int r = 0; r < kWaitReasonCount; ++r) {
    const TimeNs wait_ns = record.wait_ns[r];
    total_waits_[r] += wait_ns;
    if (listener_ != nullptr && wait_ns > 0) {
      listener_->on_task_waited({TaskId(slots_.task_of(instance)), slots_.request_of(slot),
                                 record.device, static_cast<WaitReason>(r), begin,
                                 begin + wait_ns});
    }
    begin += wait_ns;
  }
}

}  // namespace dfsim::inline sim
