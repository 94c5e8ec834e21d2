#include "sim/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace dfsim::inline sim {

namespace {

// The closed form of FIFO links does not cover rates that change while a transfer is under way.
bool needs_flows(const Platform& platform) {
  return std::any_of(platform.links.begin(), platform.links.end(),
                     [](const LinkSpec& l) { return l.sharing == LinkSharing::kFair; }) ||
         std::any_of(platform.devices.begin(), platform.devices.end(),
                     [](const DeviceSpec& d) { return d.overlap_slowdown > 1; });
}

}  // namespace

Engine::Engine(const SimInput& input, const SimOptions& options, const EngineMode& mode,
               SimListener* listener)
    : graph_(input.graph),
      costs_(input.costs),
      platform_(input.platform),
      options_(options),
      mode_(mode),
      listener_(listener),
      task_count_(static_cast<uint32_t>(input.graph.task_count())),
      data_count_(static_cast<uint32_t>(input.graph.data_count())),
      one_slot_(mode.requests == 1),
      routes_(input.platform),
      ends_(std::max(static_cast<uint32_t>(input.platform.devices.size()), routes_.host() + 1)),
      fifo_(input.platform, routes_, ends_),
      memory_(options.memory != MemoryPolicy::kOff),
      spill_(options.memory == MemoryPolicy::kSpill),
      waits_for_memory_(spill_ || options.memory == MemoryPolicy::kWait) {
  if (needs_flows(platform_)) {
    flows_.emplace(platform_, routes_, ends_);
  }
}

Status Engine::check_inputs() const {
  if (platform_.devices.empty()) {
    return invalid_input(
        fmt::format("platform '{}' has no devices; expected at least one", platform_.name));
  }
  if (task_count_ > 0 && costs_.devices() != platform_.devices.size()) {
    return invalid_input(fmt::format("the cost table has {} devices, but platform '{}' has {}",
                                     costs_.devices(), platform_.name, platform_.devices.size()));
  }
  for (uint32_t t = 0; t < task_count_; ++t) {
    if (graph_.cost_row(TaskId(t)) >= costs_.rows()) {
      return invalid_input(fmt::format("task '{}' has cost row {}, but the cost table has {} rows",
                                       printable(graph_.name(TaskId(t))),
                                       graph_.cost_row(TaskId(t)), costs_.rows()));
    }
  }
  for (const TaskId task : options_.sync_after) {
    if (task.index() >= task_count_) {
      return invalid_input(fmt::format("sync point after task {}, but there are {} tasks",
                                       task.value(), task_count_));
    }
  }
  if (!options_.dispatch_ns.empty() && options_.dispatch_ns.size() != task_count_) {
    return invalid_input(fmt::format("dispatch times of {} tasks are given, but there are {}",
                                     options_.dispatch_ns.size(), task_count_));
  }
  return spill_ ? check_spill() : ok_status();
}

Status Engine::check_spill() const {
  if (!one_slot_) {
    return invalid_input(
        "memory policy 'spill' is for single runs; use 'wait' or 'fail' with several requests");
  }
  if (options_.queue_order == QueueOrder::kReadyFirst) {
    return invalid_input("memory policy 'spill' needs devices that run their tasks in order");
  }
  return ok_status();
}

Status Engine::prepare() {
  DFSIM_RETURN_IF_ERROR(check_inputs());
  result_.devices.resize(platform_.devices.size());
  result_.links.resize(platform_.links.size());
  requests_.resize(mode_.requests);
  slot_of_request_.resize(mode_.requests, kNone);
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
    device.queues = static_cast<uint32_t>(queues_in_use(spec, runtime));
    device.free_queues = device.queues;
    device.first_queue = static_cast<uint32_t>(queues_.size());
    device.ready_first =
        !spill_ && (options_.queue_order == QueueOrder::kReadyFirst ||
                    (options_.queue_order == QueueOrder::kAuto && device.queues > 1));
    device.slows_down = spec.overlap_slowdown > 1;
    queues_.resize(queues_.size() + device.queues);
    for (uint32_t q = device.first_queue; q < queues_.size(); ++q) {
      queues_[q].device = d;
    }
  }
  if (std::any_of(devices_.begin(), devices_.end(), [](const auto& d) { return d.ready_first; })) {
    position_.resize(task_count_);
  }
}

