// TaskTable: how far each instance of a task is, which device it is on, and what it waited for.
//
// One TaskState and one TaskRecord per instance, in flat arrays: a run of a million tasks spends
// most of its time fetching them from memory, so they hold what readiness needs and nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/large_pages.h"
#include "graphs/ir/exec_graph.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/timeline.h"
#include "sim/listener.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

enum TaskFlag : uint32_t {
  kDispatched = 1,  // by the host
  kPicked = 2,      // has a queue of its device
  kStarted = 4,
  kFinished = 8,
  kAwaited = 16,  // an event will say that its inputs are there
};

struct TaskState {
  uint32_t inputs_left = 0;  // in-edges whose data is not on the device, or not known to come
  uint32_t preds_left = 0;   // in-edges whose producer has not finished
  uint32_t device = kNoIndex;
  uint32_t flags = 0;  // of TaskFlag
  // When the last of its inputs that came over links was or will be there, and which place that
  // has among the events of the instant.
  TimeNs arrival_ns = 0;
  uint64_t arrival_sequence = 0;
};

class TaskTable {
 public:
  // References must outlive the table; `listener` may be null.
  TaskTable(const ExecGraph& graph, const RequestSlots& slots, Timeline& timeline,
            SimListener* listener)
      : graph_(graph), slots_(slots), timeline_(timeline), listener_(listener) {}

  // Room for the instances of this slot and all before it; new ones need reset().
  void grow(uint32_t slot);
  // A new request: the instance has all of its inputs before it and no device.
  void reset(uint32_t instance, uint32_t task) {
    const auto inputs = static_cast<uint32_t>(graph_.in_degree(TaskId(task)));
    states_[instance] = TaskState{inputs, inputs, kNoIndex, 0, 0, 0};
    records_[instance] = TaskRecord{};
  }
  void place(uint32_t instance, uint32_t device, TimeNs duration_ns) {
    states_[instance].device = device;
    records_[instance].device = DeviceId(device);
    records_[instance].end_ns = duration_ns;  // until it starts
  }

  size_t size() const { return states_.size(); }
  TaskState& state(uint32_t instance) { return states_[instance]; }
  const TaskState& state(uint32_t instance) const { return states_[instance]; }
  const TaskRecord& record(uint32_t instance) const { return records_[instance]; }
  uint32_t device_of(uint32_t instance) const { return states_[instance].device; }
  uint32_t producer_device(uint32_t slot, uint32_t data) const {
    return states_[slots_.instance(slot, graph_.data_producer(DataId(data)).value())].device;
  }
  bool has(uint32_t instance, TaskFlag flag) const { return (states_[instance].flags & flag) != 0; }
  void mark(uint32_t instance, TaskFlag flag) { states_[instance].flags |= flag; }
  // For an instance that has been placed and has not started.
  TimeNs duration_ns(uint32_t instance) const { return records_[instance].end_ns; }

  // A predecessor has finished; returns whether it was the last one.
  bool predecessor_finished(uint32_t instance) {
    if (--states_[instance].preds_left > 0) {
      return false;
    }
    wait(instance, WaitReason::kDependency) = timeline_.now_ns();
    return true;
  }
  // An input is there or known to come; returns whether none is missing any more.
  bool input_came(uint32_t instance) { return --states_[instance].inputs_left == 0; }
  // An input has come over links just now.
  void note_arrival(uint32_t instance) { states_[instance].arrival_ns = timeline_.now_ns(); }
  // An input will come over links at `time_ns`, at the place `sequence` of that instant.
  void note_arrival(uint32_t instance, TimeNs time_ns, uint64_t sequence) {
    TaskState& state = states_[instance];
    if (time_ns < state.arrival_ns) {
      return;
    }
    // At the same instant, the one requested later comes later.
    state.arrival_sequence =
        time_ns > state.arrival_ns ? sequence : std::max(state.arrival_sequence, sequence);
    state.arrival_ns = time_ns;
  }
  bool inputs_there(uint32_t instance) const {
    const TaskState& state = states_[instance];
    return state.inputs_left == 0 && timeline_.reached(state.arrival_ns, state.arrival_sequence);
  }
  // All inputs are known to come, and some are still on their way.
  bool inputs_on_their_way(uint32_t instance) const {
    return states_[instance].inputs_left == 0 && !inputs_there(instance);
  }
  // Schedules an event for the arrival of the inputs, unless there is one.
  void await_inputs(uint32_t instance);

