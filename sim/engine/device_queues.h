// DeviceQueues: which task each device takes next, on which of its queues tasks run, and how fast.
//
// A device takes its tasks in the order of its line (as planned, or as policies decide), or the
// earliest one that is ready. The event loop knows when a task is ready and says so; the queues
// know neither inputs nor memory nor the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "hardware/platform.h"
#include "schedulers/scheduler.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/timeline.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

// The line of a device holds the tasks of a plan, the same for every request, or instances in the
// order in which policies decided them.
enum class LineKind : uint8_t { kPlanned, kDecided };

// Adds to a list of which the entries before `next` have been taken; they go once they are most of
// the list, so that a run's worth of decisions does not pile up.
template <typename Position>
void append_to_line(uint32_t instance, std::vector<uint32_t>& list, Position& next) {
  if (next > list.size() / 2) {
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(next));
    next = 0;
  }
  list.push_back(instance);
}

class DeviceQueues {
 public:
  // References must outlive the queues.
  DeviceQueues(const Platform& platform, QueueOrder order, LineKind line, const RequestSlots& slots,
               Timeline& timeline);

  uint32_t size() const { return static_cast<uint32_t>(devices_.size()); }
  // The device's queues are workers that dispatch their own tasks.
  bool worker_pool(uint32_t device) const { return devices_[device].worker_pool; }
  bool ready_first(uint32_t device) const { return devices_[device].ready_first; }

  // The line.
  void load_plan(const std::vector<std::vector<TaskId>>& order);
  // Room for the decided instances of this slot and all before it.
  void grow(uint32_t slot);
  // A decision. On a device that takes its tasks in order, the instance goes ahead of the last
  // `passes` in line that have not been taken.
  void line_up(uint32_t instance, uint32_t device, uint32_t passes = 0);
  // A task was given to the device, for which it will take `duration_ns`.
  void expect(uint32_t device, TimeNs duration_ns) {
    ++devices_[device].unfinished;
    devices_[device].queued_ns += duration_ns;
  }
  // Only for ready-first devices: the instance may start.
  void push_ready(uint32_t instance, uint32_t device);
  // The instance that is next; kNoIndex = none. On a ready-first device, the earliest ready one.
  uint32_t next(uint32_t device) const { return next(devices_[device]); }
  // The planned task after the next; kNoIndex = none, or not known cheaply.
  uint32_t next_planned(uint32_t device) const {
    const Device& d = devices_[device];
    return slots_.single_run() && d.position < d.order.size() ? d.order[d.position] : kNoIndex;
  }

  // The queues.
  bool has_free_queue(uint32_t device) const { return devices_[device].free_queues > 0; }
  // Moves `instance`, which must be next(device), from the line to a free queue; returns the queue.
  uint32_t take(uint32_t device, uint32_t instance);
  uint32_t instance_on(uint32_t queue) const { return queues_[queue].instance; }
  uint32_t device_of(uint32_t queue) const { return queues_[queue].device; }
  // Counted from the device's first queue.
  uint32_t index_on_device(uint32_t queue) const {
    return queue - devices_[queues_[queue].device].first_queue;
  }
  TimeNs picked_ns(uint32_t queue) const { return queues_[queue].picked_ns; }
  // The task on the queue runs from now on, for `duration_ns` at full speed. Schedules its end.
  void start(uint32_t queue, TimeNs duration_ns);
  // The end of the task on the queue was moved since the event was scheduled.
  bool out_of_date(const Event& event) const {
    return event.kind == kTaskFinished && queues_[event.payload].end_sequence != event.sequence;
  }
  void finish(uint32_t queue);
  // A transfer at this end of a route has begun (+1) or let go (-1). On a device that overlap slows
  // down, running tasks change their speed with the first and the last one.
  void change_transfers(uint32_t end, int by);

  // Queries of policies: see OnlineView.
  TimeNs available_ns(uint32_t device) const;
  size_t unfinished(uint32_t device) const { return devices_[device].unfinished; }
  // Adds the time and number of tasks that ran.
  void sum_up(std::vector<DeviceUse>& devices) const;

