// The host's program, step by step.
#include "sim/engine/host_dispatch.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace dfsim::inline sim {

namespace {

bool dispatch_is_instant(const RuntimeSpec& runtime, const SimOptions& options) {
  const bool no_cost = options.dispatch_ns.empty()
                           ? runtime.dispatch_ns == 0
                           : std::all_of(options.dispatch_ns.begin(), options.dispatch_ns.end(),
                                         [](TimeNs dispatch_ns) { return dispatch_ns == 0; });
  return no_cost && runtime.asynchronous && options.sync_after.empty();
}

}  // namespace

HostDispatch::HostDispatch(const RuntimeSpec& runtime, const SimOptions& options, LineKind program,
                           const DeviceQueues& queues, const RequestSlots& slots, TaskTable& tasks,
                           Timeline& timeline, SimListener* listener)
    : runtime_(runtime),
      options_(options),
      queues_(queues),
      slots_(slots),
      tasks_(tasks),
      timeline_(timeline),
      listener_(listener),
      planned_(program == LineKind::kPlanned),
      instant_(dispatch_is_instant(runtime, options)),
      threads_(static_cast<size_t>(std::max(1, runtime.dispatch_threads))),
      own_threads_(options.host_thread_per_device),
      lines_(1),
      sync_after_(options.sync_after.empty() ? 0 : slots.task_count(), 0),
      launched_(queues.size(), 0) {
  DFSIM_CHECK(!own_threads_ || (planned_ && slots.single_run()));
  for (const TaskId task : options.sync_after) {
    sync_after_[task.index()] = 1;
  }
}

void HostDispatch::load_program(std::vector<uint32_t> tasks,
                                const std::vector<uint32_t>& placement) {
  std::erase_if(tasks, [&](uint32_t task) { return queues_.worker_pool(placement[task]); });
  if (!own_threads_) {
    lines_.front().tasks = std::move(tasks);
    return;
  }
  std::vector<Line> by_device(launched_.size());
  for (const uint32_t task : tasks) {
    by_device[placement[task]].tasks.push_back(task);
  }
  std::erase_if(by_device, [](const Line& line) { return line.tasks.empty(); });
  if (!by_device.empty()) {
    lines_ = std::move(by_device);
    threads_.assign(lines_.size(), Thread());
  }
}

void HostDispatch::append(uint32_t instance, uint32_t device) {
  if (dispatches(device)) {
    append_to_line(instance, lines_.front().tasks, lines_.front().next);
    run();
  }
}

void HostDispatch::request_arrived(uint32_t slot) {
  if (instant_) {
    timeline_.push(timeline_.now_ns() + runtime_.run_overhead_ns, kHostOpened, slot);
  } else {
    run();
  }
}

void HostDispatch::run() {
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    // A pool has one line: when it must wait, no other thread has anything to do.
    if (!threads_[t].busy && !next_step(threads_[t], t) && !own_threads_) {
      return;
    }
  }
}

// The next step of the program on a free thread; false when nothing can be done now.
bool HostDispatch::next_step(Thread& thread, uint32_t index) {
  const uint32_t slot = slots_.slot_of_request(request_);
  if (opening_ || synced_ != kNoIndex) {
    return false;
  }
  if (slot != kNoIndex && !slots_.is_open(slot)) {
    opening_ = true;
    thread = {kNoIndex, true};
    timeline_.push(timeline_.now_ns() + runtime_.run_overhead_ns, kHostOpened, slot);
    return false;
  }
  Line& line = line_of(index);
  if (line.next == line.tasks.size() || (planned_ && slot == kNoIndex)) {
    return false;  // a policy will decide more, or a request come
  }
  const uint32_t task = line.tasks[line.next];
  const uint32_t instance = planned_ ? slots_.instance(slot, task) : task;
  const auto depth = static_cast<uint32_t>(std::max(1, runtime_.queue_depth));
  if (runtime_.asynchronous && launched_[tasks_.device_of(instance)] >= depth) {
    return false;
  }
  dispatch(thread, index, instance);
  if (++line.next == line.tasks.size() && planned_ && !slots_.single_run()) {
    line.next = 0;
    ++request_;
  }
  return true;
}

void HostDispatch::dispatch(Thread& thread, uint32_t index, uint32_t instance) {
  const uint32_t task = slots_.task_of(instance);
  ++launched_[tasks_.device_of(instance)];
  thread = {instance, true};
  busy_ns_ += dispatch_ns(task);
  if (!sync_after_.empty() && sync_after_[task] != 0) {
    synced_ = instance;
  }
  timeline_.push(timeline_.now_ns() + dispatch_ns(task), kHostDispatched, index);
}

void HostDispatch::opened() {
  if (instant_) {
    return;
  }
  opening_ = false;
  for (Thread& thread : threads_) {
    thread.busy = thread.busy && thread.instance != kNoIndex;
  }
  // Decided instances of all requests are in one program, and worker pools need none: what is left
  // to do for a request is to open it, so the next one comes now.
  if (!planned_ || (lines_.front().tasks.empty() && !slots_.single_run())) {
    ++request_;
  }
  run();
}

uint32_t HostDispatch::dispatched(uint32_t index) {
  Thread& thread = threads_[index];
  const uint32_t instance = thread.instance;
  tasks_.dispatched(instance);
  if (listener_ != nullptr) {
    const uint32_t task = slots_.task_of(instance);
    const TimeNs now_ns = timeline_.now_ns();
    listener_->on_task_dispatched({now_ns, now_ns - dispatch_ns(task), TaskId(task),
                                   slots_.request_of(slots_.slot_of(instance)),
                                   DeviceId(tasks_.device_of(instance)), index});
  }
  if (runtime_.asynchronous) {
    thread.busy = false;
    run();
  }
  return instance;
}

void HostDispatch::task_finished(uint32_t instance, uint32_t device) {
  if (!dispatches(device)) {
    return;
  }
  --launched_[device];
  if (synced_ == instance) {
    synced_ = kNoIndex;
  }
  if (!runtime_.asynchronous) {
    for (Thread& thread : threads_) {
      thread.busy = thread.busy && thread.instance != instance;
    }
  }
  run();
}

}  // namespace dfsim::inline sim