  // The host has handed it to its device now.
  void dispatched(uint32_t instance) {
    mark(instance, kDispatched);
    wait(instance, WaitReason::kHost) = timeline_.now_ns();
  }
  // It could be dispatched from `time_ns` on, and needs no dispatch.
  void dispatchable_since(uint32_t instance, TimeNs time_ns) {
    wait(instance, WaitReason::kHost) = time_ns;
  }
  // A policy decided on it now; it was ready before, and held back in the meantime.
  void decided(uint32_t instance, TimeNs arrival_ns);
  // It starts now, after having waited `memory_ns` for memory.
  void waited_for_memory(uint32_t instance, TimeNs memory_ns) {
    wait(instance, WaitReason::kMemory) = memory_ns;
  }
  // It runs from now to `end_ns`; a queue picked it at `picked_ns`.
  void start(uint32_t instance, uint32_t queue, TimeNs picked_ns, TimeNs end_ns) {
    account_waits(instance, picked_ns);
    mark(instance, kStarted);
    TaskRecord& record = records_[instance];
    record.start_ns = timeline_.now_ns();
    record.end_ns = end_ns;
    record.queue = queue;
  }
  void finish(uint32_t instance) {
    records_[instance].end_ns = timeline_.now_ns();
    mark(instance, kFinished);
  }

  // More than a core's own caches hold (3 MB): only then is asking ahead worth its instructions.
  bool exceeds_caches() const { return states_.size() > (size_t{1} << 15); }
  // Asks for what the finish of a task will touch: in large graphs it is far away in memory.
  void prefetch(uint32_t instance) const {
    __builtin_prefetch(&states_[instance]);
    __builtin_prefetch(&records_[instance]);
  }
  void prefetch_readers(uint32_t base, uint32_t task) const {
    for (const Edge& edge : graph_.out_edges(TaskId(task))) {
      __builtin_prefetch(&states_[base + edge.to.value()]);
    }
  }

  const WaitTimes& total_waits() const { return total_waits_; }
  std::vector<TaskRecord> take_records() { return std::move(records_); }

 private:
  // Holds instants until the start turns them into waits.
  TimeNs& wait(uint32_t instance, WaitReason reason) {
    return records_[instance].wait_ns[static_cast<int>(reason)];
  }
  void account_waits(uint32_t instance, TimeNs picked_ns);
  void tell_waits(uint32_t instance) const;

  const ExecGraph& graph_;
  const RequestSlots& slots_;
  Timeline& timeline_;
  SimListener* listener_;
  std::vector<TaskState> states_;
  std::vector<TaskRecord> records_;
  WaitTimes total_waits_{};
};

// Turns the instants noted in the record into waits that follow each other without gaps, in the
// order of WaitReason. The wait for memory is a length of time already, and so is the time for
// which a policy held the task back: it is noted as a wait for the device, and lies between the
// dependency and the link. Every task passes here, so it is written out instead of a loop.
inline void TaskTable::account_waits(uint32_t instance, TimeNs picked_ns) {
  WaitTimes& waits = records_[instance].wait_ns;
  auto& [dependency, link, host, device, memory] = waits;
  const TimeNs begin_ns = slots_.arrival_ns(slots_.slot_of(instance));
  const TimeNs held_ns = device;
  const TimeNs link_until = states_[instance].arrival_ns;
  const TimeNs ready_ns = std::max(begin_ns, dependency);
  dependency = ready_ns - begin_ns;
  const TimeNs decided_ns = ready_ns + held_ns;
  const TimeNs there_ns = std::max(decided_ns, link_until);
  link = there_ns - decided_ns;
  const TimeNs dispatched_ns = std::max(there_ns, host);
  host = dispatched_ns - there_ns + timeline_.now_ns() - picked_ns;
  device = held_ns + picked_ns - memory - dispatched_ns;
  for (int r = 0; r < kWaitReasonCount; ++r) {
    total_waits_[r] += waits[r];
  }
  if (listener_ != nullptr) {
    tell_waits(instance);
  }
}

}  // namespace dfsim::inline sim
