#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "sim/engine.h"

namespace dfsim {

void Engine::place(uint32_t task, uint32_t device, TimeNs duration_ns) {
  tasks_[task].device = device;
  TaskRecord& record = result_.tasks[task];
  record.device = DeviceId(device);
  record.end_ns = duration_ns;  // until it starts
  ++devices_[device].unfinished;
  devices_[device].queued_ns += duration_ns;
}

// Tells the readers of a finished task's data; sends what is needed elsewhere.
void Engine::release_successors(uint32_t task, uint32_t device) {
  const std::span<const Edge> out = graph_.out_edges(TaskId(task));
  const auto first_edge = static_cast<uint32_t>(out.data() - graph_.edges().data());
  for (uint32_t i = 0; i < out.size(); ++i) {
    const uint32_t reader = out[i].to.value();
    TaskState& state = tasks_[reader];
    if (--state.preds_left == 0) {
      result_.tasks[reader].wait_ns[static_cast<int>(WaitReason::kDependency)] = now_;
      if (policy_ != nullptr) {
        newly_ready_.push_back(TaskId(reader));
        ask_ = true;
      }
    }
    if (state.device == device) {
      input_arrived(reader);
    } else if (state.device != kNone) {
      send(first_edge + i, device, state.device);
    }
  }
  if (!keep_copies_) {
    for (const Edge& edge : out) {
      copy_head_[edge.data.index()] = kNone;  // all of its readers are known: none will look again
    }
  }
}

void Engine::input_arrived(uint32_t task) {
  if (--tasks_[task].inputs_left == 0) {
    task_ready(task);
  }
}

bool Engine::may_start(uint32_t task) const {
  const TaskState& state = tasks_[task];
  return state.inputs_left == 0 &&
         (host_free_ || devices_[state.device].worker_pool ? host_open_
                                                           : (state.flags & kDispatched) != 0);
}

// All inputs are there, or the host has dispatched it.
void Engine::task_ready(uint32_t task) {
  const uint32_t d = tasks_[task].device;
  DeviceState& device = devices_[d];
  if (device.ready_first) {
    const bool needs_dispatch = !host_free_ && !device.worker_pool;
    if (tasks_[task].inputs_left > 0 ||
        (needs_dispatch && (tasks_[task].flags & kDispatched) == 0)) {
      return;
    }
    device.ready.push_back(position_[task]);
    std::push_heap(device.ready.begin(), device.ready.end(), std::greater<>());
  }
  start_tasks(d);
}

uint32_t Engine::next_task(const DeviceState& device) const {
  if (device.ready_first) {
    return device.ready.empty() ? kNone : device.order[device.ready.front()];
  }
  return device.position < device.order.size() ? device.order[device.position] : kNone;
}

void Engine::remove_next_task(DeviceState& device) {
  if (device.ready_first) {
    std::pop_heap(device.ready.begin(), device.ready.end(), std::greater<>());
    device.ready.pop_back();
  } else {
    ++device.position;
  }
}

void Engine::start_tasks(uint32_t d) {
  DeviceState& device = devices_[d];
  while (device.free_queues > 0) {
    const uint32_t task = next_task(device);
    if (task == kNone || !may_start(task)) {
      return;
    }
    remove_next_task(device);
    const uint32_t queue = take_queue(device, task);
    if (device.worker_pool && platform_.runtime.dispatch_ns > 0) {
      result_.host_busy_ns += platform_.runtime.dispatch_ns;
      events_.push(now_ + platform_.runtime.dispatch_ns, kWorkerReady, queue);
    } else {
      start(queue, now_);
    }
  }
}

uint32_t Engine::take_queue(DeviceState& device, uint32_t task) {
  uint32_t queue = device.first_queue;
  while (queues_[queue].task != kNone) {
    ++queue;
  }
  queues_[queue].task = task;
  --device.free_queues;
  return queue;
}

void Engine::account_waits(uint32_t task, TaskRecord& record, TimeNs picked_ns) {
  // What an online policy held it back after it was ready, noted at the decision.
  const TimeNs held_ns = record.wait_ns[static_cast<int>(WaitReason::kDevice)];
  TimeNs cursor = 0;
  for (const WaitReason reason : {WaitReason::kDependency, WaitReason::kLink, WaitReason::kHost}) {
    TimeNs& slot = record.wait_ns[static_cast<int>(reason)];
    const TimeNs until = slot;
    slot = std::max<TimeNs>(0, until - cursor);
    cursor = std::max(cursor, until) + (reason == WaitReason::kDependency ? held_ns : 0);
  }
  record.wait_ns[static_cast<int>(WaitReason::kDevice)] = held_ns + picked_ns - cursor;
  record.wait_ns[static_cast<int>(WaitReason::kHost)] += now_ - picked_ns;
  TimeNs begin = 0;
  for (int r = 0; r < kWaitReasonCount; ++r) {
    result_.wait_ns[r] += record.wait_ns[r];
    if (listener_ != nullptr && record.wait_ns[r] > 0) {
      listener_->on_task_waited({TaskId(task), 0, record.device, static_cast<WaitReason>(r), begin,
                                 begin + record.wait_ns[r]});
    }
    begin += record.wait_ns[r];
  }
}

void Engine::start(uint32_t queue, TimeNs picked_ns) {
  QueueState& state = queues_[queue];
  const uint32_t task = state.task;
  DeviceState& device = devices_[state.device];
  TaskRecord& record = result_.tasks[task];
  const TimeNs duration = record.end_ns;
  if (__builtin_add_overflow(now_, duration, &record.end_ns)) {
    return fail(invalid_input(fmt::format("task '{}' would end after the clock's last nanosecond",
                                          printable(graph_.name(TaskId(task))))));
  }
  if (host_free_ || device.worker_pool) {
    record.wait_ns[static_cast<int>(WaitReason::kHost)] = platform_.runtime.run_overhead_ns;
  }
  account_waits(task, record, picked_ns);
  tasks_[task].flags |= kStarted;
  record.start_ns = now_;
  record.queue = queue - device.first_queue;
  state.end_ns = record.end_ns;
  device.queued_ns -= duration;
  DeviceUse& use = result_.devices[state.device];
  use.busy_ns += duration;
  ++use.tasks;
  if (memory_) {
    allocate_for_start(task, state.device);
  }
  if (listener_ != nullptr) {
    listener_->on_task_started({now_, TaskId(task), 0, record.device, record.queue});
  }
  events_.push(record.end_ns, kTaskFinished, queue);
}

void Engine::finish(uint32_t queue) {
  QueueState& state = queues_[queue];
  const uint32_t task = state.task;
  const uint32_t d = state.device;
  DeviceState& device = devices_[d];
  state.task = kNone;
  ++device.free_queues;
  --device.unfinished;
  ++finished_;
  tasks_[task].flags |= kFinished;
  if (listener_ != nullptr) {
    listener_->on_task_finished({now_, TaskId(task), 0, DeviceId(d), queue - device.first_queue});
  }
  release_successors(task, d);
  if (memory_) {
    release_after_finish(task, d);
  }
  if (!host_free_ && !device.worker_pool) {
    host_task_finished(task);
  }
  ask_ = ask_ || (policy_ != nullptr && finished_ < tasks_.size());
  start_tasks(d);
}

}  // namespace dfsim
