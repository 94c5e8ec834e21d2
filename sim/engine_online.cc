#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "schedulers/comm_model.h"
#include "sim/engine.h"

namespace dfsim::inline sim {

namespace {

// To a list of which the entries before `next` have been taken: they go once they are most of it.
template <typename Position>
void append(uint32_t instance, std::vector<uint32_t>& list, Position& next) {
  if (next > list.size() / 2) {
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(next));
    next = 0;
  }
  list.push_back(instance);
}

}  // namespace

StatusOr<SimResult> Engine::run(OnlineScheduler& policy) {
  policies_ = {&policy};
  return run_online();
}

StatusOr<SimResult> Engine::run(const MakePolicy& make_policy) {
  make_policy_ = &make_policy;
  return run_online();
}

StatusOr<SimResult> Engine::run_online() {
  online_ = true;
  DFSIM_RETURN_IF_ERROR(prepare());
  if (mode_.requests > UINT32_MAX / std::max(1U, task_count_)) {
    return invalid_input(
        fmt::format("{} requests of {} tasks under a policy; expected up to {} tasks",
                    mode_.requests, task_count_, UINT32_MAX));
  }
  DFSIM_ASSIGN_OR_RETURN(const auto comm, make_comm_model(platform_));
  const SchedulingProblem problem{graph_, costs_, platform_, *comm, options_.seed};
  problem_ = &problem;
  set_up_host();
  schedule_arrivals();
  loop();
  return finish_run();
}

// A new request: its policy starts anew.
void Engine::begin_policy(uint32_t slot) {
  if (policies_.size() <= slot) {
    own_policies_.push_back((*make_policy_)());
    policies_.push_back(own_policies_.back().get());
  }
  if (Status status = policies_[slot]->begin(*problem_); !status.ok()) {
    fail(std::move(status));
  }
}

void Engine::now_ready(uint32_t instance) {
  slots_[slot_of(instance)].newly_ready.emplace_back(task_of(instance));
  ask_ = true;
}

// Earlier requests decide first: what they leave idle is for later ones.
void Engine::ask_policies() {
  ask_ = false;
  asked_.clear();
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].request != kNone) {
      asked_.push_back(slot);
    }
  }
  std::ranges::sort(asked_, {}, [this](uint32_t slot) { return slots_[slot].request; });
  for (const uint32_t slot : asked_) {
    if (Status status = ask_policy(slot); !status.ok()) {
      return fail(status.with_place(fmt::format("policy '{}'", policies_[slot]->name())));
    }
  }
}

Status Engine::ask_policy(uint32_t slot) {
  asked_slot_ = slot;
  std::vector<TaskId>& newly_ready = slots_[slot].newly_ready;
  std::ranges::sort(newly_ready);
  decisions_.clear();
  policies_[slot]->decide(*this, newly_ready, decisions_);
  newly_ready.clear();
  for (const Decision& decision : decisions_) {
    DFSIM_RETURN_IF_ERROR(apply(decision));
  }
  return ok_status();
}

Status Engine::apply(const Decision& decision) {
  const uint32_t d = decision.device.value();
  if (decision.task.value() >= task_count_ || d >= devices_.size()) {
    return failed(
        fmt::format("decided task {} for device {}, but there are {} tasks and {} devices",
                    decision.task.value(), d, task_count_, devices_.size()));
  }
  const uint32_t instance = asked_slot_ * task_count_ + decision.task.value();
  const TaskState& state = tasks_[instance];
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
  place(instance, d, duration_of(decision.task.value(), d));
  wait(instance, WaitReason::kDevice) =
      now_ - std::max(slots_[asked_slot_].arrival_ns, wait(instance, WaitReason::kDependency));
  line_up(instance, d);
  if (memory_) {
    DFSIM_RETURN_IF_ERROR(decide_memory(decision.task.value(), d));
  }
  if (!host_free_ && !devices_[d].worker_pool) {
    append(instance, program_, program_next_);
    run_host();
  }
  const bool had_inputs = state.inputs_left > 0;
  for (const uint32_t e : graph_.in_edge_indices(decision.task)) {
    const Edge& edge = graph_.edges()[e];
    const uint32_t from = tasks_[asked_slot_ * task_count_ + edge.from.index()].device;
    if (from != d) {
      send(asked_slot_, e, from, d);
    } else if (!spill_ || homes_[edge.data.index()].home == Home::kOnDevice) {
      input_arrived(instance);
    }
  }
  if (!had_inputs) {
    task_ready(instance);
  }
  return error_;
}

// The device takes it in the order of the decisions.
void Engine::line_up(uint32_t instance, uint32_t d) {
  DeviceState& device = devices_[d];
  if (device.ready_first) {
    position_[instance] = decided_++;
    return;
  }
  append(instance, device.order, device.position);
}

// Weights of a decided task move in at once, when they are not there for another request.
Status Engine::decide_memory(uint32_t task, uint32_t device) {
  const Bytes bytes = graph_.resident_bytes(TaskId(task));
  if (resident_of_.empty()) {
    resident_of_.resize(static_cast<size_t>(task_count_) * devices_.size(), false);
  }
  const size_t index = static_cast<size_t>(task) * devices_.size() + device;
  const bool there = resident_of_[index];
  resident_of_[index] = true;
  if (!there && __builtin_add_overflow(resident_[device], bytes, &resident_[device])) {
    return invalid_input("the weights of all tasks together overflow a 64-bit count of bytes");
  }
  if (waits_for_memory_) {
    DFSIM_RETURN_IF_ERROR(check_fits_ever(task, device));
  }
  if (!there) {
    allocate(device, bytes, MemoryUse::kResident, kNone, task);
  }
  return error_;
}

// Without memory to be freed nothing else takes a request's copies away.
void Engine::forget_copies(uint32_t slot) {
  for (uint32_t data = 0; data < data_count_; ++data) {
    for (uint32_t copy = copy_head_[data_instance(slot, data)]; copy != kNone;) {
      free_copies_.push_back(copy);
      copy = copies_[copy].next;
    }
    copy_head_[data_instance(slot, data)] = kNone;
  }
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
  const TaskState& producer =
      tasks_[asked_slot_ * task_count_ + graph_.data_producer(data).index()];
  if ((producer.flags & kFinished) == 0) {
    return false;
  }
  if (producer.device == device.value()) {
    return !spill_ || homes_[data.index()].home == Home::kOnDevice;
  }
  const uint32_t copy = find_copy(data_instance(asked_slot_, data.value()), device.value());
  return copy != kNone && copies_[copy].present && copies_[copy].at.home == Home::kOnDevice;
}

}  // namespace dfsim::inline sim
