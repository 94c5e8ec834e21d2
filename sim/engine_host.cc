#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "sim/engine.h"

namespace dfsim {

void Engine::set_up_host() {
  const RuntimeSpec& runtime = platform_.runtime;
  host_free_ = runtime.dispatch_ns == 0 && runtime.asynchronous && options_.sync_after.empty();
  for (const TaskId task : options_.sync_after) {
    tasks_[task.index()].flags |= kSync;
  }
  threads_.resize(static_cast<size_t>(std::max(1, runtime.dispatch_threads)));
}

// The order in which a static plan is dispatched: by id where the devices' orders agree with it,
// else a topological order of dependencies and device orders together, by planned start. A plan
// that waits in a circle leaves out the tasks behind the circle; the run then reports it.
void Engine::order_host_program(const Schedule& schedule) {
  if (host_free_) {
    return;
  }
  const size_t n = tasks_.size();
  const bool by_id = std::all_of(devices_.begin(), devices_.end(), [](const DeviceState& device) {
    return device.ready_first || std::is_sorted(device.order.begin(), device.order.end());
  });
  std::vector<uint32_t> next_on_device(by_id ? 0 : n, kNone);
  std::vector<uint32_t> pending(by_id ? 0 : n, 0);
  std::vector<uint32_t> sorted;
  sorted.reserve(n);
  if (by_id) {
    for (uint32_t t = 0; t < n; ++t) {
      sorted.push_back(t);
    }
  } else {
    using Entry = std::tuple<TimeNs, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (const DeviceState& device : devices_) {
      for (size_t i = 1; !device.ready_first && i < device.order.size(); ++i) {
        next_on_device[device.order[i - 1]] = device.order[i];
        ++pending[device.order[i]];
      }
    }
    const auto settle = [&](uint32_t task) {
      if (pending[task] == 0) {
        ready.emplace(schedule.placements[task].planned_start_ns, task);
      }
    };
    for (uint32_t t = 0; t < n; ++t) {
      pending[t] += tasks_[t].preds_left;
      settle(t);
    }
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
  }
  for (const uint32_t task : sorted) {
    if (!devices_[tasks_[task].device].worker_pool) {
      program_.push_back(task);
    }
  }
}

void Engine::open_host() { events_.push(platform_.runtime.run_overhead_ns, kHostOpened, 0); }

// Gives work to free dispatch threads until one of them must wait.
void Engine::run_host() {
  const RuntimeSpec& runtime = platform_.runtime;
  const auto depth = static_cast<uint32_t>(std::max(1, runtime.queue_depth));
  for (uint32_t t = 0; t < threads_.size() && host_open_; ++t) {
    if (threads_[t].busy) {
      continue;
    }
    if (sync_task_ != kNone || program_next_ == program_.size()) {
      return;
    }
    const uint32_t task = program_[program_next_];
    DeviceState& device = devices_[tasks_[task].device];
    if (runtime.asynchronous && device.launched >= depth) {
      return;
    }
    ++program_next_;
    ++device.launched;
    threads_[t] = {task, true};
    result_.host_busy_ns += runtime.dispatch_ns;
    if ((tasks_[task].flags & kSync) != 0) {
      sync_task_ = task;
    }
    events_.push(now_ + runtime.dispatch_ns, kHostDispatched, t);
  }
}

void Engine::dispatched(uint32_t thread) {
  const uint32_t task = threads_[thread].task;
  tasks_[task].flags |= kDispatched;
  TaskRecord& record = result_.tasks[task];
  record.wait_ns[static_cast<int>(WaitReason::kHost)] = now_;
  if (listener_ != nullptr) {
    listener_->on_task_dispatched({now_, TaskId(task), 0, record.device, 0});
  }
  if (platform_.runtime.asynchronous) {
    threads_[thread].busy = false;
    run_host();
  }
  task_ready(task);
}

void Engine::host_task_finished(uint32_t task) {
  --devices_[tasks_[task].device].launched;
  if (sync_task_ == task) {
    sync_task_ = kNone;
  }
  if (!platform_.runtime.asynchronous) {
    for (HostThread& thread : threads_) {
      thread.busy = thread.busy && thread.task != task;
    }
  }
  run_host();
}

}  // namespace dfsim