void Engine::set_up_data() {
  in_flight_.resize(static_cast<size_t>(ends_) * ends_);
  route_use_.resize(in_flight_.size());
  for (uint32_t from = 0; from < ends_; ++from) {
    for (uint32_t to = 0; to < ends_; ++to) {
      route_use_[from * ends_ + to].reachable = routes_.route(from, to).reachable;
    }
  }
  keep_copies_ = memory_ || online_;
  std::vector<bool> read(data_count_, false);
  for (const Edge& edge : graph_.edges()) {
    shared_data_ = shared_data_ || read[edge.data.index()];
    read[edge.data.index()] = true;
  }
  look_for_copies_ = shared_data_ || keep_copies_;
  arrivals_known_ = !keep_copies_ && !flows_.has_value();
  if (!memory_) {
    return;
  }
  resident_.assign(devices_.size(), 0);
  homes_.resize(spill_ ? data_count_ : 0);
  data_offsets_.assign(task_count_ + 1, 0);
  for (uint32_t d = 0; d < data_count_; ++d) {
    ++data_offsets_[graph_.data_producer(DataId(d)).index() + 1];
  }
  for (uint32_t t = 0; t < task_count_; ++t) {
    data_offsets_[t + 1] += data_offsets_[t];
  }
  data_of_.resize(data_count_);
  std::vector<uint32_t> cursor(data_offsets_.begin(), data_offsets_.end() - 1);
  for (uint32_t d = 0; d < data_count_; ++d) {
    data_of_[cursor[graph_.data_producer(DataId(d)).index()]++] = d;
  }
}

Status Engine::adopt(const Schedule& schedule) {
  if (schedule.placements.size() != task_count_ || schedule.order.size() != devices_.size()) {
    return invalid_input(fmt::format(
        "the schedule places {} tasks on {} devices; expected {} tasks on {} devices",
        schedule.placements.size(), schedule.order.size(), task_count_, devices_.size()));
  }
  placement_.resize(task_count_);
  for (uint32_t t = 0; t < task_count_; ++t) {
    const DeviceId device = schedule.placements[t].device;
    if (device.index() >= devices_.size()) {
      return invalid_input(fmt::format("the schedule places task '{}' on device {} of {}",
                                       printable(graph_.name(TaskId(t))), device.value(),
                                       devices_.size()));
    }
    if (!costs_.feasible(graph_.cost_row(TaskId(t)), device)) {
      return invalid_input(fmt::format("the schedule places task '{}' on '{}', which cannot run it",
                                       printable(graph_.name(TaskId(t))),
                                       printable(platform_.device(device).name)));
    }
    placement_[t] = device.value();
  }
  return adopt_orders(schedule);
}

Status Engine::adopt_orders(const Schedule& schedule) {
  std::vector<uint8_t> seen(task_count_, 0);
  size_t listed = 0;
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    DeviceState& device = devices_[d];
    device.order.reserve(schedule.order[d].size());
    for (const TaskId task : schedule.order[d]) {
      if (task.index() >= task_count_ || placement_[task.index()] != d || seen[task.index()] != 0) {
        return invalid_input(fmt::format(
            "the schedule's order of '{}' lists task {}, which is listed twice or not placed there",
            printable(platform_.devices[d].name), task.value()));
      }
      seen[task.index()] = 1;
      if (device.ready_first) {
        position_[task.index()] = static_cast<uint32_t>(device.order.size());
      }
      device.order.push_back(task.value());
    }
    listed += schedule.order[d].size();
  }
  if (listed != task_count_) {
    return invalid_input(
        fmt::format("the schedule's orders list {} tasks; expected all {}", listed, task_count_));
  }
  return ok_status();
}

StatusOr<SimResult> Engine::run(const Schedule& schedule) {
  DFSIM_RETURN_IF_ERROR(prepare());
  DFSIM_RETURN_IF_ERROR(adopt(schedule));
  set_up_host();
  order_host_program(schedule);
  if (memory_) {
    DFSIM_RETURN_IF_ERROR(allocate_residents());
    DFSIM_RETURN_IF_ERROR(check_capacity());
  }
  schedule_arrivals();
  loop();
  return finish_run();
}

void Engine::loop() {
  if (online_ || flows_.has_value()) {
    return loop_online_or_fair();
  }
  while (error_.ok() && !events_.empty()) {
    handle(events_.pop());
    while (!freed_.empty()) {
      use_freed_memory();
    }
  }
}

