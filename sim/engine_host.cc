#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

#include "sim/engine.h"

namespace dfsim::inline sim {

void Engine::set_up_host() {
  const RuntimeSpec& runtime = platform_.runtime;
  const bool no_cost = options_.dispatch_ns.empty()
                           ? runtime.dispatch_ns == 0
                           : std::all_of(options_.dispatch_ns.begin(), options_.dispatch_ns.end(),
                                         [](TimeNs dispatch_ns) { return dispatch_ns == 0; });
  host_free_ = no_cost && runtime.asynchronous && options_.sync_after.empty();
  sync_after_.assign(options_.sync_after.empty() ? 0 : task_count_, 0);
  for (const TaskId task : options_.sync_after) {
    sync_after_[task.index()] = 1;
  }
  threads_.resize(static_cast<size_t>(std::max(1, runtime.dispatch_threads)));
}

TimeNs Engine::dispatch_ns(uint32_t task) const {
  return options_.dispatch_ns.empty() ? platform_.runtime.dispatch_ns : options_.dispatch_ns[task];
}

// A topological order of dependencies and device orders together, earliest planned start first. A
// plan that waits in a circle leaves out the tasks behind the circle; the run then reports it.
std::vector<uint32_t> Engine::planned_order(const Schedule& schedule) const {
  std::vector<uint32_t> next_on_device(task_count_, kNone);
  std::vector<uint32_t> pending(task_count_, 0);
  for (const DeviceState& device : devices_) {
    for (size_t i = 1; !device.ready_first && i < device.order.size(); ++i) {
      next_on_device[device.order[i - 1]] = device.order[i];
      ++pending[device.order[i]];
    }
  }
  using Entry = std::tuple<TimeNs, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto settle = [&](uint32_t task) {
    if (pending[task] == 0) {
      ready.emplace(schedule.placements[task].planned_start_ns, task);
    }
  };
  for (uint32_t t = 0; t < task_count_; ++t) {
    pending[t] += static_cast<uint32_t>(graph_.in_degree(TaskId(t)));
    settle(t);
  }
  std::vector<uint32_t> sorted;
  sorted.reserve(task_count_);
  while (!ready.empty()) {
    const uint32_t task = std::get<1>(ready.top());
    ready.pop();
    sorted.push_back(task);
    for (const Edge& edge : graph_.out_edges(TaskId(task))) {
      --pending[edge.to.index()];
      settle(edge.to.value());
    }
    if (next_on_device[task] != kNone) {
      --pending[next_on_device[task]];
      settle(next_on_device[task]);
    }
  }
  return sorted;
}

// The order in which a static plan is dispatched: by id where the devices' orders agree with it.
void Engine::order_host_program(const Schedule& schedule) {
  if (host_free_) {
    return;
  }
  const bool by_id = std::all_of(devices_.begin(), devices_.end(), [](const DeviceState& device) {
    return device.ready_first || std::is_sorted(device.order.begin(), device.order.end());
  });
  if (by_id) {
    program_.resize(task_count_);
    std::iota(program_.begin(), program_.end(), 0U);
  } else {
    program_ = planned_order(schedule);
  }
  std::erase_if(program_, [this](uint32_t task) { return devices_[placement_[task]].worker_pool; });
}

// Gives work to free dispatch threads until one of them must wait.
void Engine::run_host() {
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    if (!threads_[t].busy && !host_next(threads_[t], t)) {
      return;
    }
  }
}

// The next step of the host's program on a free thread; false when nothing can be done now.
bool Engine::host_next(HostThread& thread, uint32_t index) {
  const uint32_t slot =
      program_request_ < slot_of_request_.size() ? slot_of_request_[program_request_] : kNone;
  if (opening_ || sync_instance_ != kNone) {
    return false;
  }
  if (slot != kNone && !slots_[slot].open) {
    opening_ = true;
    thread = {kNone, true};
    events_.push(now_ + platform_.runtime.run_overhead_ns, kHostOpened, slot);
    return false;
  }
  if (program_next_ == program_.size() || (slot == kNone && !online_)) {
    return false;  // an online policy will decide more, or a request come
  }
  const uint32_t instance =
      online_ ? program_[program_next_] : slot * task_count_ + program_[program_next_];
  const uint32_t task = task_of(instance);
  DeviceState& device = devices_[tasks_[instance].device];
  const auto depth = static_cast<uint32_t>(std::max(1, platform_.runtime.queue_depth));
  if (platform_.runtime.asynchronous && device.launched >= depth) {
    return false;
  }
  ++device.launched;
  thread = {instance, true};
  result_.host_busy_ns += dispatch_ns(task);
  if (!sync_after_.empty() && sync_after_[task] != 0) {
    sync_instance_ = instance;
  }
  events_.push(now_ + dispatch_ns(task), kHostDispatched, index);
  if (++program_next_ == program_.size() && !one_slot_ && !online_) {
    program_next_ = 0;
    ++program_request_;
  }
  return true;
}

// The run's overhead is over: its tasks can be dispatched, and those without dispatch can start.
void Engine::slot_opened(uint32_t slot) {
  slots_[slot].open = true;
  slots_[slot].open_ns = now_;
  if (!host_free_) {
    opening_ = false;
    for (HostThread& thread : threads_) {
      thread.busy = thread.busy && thread.instance != kNone;
    }
    if (online_ || (program_.empty() && !one_slot_)) {
      ++program_request_;  // it is open, or worker pools do everything
    }
    run_host();
  }
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    start_tasks(d);
  }
}

void Engine::dispatched(uint32_t thread) {
  const uint32_t instance = threads_[thread].instance;
  tasks_[instance].flags |= kDispatched;
  wait(instance, WaitReason::kHost) = now_;
  if (listener_ != nullptr) {
    const uint32_t task = task_of(instance);
    listener_->on_task_dispatched({now_, now_ - dispatch_ns(task), TaskId(task),
                                   slots_[slot_of(instance)].request, records_[instance].device,
                                   thread});
  }
  if (platform_.runtime.asynchronous) {
    threads_[thread].busy = false;
    run_host();
  }
  task_ready(instance);
}

void Engine::host_task_finished(uint32_t instance) {
  DeviceState& device = devices_[tasks_[instance].device];
  if (device.worker_pool) {
    return;
  }
  --device.launched;
  if (sync_instance_ == instance) {
    sync_instance_ = kNone;
  }
  if (!platform_.runtime.asynchronous) {
    for (HostThread& thread : threads_) {
      thread.busy = thread.busy && thread.instance != instance;
    }
  }
  run_host();
}

}  // namespace dfsim::inline sim
