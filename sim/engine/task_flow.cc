// A task from the decision about it to its finish: inputs come, it is ready, it starts, it
// finishes, and its readers get their input.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "sim/engine/event_loop.h"

namespace dfsim::inline sim {

Status EventLoop::decided(uint32_t slot, const Decision& decision) {
  const uint32_t task = decision.task.value();
  const uint32_t d = decision.device.value();
  const uint32_t instance = slots_.instance(slot, task);
  place(instance, d);
  tasks_.decided(instance, slots_.arrival_ns(slot));
  // A stream that the host launches into is in the order of the launches.
  queues_.line_up(instance, d, host_.dispatches(d) ? 0 : decision.passes);
  if (lifetimes_ != nullptr) {
    DFSIM_RETURN_IF_ERROR(lifetimes_->allocate_weights_of(task, d));
  }
  host_.append(instance, d);
  const bool had_inputs = tasks_.state(instance).inputs_left > 0;
  for (const uint32_t e : graph_.in_edge_indices(decision.task)) {
    const Edge& edge = graph_.edges()[e];
    const uint32_t from = tasks_.device_of(slots_.instance(slot, edge.from.value()));
    // A spilled input comes back when the task is next on the device.
    const bool there = from == d
                           ? spill_ == nullptr || spill_->produced_data_on_device(edge.data.value())
                           : sender_.send(slot, e, from, d);
    if (there) {
      input_arrived(instance);
    }
  }
  if (!had_inputs) {
    task_ready(instance);
  }
  return timeline_.ok() ? ok_status() : timeline_.error();
}

// An input is there or known to come.
void EventLoop::input_arrived(uint32_t instance) {
  if (!tasks_.input_came(instance)) {
    return;
  }
  const uint32_t d = tasks_.device_of(instance);
  if (tasks_.inputs_there(instance)) {
    task_ready(instance);
  } else if (queues_.ready_first(d) || (queues_.has_free_queue(d) && queues_.next(d) == instance)) {
    tasks_.await_inputs(instance);
  }  // otherwise its device will ask for it when its turn comes
}

// The task's last input has come, or it was dispatched.
void EventLoop::task_ready(uint32_t instance) {
  const uint32_t d = tasks_.device_of(instance);
  if (queues_.ready_first(d) && may_be_queued(instance, d)) {
    queues_.push_ready(instance, d);
  }
  start_tasks(d);
}

void EventLoop::start_tasks(uint32_t d) {
  while (queues_.has_free_queue(d)) {
    const uint32_t instance = queues_.next(d);
    if (instance == kNoIndex) {
      return;
    }
    if (!may_start(instance, d)) {
      if (spill_ != nullptr) {
        sender_.fetch_inputs(instance, d);
      } else if (tasks_.inputs_on_their_way(instance)) {
        tasks_.await_inputs(instance);
      }
      return;
    }
    if (lifetimes_ != nullptr && !lifetimes_->admit(instance, d)) {
      return;
    }
    const uint32_t queue = queues_.take(d, instance);
    tasks_.mark(instance, kPicked);
    const uint32_t task = slots_.task_of(instance);
    if (queues_.worker_pool(d) && host_.dispatch_ns(task) > 0) {
      host_.worker_dispatches(task);
      timeline_.push(timeline_.now_ns() + host_.dispatch_ns(task), kWorkerReady, queue);
    } else {
      start(queue);
    }
  }
}

void EventLoop::start(uint32_t queue) {
  const uint32_t instance = queues_.instance_on(queue);
  const uint32_t d = queues_.device_of(queue);
  const uint32_t task = slots_.task_of(instance);
  const uint32_t slot = slots_.slot_of(instance);
  const TimeNs duration_ns = tasks_.duration_ns(instance);
  TimeNs end_ns = 0;
  if (__builtin_add_overflow(timeline_.now_ns(), duration_ns, &end_ns)) {
    return timeline_.fail(
        invalid_input(fmt::format("task '{}' would end after the clock's last nanosecond",
                                  printable(graph_.name(TaskId(task))))));
  }
  if (!host_.dispatches(d)) {
    tasks_.dispatchable_since(instance, slots_.open_ns(slot));
  }
  tasks_.start(instance, queues_.index_on_device(queue), queues_.picked_ns(queue), end_ns);
  if (listener_ != nullptr) {
    listener_->on_task_started({timeline_.now_ns(), TaskId(task), slots_.request_of(slot),
                                DeviceId(d), queues_.index_on_device(queue)});
  }
  queues_.start(queue, duration_ns);
  tasks_.prefetch_readers(instance - task, task);
  if (const uint32_t next = queues_.next_planned(d); next != kNoIndex) {
    tasks_.prefetch(next);
  }
}

void EventLoop::finish(uint32_t queue) {
  const uint32_t instance = queues_.instance_on(queue);
  const uint32_t d = queues_.device_of(queue);
  const uint32_t slot = slots_.slot_of(instance);
  queues_.finish(queue);
  tasks_.finish(instance);
  if (listener_ != nullptr) {
    listener_->on_task_finished({timeline_.now_ns(), TaskId(slots_.task_of(instance)),
                                 slots_.request_of(slot), DeviceId(d),
                                 queues_.index_on_device(queue)});
  }
  release_successors(instance, d);
  if (lifetimes_ != nullptr) {
    lifetimes_->task_finished(instance, d);
  }
  host_.task_finished(instance, d);
  if (slots_.task_finished(slot)) {
    request_finished(slot);
  }
  if (policies_ != nullptr) {
    policies_->ask_again();
  }
  start_tasks(d);
}

// Tells the readers of a finished task's data; sends what is needed elsewhere.
void EventLoop::release_successors(uint32_t instance, uint32_t device) {
  const uint32_t task = slots_.task_of(instance);
  const uint32_t slot = slots_.slot_of(instance);
  const uint32_t base = instance - task;
  const std::span<const Edge> out = graph_.out_edges(TaskId(task));
  const auto first_edge = static_cast<uint32_t>(out.data() - graph_.edges().data());
  // Readers lie anywhere in the table: fetched all at once, they cost little more than one of them.
  if (tasks_.exceeds_caches()) {
    for (const Edge& edge : out) {
      tasks_.prefetch(base + edge.to.value());
    }
  }
  for (uint32_t i = 0; i < out.size(); ++i) {
    const uint32_t reader = base + out[i].to.value();
    const uint32_t to = tasks_.device_of(reader);
    if (tasks_.predecessor_finished(reader) && policies_ != nullptr) {
      policies_->now_ready(reader);
    }
    // A reader that is not decided yet gets its inputs at the decision.
    if (to == device || (to != kNoIndex && sender_.send(slot, first_edge + i, device, to))) {
      input_arrived(reader);
    }
  }
  sender_.sent_outputs(slot, out);
}

void EventLoop::transfer_arrived(uint32_t transfer) {
  const Shipment shipment = transfers_.finish(transfer);
  if (shipment.edge != kNoIndex) {
    const Edge& edge = graph_.edges()[shipment.edge];
    const uint32_t reader = slots_.instance(shipment.slot, edge.to.value());
    tasks_.note_arrival(reader);
    return input_arrived(reader);
  }
  switch (shipment.purpose) {
    case TransferPurpose::kInput:
      if (spill_ != nullptr) {
        spill_->sent(shipment);
      }
      return copy_arrived(shipment.copy);
    case TransferPurpose::kSpill:
      switch (spill_->spilled(shipment)) {
        case SpillEnd::kOnHost:
          return;
        case SpillEnd::kDead:
          return lifetimes_->drop(shipment.data, shipment.from);
        case SpillEnd::kStillNeeded:
          return data_came_back(shipment.data, shipment.from);
      }
      return;
    case TransferPurpose::kFetch:
      spill_->fetched(shipment);
      return data_came_back(shipment.data, shipment.to);
  }
}

void EventLoop::copy_arrived(uint32_t copy) {
  const uint32_t data = copies_.at(copy).data;
  const uint32_t slot = copies_.at(copy).slot;
  const uint32_t device = copies_.at(copy).device;
  uint32_t edge = copies_.arrive(copy);
  if (spill_ != nullptr) {
    spill_->came_to_device(data, device);
  }
  while (edge != kNoIndex) {
    // A reader's start may make new copies, so what comes after it is asked for first.
    const uint32_t next = copies_.next_reader(slot, edge);
    const uint32_t reader = slots_.instance(slot, graph_.edges()[edge].to.value());
    tasks_.note_arrival(reader);
    if (lifetimes_ != nullptr) {
      lifetimes_->reader_served(slot, data);
    }
    input_arrived(reader);
    edge = next;
  }
}

// Spilled data is on the device again: readers there that have not begun can have it.
void EventLoop::data_came_back(uint32_t data, uint32_t device) {
  for (const Edge& edge : graph_.out_edges(graph_.data_producer(DataId(data)))) {
    const uint32_t reader = edge.to.value();
    if (edge.data.value() == data && tasks_.device_of(reader) == device &&
        !tasks_.has(reader, kPicked)) {
      tasks_.note_arrival(reader);
      input_arrived(reader);
    }
  }
}

}  // namespace dfsim::inline sim
