#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "sim/engine.h"

namespace dfsim::inline sim {

void Engine::place(uint32_t instance, uint32_t device, TimeNs duration_ns) {
  tasks_[instance].device = device;
  TaskRecord& record = records_[instance];
  record.device = DeviceId(device);
  record.end_ns = duration_ns;  // until it starts
  ++devices_[device].unfinished;
  devices_[device].queued_ns += duration_ns;
}

// Tells the readers of a finished task's data; sends what is needed elsewhere.
void Engine::release_successors(uint32_t instance, uint32_t device) {
  const uint32_t task = task_of(instance);
  const uint32_t slot = slot_of(instance);
  const uint32_t base = instance - task;
  const std::span<const Edge> out = graph_.out_edges(TaskId(task));
  const auto first_edge = static_cast<uint32_t>(out.data() - graph_.edges().data());
  for (uint32_t i = 0; i < out.size(); ++i) {
    const uint32_t reader = base + out[i].to.value();
    TaskState& state = tasks_[reader];
    if (--state.preds_left == 0) {
      wait(reader, WaitReason::kDependency) = now_;
      if (online_) {
        now_ready(reader);
      }
    }
    if (state.device == device) {
      input_arrived(reader);
    } else if (state.device != kNone) {
      send(slot, first_edge + i, device, state.device);
    }
  }
  if (!keep_copies_ && look_for_copies_) {
    arrivals_.clear();
    for (const Edge& edge : out) {
      // All of its readers are known: none will look for its copies again.
      copy_head_[data_instance(slot, edge.data.value())] = kNone;
    }
  }
}

// An input is there or known to come.
void Engine::input_arrived(uint32_t instance) {
  TaskState& state = tasks_[instance];
  if (--state.inputs_left > 0) {
    return;
  }
  const DeviceState& device = devices_[state.device];
  if (arrived(state)) {
    task_ready(instance);
  } else if (device.ready_first || (device.free_queues > 0 && next_instance(device) == instance)) {
    await_inputs(instance);
  }  // otherwise its device will ask for it when its turn comes
}

// Readers of one copy share its arrival's place in the instant: the last one comes first, as in
// copy_arrived().
void Engine::await_inputs(uint32_t instance) {
  TaskState& state = tasks_[instance];
  if ((state.flags & kAwaited) == 0) {
    state.flags |= kAwaited;
    events_.push({state.arrival_ns, state.arrival_sequence, kInputsArrived, instance});
  }
}

// Its inputs are there, and the host has made it known to the device.
bool Engine::may_start(uint32_t instance) const {
  const TaskState& state = tasks_[instance];
  if (!inputs_there(state)) {
    return false;
  }
  return host_free_ || devices_[state.device].worker_pool ? slots_[slot_of(instance)].open
                                                          : (state.flags & kDispatched) != 0;
}

void Engine::push_ready(uint32_t instance, DeviceState& device) {
  const TaskState& state = tasks_[instance];
  const bool needs_dispatch = !host_free_ && !device.worker_pool;
  if (inputs_there(state) && (!needs_dispatch || (state.flags & kDispatched) != 0)) {
    const uint64_t request = slots_[slot_of(instance)].request;
    device.ready.push_back(online_ ? uint64_t{position_[instance]} << 32 | instance
                                   : request << 32 | position_[task_of(instance)]);
    std::push_heap(device.ready.begin(), device.ready.end(), std::greater<>());
  }
}

// Its last input has come, or it was dispatched.
void Engine::task_ready(uint32_t instance) {
  const uint32_t d = tasks_[instance].device;
  if (devices_[d].ready_first) {
    push_ready(instance, devices_[d]);
  }
  start_tasks(d);
}

uint32_t Engine::next_instance(const DeviceState& device) const {
  uint64_t request = device.request;
  uint64_t position = device.position;
  if (device.ready_first) {
    if (device.ready.empty()) {
      return kNone;
    }
    request = device.ready.front() >> 32;
    position = device.ready.front() & UINT32_MAX;
    if (online_) {
      return static_cast<uint32_t>(position);
    }
  }
  if (position >= device.order.size()) {
    return kNone;
  }
  if (one_slot_ || online_) {
    return device.order[position];
  }
  const uint32_t slot = request < slot_of_request_.size() ? slot_of_request_[request] : kNone;
  return slot == kNone ? kNone : slot * task_count_ + device.order[position];
}

void Engine::remove_next(DeviceState& device) {
  if (device.ready_first) {
    std::pop_heap(device.ready.begin(), device.ready.end(), std::greater<>());
    device.ready.pop_back();
  } else if (++device.position == device.order.size() && !one_slot_ && !online_) {
    device.position = 0;
    ++device.request;
  }
}

void Engine::start_tasks(uint32_t d) {
  DeviceState& device = devices_[d];
  while (device.free_queues > 0) {
    const uint32_t instance = next_instance(device);
    if (instance == kNone) {
      return;
    }
    if (!may_start(instance)) {
      if (spill_) {
        fetch_inputs(instance, d);
      } else if (tasks_[instance].inputs_left == 0 && !arrived(tasks_[instance])) {
        await_inputs(instance);
      }
      return;
    }
    if (memory_ && !admit(instance, d)) {
      return;
    }
    remove_next(device);
    const uint32_t queue = take_queue(device, instance);
    if (device.worker_pool && dispatch_ns(task_of(instance)) > 0) {
      result_.host_busy_ns += dispatch_ns(task_of(instance));
      queues_[queue].picked_ns = now_;
      events_.push(now_ + dispatch_ns(task_of(instance)), kWorkerReady, queue);
    } else {
      start(queue, now_);
    }
  }
}

uint32_t Engine::take_queue(DeviceState& device, uint32_t instance) {
  uint32_t queue = device.first_queue;
  while (queues_[queue].instance != kNone) {
    ++queue;
  }
  queues_[queue].instance = instance;
  tasks_[instance].flags |= kPicked;
  --device.free_queues;
  return queue;
}

void Engine::worker_ready(uint32_t queue) { start(queue, queues_[queue].picked_ns); }

// Turns the instants noted in the record into waits. Memory's is a wait already.
void Engine::account_waits(uint32_t instance, TimeNs picked_ns) {
  TaskRecord& record = records_[instance];
  const Slot& slot = slots_[slot_of(instance)];
  if (host_free_ || devices_[tasks_[instance].device].worker_pool) {
    wait(instance, WaitReason::kHost) = slot.open_ns;
  }
  wait(instance, WaitReason::kLink) = tasks_[instance].arrival_ns;
  // What an online policy held it back after it was ready, noted at the decision.
  const TimeNs held_ns = wait(instance, WaitReason::kDevice);
  TimeNs cursor = slot.arrival_ns;
  for (const WaitReason reason : {WaitReason::kDependency, WaitReason::kLink, WaitReason::kHost}) {
    const TimeNs until = wait(instance, reason);
    wait(instance, reason) = std::max<TimeNs>(0, until - cursor);
    cursor = std::max(cursor, until) + (reason == WaitReason::kDependency ? held_ns : 0);
  }
  wait(instance, WaitReason::kDevice) =
      held_ns + picked_ns - wait(instance, WaitReason::kMemory) - cursor;
  wait(instance, WaitReason::kHost) += now_ - picked_ns;
  TimeNs begin = slot.arrival_ns;
  for (int r = 0; r < kWaitReasonCount; ++r) {
    const TimeNs wait_ns = record.wait_ns[r];
    result_.wait_ns[r] += wait_ns;
    if (listener_ != nullptr && wait_ns > 0) {
      listener_->on_task_waited({TaskId(task_of(instance)), slot.request, record.device,
                                 static_cast<WaitReason>(r), begin, begin + wait_ns});
    }
    begin += wait_ns;
  }
}

void Engine::start(uint32_t queue, TimeNs picked_ns) {
  QueueState& state = queues_[queue];
  const uint32_t instance = state.instance;
  DeviceState& device = devices_[state.device];
  TaskRecord& record = records_[instance];
  const TimeNs duration = record.end_ns;
  if (__builtin_add_overflow(now_, duration, &record.end_ns)) {
    return fail(invalid_input(fmt::format("task '{}' would end after the clock's last nanosecond",
                                          printable(graph_.name(TaskId(task_of(instance)))))));
  }
  account_waits(instance, picked_ns);
  tasks_[instance].flags |= kStarted;
  record.start_ns = now_;
  record.queue = queue - device.first_queue;
  state.end_ns = record.end_ns;
  device.queued_ns -= duration;
  if (listener_ != nullptr) {
    listener_->on_task_started({now_, TaskId(task_of(instance)), slots_[slot_of(instance)].request,
                                record.device, record.queue});
  }
  if (device.slows_down) {
    state.work_left_ns = static_cast<double>(duration);
    state.updated_ns = now_;
    if (device.active_transfers > 0) {
      state.end_ns = slowed_end(state, device);
    }
  }
  state.end_sequence = events_.take_sequence();
  events_.push({state.end_ns, state.end_sequence, kTaskFinished, queue});
  fetch_ahead(instance, device);
}

// What its finish will touch: in large graphs it is far away in memory.
void Engine::fetch_ahead(uint32_t instance, const DeviceState& device) const {
  const uint32_t task = task_of(instance);
  for (const Edge& edge : graph_.out_edges(TaskId(task))) {
    __builtin_prefetch(&tasks_[instance - task + edge.to.value()]);
  }
  if (one_slot_ && device.position < device.order.size()) {
    const uint32_t next = device.order[device.position];
    __builtin_prefetch(&tasks_[next]);
    __builtin_prefetch(&records_[next]);
  }
}

TimeNs Engine::slowed_end(const QueueState& queue, const DeviceState& device) const {
  const double factor =
      device.active_transfers > 0 ? platform_.devices[queue.device].overlap_slowdown : 1.0;
  constexpr double kMost = 4e18;
  return queue.updated_ns + static_cast<TimeNs>(std::min(queue.work_left_ns * factor, kMost) + 0.5);
}

// A transfer at this device has begun (+1) or let go (-1): what runs there changes its speed when
// it is the first or the last one.
void Engine::change_speed(uint32_t d, int transfers) {
  if (d >= devices_.size() || !devices_[d].slows_down) {
    return;
  }
  DeviceState& device = devices_[d];
  const double old_factor =
      device.active_transfers > 0 ? platform_.devices[d].overlap_slowdown : 1.0;
  const bool was_active = device.active_transfers > 0;
  device.active_transfers += static_cast<uint32_t>(transfers);
  if (was_active == (device.active_transfers > 0)) {
    return;
  }
  for (uint32_t q = device.first_queue; q < device.first_queue + device.queues; ++q) {
    QueueState& queue = queues_[q];
    if (queue.instance == kNone || (tasks_[queue.instance].flags & kStarted) == 0) {
      continue;
    }
    queue.work_left_ns = std::max(
        0.0, queue.work_left_ns - static_cast<double>(now_ - queue.updated_ns) / old_factor);
    queue.updated_ns = now_;
    queue.end_ns = slowed_end(queue, device);
    queue.end_sequence = events_.take_sequence();
    events_.push({queue.end_ns, queue.end_sequence, kTaskFinished, q});
  }
}

void Engine::finish(uint32_t queue) {
  QueueState& state = queues_[queue];
  const uint32_t instance = state.instance;
  const uint32_t d = state.device;
  DeviceState& device = devices_[d];
  TaskRecord& record = records_[instance];
  const uint32_t slot = slot_of(instance);
  state.instance = kNone;
  ++device.free_queues;
  --device.unfinished;
  record.end_ns = now_;
  DeviceUse& use = result_.devices[d];
  use.busy_ns += now_ - record.start_ns;
  ++use.tasks;
  tasks_[instance].flags |= kFinished;
  if (listener_ != nullptr) {
    listener_->on_task_finished({now_, TaskId(task_of(instance)), slots_[slot].request, DeviceId(d),
                                 queue - device.first_queue});
  }
  release_successors(instance, d);
  if (memory_) {
    release_after_finish(instance, d);
  }
  if (!host_free_) {
    host_task_finished(instance);
  }
  if (--slots_[slot].tasks_left == 0) {
    request_finished(slot);
  }
  ask_ = ask_ || online_;
  start_tasks(d);
}

}  // namespace dfsim::inline sim