 private:
  struct Queue {
    uint32_t instance = kNoIndex;
    uint32_t device = 0;
    bool running = false;  // false: free, or a worker sets its task up
    TimeNs start_ns = 0;
    TimeNs end_ns = 0;
    uint64_t end_sequence = 0;  // of the valid end event
    double work_left_ns = 0;    // at full speed; only on devices that overlap slows down
    TimeNs updated_ns = 0;
    TimeNs picked_ns = 0;
  };
  struct Device {
    std::vector<uint32_t> order;  // tasks as planned, instances as decided
    // Ready first: a heap, smallest on top, of (request, position in the plan's order) or (number
    // of the decision, instance).
    std::vector<uint64_t> ready;
    uint32_t position = 0;  // in order: the next task, of this request
    uint32_t request = 0;
    uint32_t first_queue = 0;
    uint32_t queues = 1;
    uint32_t free_queues = 1;
    uint32_t unfinished = 0;  // given to the device and not finished
    bool ready_first = false;
    bool worker_pool = false;
    bool slows_down = false;        // by overlap with transfers
    uint32_t active_transfers = 0;  // that slow it down
    TimeNs queued_ns = 0;           // durations of tasks that have not started
    TimeNs busy_ns = 0;
    size_t finished = 0;
  };

  uint32_t next(const Device& device) const;
  void remove_next(Device& device);
  TimeNs slowed_end(const Queue& queue, const Device& device) const;

  const Platform& platform_;
  const RequestSlots& slots_;
  Timeline& timeline_;
  LineKind line_;
  std::vector<Device> devices_;
  std::vector<Queue> queues_;
  // Only for ready-first devices: of a task in its device's order, or the number of an instance's
  // decision.
  std::vector<uint32_t> position_;
  uint32_t decided_ = 0;
};

// Functions that every task passes through are inline.

inline uint32_t DeviceQueues::next(const Device& device) const {
  uint64_t request = device.request;
  uint64_t position = device.position;
  if (device.ready_first) {
    if (device.ready.empty()) {
      return kNoIndex;
    }
    request = device.ready.front() >> 32;
    position = device.ready.front() & UINT32_MAX;
    if (line_ == LineKind::kDecided) {
      return static_cast<uint32_t>(position);
    }
  }
  if (position >= device.order.size()) {
    return kNoIndex;
  }
  if (slots_.single_run() || line_ == LineKind::kDecided) {
    return device.order[position];
  }
  const uint32_t slot = slots_.slot_of_request(request);
  return slot == kNoIndex ? kNoIndex : slots_.instance(slot, device.order[position]);
}

inline void DeviceQueues::remove_next(Device& device) {
  if (device.ready_first) {
    std::pop_heap(device.ready.begin(), device.ready.end(), std::greater<>());
    device.ready.pop_back();
  } else if (++device.position == device.order.size() && !slots_.single_run() &&
             line_ == LineKind::kPlanned) {
    device.position = 0;  // the plan again, for the next request
    ++device.request;
  }
}

inline uint32_t DeviceQueues::take(uint32_t d, uint32_t instance) {
  Device& device = devices_[d];
  uint32_t queue = device.first_queue;
  while (queues_[queue].instance != kNoIndex) {
    ++queue;
  }
  queues_[queue].instance = instance;
  queues_[queue].picked_ns = timeline_.now_ns();
  remove_next(device);
  --device.free_queues;
  return queue;
}

inline void DeviceQueues::start(uint32_t q, TimeNs duration_ns) {
  Queue& queue = queues_[q];
  Device& device = devices_[queue.device];
  queue.running = true;
  queue.start_ns = timeline_.now_ns();
  queue.end_ns = timeline_.now_ns() + duration_ns;
  device.queued_ns -= duration_ns;
  if (device.slows_down) {
    queue.work_left_ns = static_cast<double>(duration_ns);
    queue.updated_ns = timeline_.now_ns();
    if (device.active_transfers > 0) {
      queue.end_ns = slowed_end(queue, device);
    }
  }
  queue.end_sequence = timeline_.take_sequence();
  timeline_.push_at(queue.end_ns, queue.end_sequence, kTaskFinished, q);
}

inline void DeviceQueues::finish(uint32_t q) {
  Queue& queue = queues_[q];
  Device& device = devices_[queue.device];
  queue.instance = kNoIndex;
  queue.running = false;
  ++device.free_queues;
  --device.unfinished;
  device.busy_ns += timeline_.now_ns() - queue.start_ns;
  ++device.finished;
}

}  // namespace dfsim::inline sim
