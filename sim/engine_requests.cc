#include <algorithm>
#include <functional>

#include "base/large_pages.h"
#include "sim/engine.h"

namespace dfsim::inline sim {

void Engine::schedule_arrivals() {
  if (!mode_.arrivals_ns.empty()) {
    events_.push(mode_.arrivals_ns[0], kRequestArrived, 0);
    return;
  }
  const size_t first = one_slot_ ? 1 : std::min(mode_.in_flight, mode_.requests);
  for (uint32_t request = 0; request < first; ++request) {
    events_.push(0, kRequestArrived, request);
  }
}

// Prepares the slot's arrays for a new request.
void Engine::fill_slot(uint32_t slot) {
  const size_t instances = static_cast<size_t>(slot + 1) * task_count_;
  const size_t data = static_cast<size_t>(slot + 1) * data_count_;
  if (tasks_.size() < instances) {
    reserve_large(tasks_, instances);
    reserve_large(records_, instances);
    tasks_.resize(instances);
    records_.resize(instances);
    copy_head_.resize(look_for_copies_ ? data : 0, kNone);
    readers_left_.resize(memory_ ? data : 0);
    if (online_ && !position_.empty()) {
      position_.resize(instances);
    }
    if (shared_data_) {
      next_reader_.resize(static_cast<size_t>(slot + 1) * graph_.edge_count());
    }
  }
  const uint32_t base = slot * task_count_;
  for (uint32_t t = 0; t < task_count_; ++t) {
    const auto inputs = static_cast<uint32_t>(graph_.in_degree(TaskId(t)));
    tasks_[base + t] = TaskState{inputs, inputs, kNone, 0};
    records_[base + t] = TaskRecord{};
    if (!online_) {
      place(base + t, placement_[t], duration_of(t, placement_[t]));
    }
  }
  if (memory_) {
    std::fill_n(readers_left_.begin() + static_cast<ptrdiff_t>(data - data_count_), data_count_, 0);
    for (const Edge& edge : graph_.edges()) {
      ++readers_left_[data_instance(slot, edge.data.value())];
    }
  }
}

void Engine::request_arrived(uint32_t request) {
  if (!mode_.arrivals_ns.empty() && request + 1 < mode_.requests) {
    events_.push(mode_.arrivals_ns[request + 1], kRequestArrived, request + 1);
  }
  uint32_t slot = static_cast<uint32_t>(slots_.size());
  if (free_slots_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  ++arrived_;
  slots_[slot] = Slot{request, task_count_, false, now_, 0, {}};
  slot_of_request_[request] = slot;
  requests_[request].arrival_ns = now_;
  if (listener_ != nullptr) {
    listener_->on_request_arrived(request, now_);
  }
  fill_slot(slot);
  if (online_) {
    begin_policy(slot);
  }
  if (task_count_ == 0) {
    return request_finished(slot);
  }
  for (uint32_t i = slot * task_count_; i < (slot + 1) * task_count_; ++i) {
    if (tasks_[i].preds_left > 0) {
      continue;
    }
    if (online_) {
      now_ready(i);
    } else if (devices_[tasks_[i].device].ready_first) {
      push_ready(i, devices_[tasks_[i].device]);
    }
  }
  if (host_free_) {
    events_.push(now_ + platform_.runtime.run_overhead_ns, kHostOpened, slot);
  } else {
    run_host();
  }
}

void Engine::request_finished(uint32_t slot) {
  const uint32_t request = slots_[slot].request;
  requests_[request].finish_ns = now_;
  slot_of_request_[request] = kNone;
  ++requests_done_;
  if (listener_ != nullptr) {
    listener_->on_request_finished(request, now_);
  }
  if (one_slot_) {
    return;  // its state is the result
  }
  if (memory_) {
    free_outputs(slot);
  }
  if (online_ && !memory_) {
    forget_copies(slot);
  }
  slots_[slot].request = kNone;
  free_slots_.push_back(slot);
  if (mode_.arrivals_ns.empty()) {
    const size_t next = requests_done_ + mode_.in_flight - 1;
    if (next < mode_.requests) {
      events_.push(now_, kRequestArrived, static_cast<uint32_t>(next));
    }
  }
}

// The cost, or a draw from its interval: the bounds are 10th and 90th percentile of a normal
// distribution with a side of its own below and above.
TimeNs Engine::duration_of(uint32_t task, uint32_t device) const {
  const uint32_t row = graph_.cost_row(TaskId(task));
  const OpCost& cost = costs_.at(row, DeviceId(device));
  if (mode_.deviations.empty() || cost.high_ns < cost.time_ns || cost.low_ns > cost.time_ns) {
    return cost.time_ns;
  }
  constexpr double kNinetiethPercentile = 1.2815515655446004;
  const double deviation = mode_.deviations[mode_.deviation_per_row ? row : task];
  const TimeNs side = deviation > 0 ? cost.high_ns - cost.time_ns : cost.time_ns - cost.low_ns;
  const double change = deviation / kNinetiethPercentile * static_cast<double>(side);
  constexpr double kMost = 4e18;
  return static_cast<TimeNs>(
      std::clamp(static_cast<double>(cost.time_ns) + change + 0.5, 0.0, kMost));
}

}  // namespace dfsim::inline sim
