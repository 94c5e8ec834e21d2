#include "sim/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace dfsim {

Engine::Engine(const SimInput& input, const SimOptions& options, SimListener* listener)
    : graph_(input.graph),
      costs_(input.costs),
      platform_(input.platform),
      options_(options),
      listener_(listener),
      routes_(input.platform),
      ends_(std::max(static_cast<uint32_t>(input.platform.devices.size()), routes_.host() + 1)),
      network_(input.platform, routes_, ends_),
      memory_(options.memory != MemoryPolicy::kOff) {}

Status Engine::check_inputs() const {
  if (platform_.devices.empty()) {
    return invalid_input(
        fmt::format("platform '{}' has no devices; expected at least one", platform_.name));
  }
  if (graph_.task_count() > 0 && costs_.devices() != platform_.devices.size()) {
    return invalid_input(fmt::format("the cost table has {} devices, but platform '{}' has {}",
                                     costs_.devices(), platform_.name, platform_.devices.size()));
  }
  for (size_t t = 0; t < graph_.task_count(); ++t) {
    if (graph_.cost_row(TaskId(t)) >= costs_.rows()) {
      return invalid_input(fmt::format("task '{}' has cost row {}, but the cost table has {} rows",
                                       printable(graph_.name(TaskId(t))),
                                       graph_.cost_row(TaskId(t)), costs_.rows()));
    }
  }
  for (const TaskId task : options_.sync_after) {
    if (task.index() >= graph_.task_count()) {
      return invalid_input(fmt::format("sync point after task {}, but there are {} tasks",
                                       task.value(), graph_.task_count()));
    }
  }
  return ok_status();
}

Status Engine::prepare() {
  DFSIM_RETURN_IF_ERROR(check_inputs());
  const size_t n = graph_.task_count();
  tasks_.resize(n);
  result_.tasks.resize(n);
  result_.devices.resize(platform_.devices.size());
  result_.links.resize(platform_.links.size());
  for (size_t t = 0; t < n; ++t) {
    const auto inputs = static_cast<uint32_t>(graph_.in_degree(TaskId(t)));
    tasks_[t].inputs_left = inputs;
    tasks_[t].preds_left = inputs;
  }
  set_up_devices();
  set_up_data();
  return ok_status();
}

void Engine::set_up_devices() {
  const RuntimeSpec& runtime = platform_.runtime;
  devices_.resize(platform_.devices.size());
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    const DeviceSpec& spec = platform_.devices[d];
    DeviceState& device = devices_[d];
    device.worker_pool = spec.type == DeviceType::kCpu && runtime.inter_op_workers > 1;
    device.queues = static_cast<uint32_t>(
        std::max({1, spec.queues, device.worker_pool ? runtime.inter_op_workers : 1}));
    device.free_queues = device.queues;
    device.first_queue = static_cast<uint32_t>(queues_.size());
    device.ready_first = options_.queue_order == QueueOrder::kReadyFirst ||
                         (options_.queue_order == QueueOrder::kAuto && device.queues > 1);
    queues_.resize(queues_.size() + device.queues, QueueState{kNone, d, 0});
  }
  if (std::any_of(devices_.begin(), devices_.end(), [](const auto& d) { return d.ready_first; })) {
    position_.resize(tasks_.size());
  }
}

void Engine::set_up_data() {
  in_flight_.resize(static_cast<size_t>(ends_) * ends_);
  keep_copies_ = memory_ || policy_ != nullptr;
  copy_head_.assign(graph_.data_count(), kNone);
  if (graph_.data_count() < graph_.edge_count()) {
    next_reader_.assign(graph_.edge_count(), kNone);
  }
  if (!memory_) {
    return;
  }
  readers_left_.assign(graph_.data_count(), 0);
  for (const Edge& edge : graph_.edges()) {
    ++readers_left_[edge.data.index()];
  }
  data_offsets_.assign(tasks_.size() + 1, 0);
  for (size_t d = 0; d < graph_.data_count(); ++d) {
    ++data_offsets_[graph_.data_producer(DataId(d)).index() + 1];
  }
  for (size_t t = 0; t < tasks_.size(); ++t) {
    data_offsets_[t + 1] += data_offsets_[t];
  }
  data_of_.resize(graph_.data_count());
  std::vector<uint32_t> cursor(data_offsets_.begin(), data_offsets_.end() - 1);
  for (uint32_t d = 0; d < graph_.data_count(); ++d) {
    data_of_[cursor[graph_.data_producer(DataId(d)).index()]++] = d;
  }
}