void Engine::loop_online_or_fair() {
  while (error_.ok()) {
    const TimeNs next_event_ns = events_.empty() ? kNever : events_.top().time_ns;
    TimeNs next_ns = next_event_ns;
    if (flows_.has_value() && next_event_ns > now_) {
      next_ns = std::min(next_ns, flows_->next_ns(now_));
    }
    if (ask_ && next_ns > now_) {
      ask_policies();
    } else if (next_ns == kNever) {
      return;
    } else if (next_event_ns <= next_ns) {
      handle(events_.pop());
    } else {
      now_ = next_ns;
      ++event_count_;
      flows_->advance(now_, flow_events_);
    }
    while (!flow_events_.empty() || !freed_.empty()) {
      handle_flows();
      use_freed_memory();
    }
  }
}

void Engine::handle(const Event& event) {
  if (event.kind == kTaskFinished && queues_[event.payload].end_sequence != event.sequence) {
    return;  // its end was moved by a change of speed
  }
  now_ = event.time_ns;
  sequence_ = event.sequence;
  event_count_ += event.kind < kInputsArrived ? 1 : 0;
  switch (static_cast<EventKind>(event.kind)) {
    case kTaskFinished:
      return finish(event.payload);
    case kRouteArrived:
      return pop_route(event.payload);
    case kTransferArrived:
      return transfer_arrived(event.payload);
    case kRequestArrived:
      return request_arrived(event.payload);
    case kHostOpened:
      return slot_opened(event.payload);
    case kHostDispatched:
      return dispatched(event.payload);
    case kWorkerReady:
      return worker_ready(event.payload);
    case kInputsArrived:
      return task_ready(event.payload);
    case kTransferStarted:
      return transfer_started(event.payload);
    case kTransferFinished:
      return transfer_finished(event.payload);
  }
}

void Engine::fail(Status status) {
  if (error_.ok()) {
    error_ = std::move(status);
  }
}

Status Engine::stuck() const {
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    const DeviceState& device = devices_[d];
    if (device.blocked != kNone || !device.waiting_copies.empty()) {
      return failed(fmt::format(
          "'{}' is out of memory for good: {} waits for room in {}, which nothing will free; it "
          "holds {}; use a larger device, fewer requests in flight or memory policy 'spill'",
          printable(platform_.devices[d].name),
          device.blocked == kNone
              ? fmt::format("a copy of {}", format_bytes(graph_.data_bytes(DataId(
                                                copies_[device.waiting_copies.front()].data))))
              : fmt::format("task '{}'", printable(graph_.name(TaskId(task_of(device.blocked))))),
          format_bytes(platform_.devices[d].memory_bytes), memory_list(d)));
    }
  }
  if (online_) {
    const auto waiting =
        std::ranges::find_if(slots_, [](const Slot& slot) { return slot.tasks_left > 0; });
    return failed(
        fmt::format("policy '{}' left ready tasks undecided when nothing was running: {} "
                    "of {} tasks were done",
                    policies_[0]->name(), task_count_ - waiting->tasks_left, task_count_));
  }
  std::vector<std::string> waiting;
  for (uint32_t d = 0; d < devices_.size() && waiting.size() < 5; ++d) {
    const uint32_t instance = next_instance(devices_[d]);
    if (instance != kNone) {
      waiting.push_back(fmt::format(
          "'{}' waits for {} inputs of '{}'", printable(platform_.devices[d].name),
          tasks_[instance].inputs_left, printable(graph_.name(TaskId(task_of(instance))))));
    }
  }
  return invalid_input(fmt::format(
      "the schedule waits in a circle: {}; order each device's tasks so that no task comes before "
      "one it depends on",
      join(waiting, ", ")));
}

StatusOr<SimResult> Engine::finish_run() {
  DFSIM_RETURN_IF_ERROR(std::move(error_));
  if (requests_done_ != mode_.requests) {
    return stuck();
  }
  for (const RequestRecord& request : requests_) {
    result_.makespan_ns = std::max(result_.makespan_ns, request.finish_ns);
  }
  sum_up_transfers();
  result_.events = event_count_;
  if (one_slot_) {
    result_.tasks = std::move(records_);
  }
  return std::move(result_);
}

}  // namespace dfsim::inline sim
