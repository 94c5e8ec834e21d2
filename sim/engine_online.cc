#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "schedulers/comm_model.h"
#include "sim/engine.h"

namespace dfsim {

StatusOr<SimResult> Engine::run(OnlineScheduler& policy) {
  policy_ = &policy;
  DFSIM_RETURN_IF_ERROR(prepare());
  DFSIM_ASSIGN_OR_RETURN(const auto comm, make_comm_model(platform_));
  const SchedulingProblem problem{graph_, costs_, platform_, *comm, options_.seed};
  DFSIM_RETURN_IF_ERROR(policy.begin(problem));
  set_up_host();
  schedule_arrivals();
  loop();
  return finish_run();
}

void Engine::ask_policy() {
  ask_ = false;
  std::sort(newly_ready_.begin(), newly_ready_.end());
  decisions_.clear();
  policy_->decide(*this, newly_ready_, decisions_);
  newly_ready_.clear();
  for (const Decision& decision : decisions_) {
    if (Status status = apply(decision); !status.ok()) {
      return fail(status.with_place(fmt::format("policy '{}'", policy_->name())));
    }
  }
}

Status Engine::apply(const Decision& decision) {
  const uint32_t task = decision.task.value();
  if (task >= task_count_ || decision.device.index() >= devices_.size()) {
    return failed(
        fmt::format("decided task {} for device {}, but there are {} tasks and {} devices", task,
                    decision.device.value(), tasks_.size(), devices_.size()));
  }
  TaskState& state = tasks_[task];
  if (state.device != kNone || state.preds_left > 0) {
    return failed(fmt::format("decided task '{}', which is {}",
                              printable(graph_.name(decision.task)),
                              state.device != kNone ? "decided already" : "not ready"));
  }
  if (!costs_.feasible(graph_.cost_row(decision.task), decision.device)) {
    return failed(fmt::format("decided task '{}' for '{}', which cannot run it",
                              printable(graph_.name(decision.task)),
                              printable(platform_.device(decision.device).name)));
  }
  const uint32_t d = decision.device.value();
  place(task, d, duration_of(task, d));
  wait(task, WaitReason::kDevice) = now_ - wait(task, WaitReason::kDependency);
  DeviceState& device = devices_[d];
  if (device.ready_first) {
    position_[task] = static_cast<uint32_t>(device.order.size());
  }
  device.order.push_back(task);
  if (memory_) {
    DFSIM_RETURN_IF_ERROR(decide_memory(task, d));
  }
  if (!host_free_ && !device.worker_pool) {
    program_.push_back(task);
    run_host();
  }
  const bool had_inputs = state.inputs_left > 0;
  for (const uint32_t e : graph_.in_edge_indices(decision.task)) {
    const Edge& edge = graph_.edges()[e];
    const uint32_t from = tasks_[edge.from.index()].device;
    if (from != d) {
      send(0, e, from, d);
    } else if (!spill_ || homes_[edge.data.index()].home == Home::kOnDevice) {
      input_arrived(task);
    }
  }
  if (!had_inputs) {
    task_ready(task);
  }
  return error_;
}

// Weights of a decided task move in at once.
Status Engine::decide_memory(uint32_t task, uint32_t device) {
  const Bytes bytes = graph_.resident_bytes(TaskId(task));
  if (__builtin_add_overflow(resident_[device], bytes, &resident_[device])) {
    return invalid_input("the weights of all tasks together overflow a 64-bit count of bytes");
  }
  if (waits_for_memory_) {
    DFSIM_RETURN_IF_ERROR(check_fits_ever(task, device));
  }
  allocate(device, bytes, MemoryUse::kResident, kNone, task);
  return error_;
}

TimeNs Engine::available_ns(DeviceId id) const {
  const DeviceState& device = devices_[id.index()];
  TimeNs earliest = std::numeric_limits<TimeNs>::max();
  for (uint32_t q = device.first_queue; q < device.first_queue + device.queues; ++q) {
    earliest = std::min(earliest, queues_[q].instance == kNone ? now_ : queues_[q].end_ns);
  }
  return std::max(now_, earliest) + device.queued_ns / device.queues;
}

size_t Engine::unfinished_tasks(DeviceId device) const {
  return devices_[device.index()].unfinished;
}

Bytes Engine::free_bytes(DeviceId device) const {
  const Bytes capacity = platform_.device(device).memory_bytes;
  if (!memory_ || capacity == 0) {
    return std::numeric_limits<Bytes>::max();
  }
  return std::max<Bytes>(0, capacity - devices_[device.index()].memory_in_use);
}

bool Engine::has_data(DataId data, DeviceId device) const {
  const TaskState& producer = tasks_[graph_.data_producer(data).index()];
  if ((producer.flags & kFinished) == 0) {
    return false;
  }
  if (producer.device == device.value()) {
    return !spill_ || homes_[data.index()].home == Home::kOnDevice;
  }
  const uint32_t copy = find_copy(data.value(), device.value());
  return copy != kNone && copies_[copy].present && copies_[copy].at.home == Home::kOnDevice;
}

}  // namespace dfsim
