// Room for instances, the event of an arrival, and the report of waits.
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

void TaskTable::tell_waits(uint32_t instance) const {
  const TaskRecord& record = records_[instance];
  const uint32_t slot = slots_.slot_of(instance);
  TimeNs begin_ns = slots_.arrival_ns(slot);
  for (int r = 0; r < kWaitReasonCount; ++r) {
    const TimeNs end_ns = begin_ns + record.wait_ns[r];
    if (end_ns > begin_ns) {
      listener_->on_task_waited({TaskId(slots_.task_of(instance)), slots_.request_of(slot),
                                 record.device, static_cast<WaitReason>(r), begin_ns, end_ns});
    }
    begin_ns = end_ns;
  }
}

}  // namespace dfsim::inline sim
