// Lines, queues and speeds of devices.
#include "sim/engine/device_queues.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace dfsim::inline sim {

DeviceQueues::DeviceQueues(const Platform& platform, QueueOrder order, LineKind line,
                           const RequestSlots& slots, Timeline& timeline)
    : platform_(platform),
      slots_(slots),
      timeline_(timeline),
      line_(line),
      devices_(platform.devices.size()) {
  const RuntimeSpec& runtime = platform.runtime;
  bool any_ready_first = false;
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    const DeviceSpec& spec = platform.devices[d];
    Device& device = devices_[d];
    device.worker_pool = spec.type == DeviceType::kCpu && runtime.inter_op_workers > 1;
    device.queues = static_cast<uint32_t>(queues_in_use(spec, runtime));
    device.free_queues = device.queues;
    device.first_queue = static_cast<uint32_t>(queues_.size());
    device.ready_first =
        order == QueueOrder::kReadyFirst || (order == QueueOrder::kAuto && device.queues > 1);
    device.slows_down = spec.overlap_slowdown > 1;
    any_ready_first = any_ready_first || device.ready_first;
    queues_.resize(queues_.size() + device.queues);
    for (uint32_t q = device.first_queue; q < queues_.size(); ++q) {
      queues_[q].device = d;
    }
  }
  position_.resize(any_ready_first ? slots.task_count() : 0);
}

void DeviceQueues::load_plan(const std::vector<std::vector<TaskId>>& order) {
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    Device& device = devices_[d];
    device.order.reserve(order[d].size());
    for (const TaskId task : order[d]) {
      if (device.ready_first) {
        position_[task.index()] = static_cast<uint32_t>(device.order.size());
      }
      device.order.push_back(task.value());
    }
  }
}

void DeviceQueues::grow(uint32_t slot) {
  const size_t instances = static_cast<size_t>(slot + 1) * slots_.task_count();
  if (line_ == LineKind::kDecided && !position_.empty() && position_.size() < instances) {
    position_.resize(instances);
  }
}

void DeviceQueues::line_up(uint32_t instance, uint32_t d, uint32_t passes) {
  Device& device = devices_[d];
  if (device.ready_first) {
    position_[instance] = decided_++;
    return;
  }
  append_to_line(instance, device.order, device.position);
  if (passes > 0) {
    const auto in_line = static_cast<uint32_t>(device.order.size() - device.position);
    std::rotate(device.order.end() - std::min(passes + 1, in_line), device.order.end() - 1,
                device.order.end());
  }
}

void DeviceQueues::push_ready(uint32_t instance, uint32_t d) {
  Device& device = devices_[d];
  const uint64_t request = slots_.request_of(slots_.slot_of(instance));
  device.ready.push_back(line_ == LineKind::kDecided
                             ? uint64_t{position_[instance]} << 32 | instance
                             : request << 32 | position_[slots_.task_of(instance)]);
  std::push_heap(device.ready.begin(), device.ready.end(), std::greater<>());
}

TimeNs DeviceQueues::slowed_end(const Queue& queue, const Device& device) const {
  const double factor =
      device.active_transfers > 0 ? platform_.devices[queue.device].overlap_slowdown : 1.0;
  constexpr double kMost = 4e18;
  return queue.updated_ns + static_cast<TimeNs>(std::min(queue.work_left_ns * factor, kMost) + 0.5);
}

void DeviceQueues::change_transfers(uint32_t end, int by) {
  if (end >= devices_.size() || !devices_[end].slows_down) {
    return;
  }
  Device& device = devices_[end];
  const double old_factor =
      device.active_transfers > 0 ? platform_.devices[end].overlap_slowdown : 1.0;
  const bool was_active = device.active_transfers > 0;
  device.active_transfers += static_cast<uint32_t>(by);
  if (was_active == (device.active_transfers > 0)) {
    return;
  }
  for (uint32_t q = device.first_queue; q < device.first_queue + device.queues; ++q) {
    Queue& queue = queues_[q];
    if (!queue.running) {
      continue;
    }
    queue.work_left_ns =
        std::max(0.0, queue.work_left_ns -
                          static_cast<double>(timeline_.now_ns() - queue.updated_ns) / old_factor);
    queue.updated_ns = timeline_.now_ns();
    queue.end_ns = slowed_end(queue, device);
    // The old end event stays in the timeline; out_of_date() tells the two apart.
    queue.end_sequence = timeline_.take_sequence();
    timeline_.push_at(queue.end_ns, queue.end_sequence, kTaskFinished, q);
  }
}

TimeNs DeviceQueues::available_ns(uint32_t d) const {
  const Device& device = devices_[d];
  const TimeNs now_ns = timeline_.now_ns();
  if (device.queues == 1) {  // most devices; policies ask this of every device for every task
    const Queue& queue = queues_[device.first_queue];
    const TimeNs free_ns = queue.instance == kNoIndex ? now_ns : queue.end_ns;
    return std::max(now_ns, free_ns) + device.queued_ns;
  }
  TimeNs earliest_ns = std::numeric_limits<TimeNs>::max();
  for (uint32_t q = device.first_queue; q < device.first_queue + device.queues; ++q) {
    earliest_ns =
        std::min(earliest_ns, queues_[q].instance == kNoIndex ? now_ns : queues_[q].end_ns);
  }
  return std::max(now_ns, earliest_ns) + device.queued_ns / device.queues;
}

void DeviceQueues::sum_up(std::vector<DeviceUse>& devices) const {
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    devices[d].busy_ns += devices_[d].busy_ns;
    devices[d].tasks += devices_[d].finished;
  }
}

}  // namespace dfsim::inline sim