Status Engine::adopt(const Schedule& schedule) {
  const size_t n = tasks_.size();
  if (schedule.placements.size() != n || schedule.order.size() != devices_.size()) {
    return invalid_input(
        fmt::format("the schedule places {} tasks on {} devices; expected {} tasks on {} devices",
                    schedule.placements.size(), schedule.order.size(), n, devices_.size()));
  }
  for (size_t t = 0; t < n; ++t) {
    const DeviceId device = schedule.placements[t].device;
    if (device.index() >= devices_.size()) {
      return invalid_input(fmt::format("the schedule places task '{}' on device {} of {}",
                                       printable(graph_.name(TaskId(t))), device.value(),
                                       devices_.size()));
    }
    const TimeNs duration = costs_.time_ns(graph_.cost_row(TaskId(t)), device);
    if (duration < 0) {
      return invalid_input(fmt::format("the schedule places task '{}' on '{}', which cannot run it",
                                       printable(graph_.name(TaskId(t))),
                                       printable(platform_.device(device).name)));
    }
    place(static_cast<uint32_t>(t), device.value(), duration);
  }
  size_t listed = 0;
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    for (const TaskId task : schedule.order[d]) {
      if (task.index() >= n || tasks_[task.index()].device != d ||
          (tasks_[task.index()].flags & kStarted) != 0) {
        return invalid_input(fmt::format(
            "the schedule's order of '{}' lists task {}, which is listed twice or not placed there",
            printable(platform_.devices[d].name), task.value()));
      }
      tasks_[task.index()].flags |= kStarted;  // marks it as seen; cleared below
      if (devices_[d].ready_first) {
        position_[task.index()] = static_cast<uint32_t>(devices_[d].order.size());
      }
      devices_[d].order.push_back(task.value());
    }
    listed += schedule.order[d].size();
  }
  if (listed != n) {
    return invalid_input(
        fmt::format("the schedule's orders list {} tasks; expected all {}", listed, n));
  }
  for (TaskState& task : tasks_) {
    task.flags &= ~static_cast<uint32_t>(kStarted);
  }
  return ok_status();
}

StatusOr<SimResult> Engine::run(const Schedule& schedule) {
  DFSIM_RETURN_IF_ERROR(prepare());
  DFSIM_RETURN_IF_ERROR(adopt(schedule));
  set_up_host();
  order_host_program(schedule);
  for (uint32_t t = 0; t < tasks_.size(); ++t) {
    if (memory_ && graph_.resident_bytes(TaskId(t)) > 0) {
      allocate(tasks_[t].device, graph_.resident_bytes(TaskId(t)), MemoryUse::kResident, kNone, t);
    }
    if (tasks_[t].inputs_left == 0 && devices_[tasks_[t].device].ready_first) {
      task_ready(t);
    }
  }
  open_host();
  loop();
  return finish_run();
}

void Engine::loop() {
  while (error_.ok()) {
    if (ask_ && (events_.empty() || events_.top().time_ns > now_)) {
      ask_policy();
      continue;
    }
    if (events_.empty()) {
      return;
    }
    const Event event = events_.pop();
    now_ = event.time_ns;
    event_count_ += event.kind != kTransferStarted ? 1 : 0;  // the same with and without listener
    handle(event);
  }
}

void Engine::handle(const Event& event) {
  switch (static_cast<EventKind>(event.kind)) {
    case kTaskFinished:
      return finish(event.payload);
    case kDataArrived:
      return data_arrived(event.payload);
    case kTransferStarted:
      return transfer_started(event.payload);
    case kHostOpened:
      host_open_ = true;
      run_host();
      for (uint32_t d = 0; d < devices_.size(); ++d) {
        start_tasks(d);
      }
      return;
    case kHostDispatched:
      return dispatched(event.payload);
    case kWorkerReady:
      return start(event.payload, now_ - platform_.runtime.dispatch_ns);
  }
}

void Engine::fail(Status status) {
  if (error_.ok()) {
    error_ = std::move(status);
  }
}

Status Engine::stuck() const {
  std::vector<std::string> waiting;
  for (uint32_t d = 0; d < devices_.size() && waiting.size() < 5; ++d) {
    const DeviceState& device = devices_[d];
    if (!device.ready_first && device.position < device.order.size()) {
      const uint32_t task = device.order[device.position];
      waiting.push_back(fmt::format("'{}' waits for {} inputs of '{}'",
                                    printable(platform_.devices[d].name), tasks_[task].inputs_left,
                                    printable(graph_.name(TaskId(task)))));
    }
  }
  if (policy_ != nullptr && waiting.empty()) {
    return failed(fmt::format("policy '{}' left {} of {} tasks undecided when nothing was running",
                              policy_->name(), tasks_.size() - finished_, tasks_.size()));
  }
  return invalid_input(fmt::format(
      "the schedule waits in a circle after {} of {} tasks: {}; order each device's tasks so that "
      "no task comes before one it depends on",
      finished_, tasks_.size(), join(waiting, ", ")));
}

StatusOr<SimResult> Engine::finish_run() {
  DFSIM_RETURN_IF_ERROR(std::move(error_));
  if (finished_ != tasks_.size()) {
    return stuck();
  }
  result_.makespan_ns = now_;
  result_.events = event_count_;
  return std::move(result_);
}

}  // namespace dfsim
