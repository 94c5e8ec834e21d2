// The loop itself: set-up, the order of events, requests, and the result of the run.
#include "sim/engine/event_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/cancellation.h"
#include "base/text.h"
#include "sim/engine/static_plan.h"

namespace dfsim::inline sim {

namespace {

// An event takes some hundred nanoseconds; callers that cancel wait for some thousand of them.
constexpr uint32_t kTurnsPerCancellation = 64;

// Copies are looked for after their arrival by memory, which frees them, and by policies.
bool keeps_copies(const SimOptions& options, LineKind line) {
  return options.memory != MemoryPolicy::kOff || line == LineKind::kDecided;
}

// Spilling looks at the one task that is next.
QueueOrder order_of(const SimOptions& options) {
  return options.memory == MemoryPolicy::kSpill ? QueueOrder::kInOrder : options.queue_order;
}

}  // namespace

EventLoop::EventLoop(const SimInput& input, const SimOptions& options, const RunMode& mode,
                     SimListener* listener, LineKind line, bool shared_data)
    : graph_(input.graph),
      platform_(input.platform),
      listener_(listener),
      slots_(mode.requests, static_cast<uint32_t>(graph_.task_count()), timeline_, listener),
      tasks_(graph_, slots_, timeline_, listener),
      times_(graph_, input.costs, mode.noise),
      queues_(platform_, order_of(options), line, slots_, timeline_),
      host_(platform_.runtime, options, line, queues_, slots_, tasks_, timeline_, listener),
      transfers_(graph_, platform_, slots_, timeline_, listener),
      copies_(graph_,
              keeps_copies(options, line) ? DataCopies::Keeping::kUntilDropped
                                          : DataCopies::Keeping::kUntilArrival,
              shared_data),
      memory_(options.memory == MemoryPolicy::kOff
                  ? nullptr
                  : std::make_unique<DeviceMemory>(platform_, options.memory, slots_, timeline_,
                                                   listener)),
      spill_(options.memory == MemoryPolicy::kSpill
                 ? std::make_unique<Spill>(graph_, platform_, tasks_, copies_, *memory_, transfers_,
                                           timeline_)
                 : nullptr),
      lifetimes_(memory_ == nullptr ? nullptr
                                    : std::make_unique<TensorLifetimes>(
                                          graph_, platform_, slots_, tasks_, copies_, *memory_,
                                          spill_.get(), timeline_, line == LineKind::kPlanned)),
      sender_(graph_, platform_, slots_, tasks_, copies_, transfers_,
              MemoryParts{memory_.get(), lifetimes_.get(), spill_.get()}, timeline_, shared_data,
              keeps_copies(options, line)),
      view_(graph_, slots_, tasks_, queues_, copies_, memory_.get(), spill_.get(), timeline_) {
  if (memory_ != nullptr) {
    memory_->set_inventory(lifetimes_.get());
  }
}

Status EventLoop::use_plan(const Schedule& schedule, std::vector<uint32_t> placement) {
  placement_ = std::move(placement);
  queues_.load_plan(schedule.order);
  if (!host_.instant()) {
    const auto in_order = [this](uint32_t device) { return !queues_.ready_first(device); };
    host_.load_program(host_program(graph_, schedule, in_order), placement_);
  }
  return lifetimes_ == nullptr ? ok_status() : lifetimes_->allocate_weights(placement_);
}

StatusOr<SimResult> EventLoop::run() {
  slots_.schedule_arrivals();
  if (policies_ == nullptr && transfers_.arrivals_known()) {
    run_plan_in_order();
  } else {
    run_instant_by_instant();
  }
  DFSIM_RETURN_IF_ERROR(timeline_.error());
  if (!slots_.all_finished()) {
    return stuck();
  }
  return result();
}

// Every event is in the timeline, and no policy has to be asked between two instants.
void EventLoop::run_plan_in_order() {
  for (uint32_t turn = 0; timeline_.ok() && !timeline_.empty(); ++turn) {
    if (turn % kTurnsPerCancellation == 0) {
      cancellation_point();
    }
    handle(timeline_.pop());
    while (memory_ != nullptr && memory_->anything_freed()) {
      use_freed_memory();
    }
  }
}

// The network of fair links has instants of its own; policies are asked when everything of an
// instant has happened.
void EventLoop::run_instant_by_instant() {
  for (uint32_t turn = 0; timeline_.ok(); ++turn) {
    if (turn % kTurnsPerCancellation == 0) {
      cancellation_point();
    }
    const TimeNs next_event_ns = timeline_.next_ns();
    TimeNs next_ns = next_event_ns;
    if (next_event_ns > timeline_.now_ns()) {
      next_ns = std::min(next_ns, transfers_.next_ns());
    }
    if (policies_ != nullptr && policies_->wants_to_ask() && next_ns > timeline_.now_ns()) {
      policies_->ask(*this);
    } else if (next_ns == kNever) {
      return;
    } else if (next_event_ns <= next_ns) {
      handle(timeline_.pop());
    } else {
      timeline_.move_to(next_ns);
      transfers_.advance();
    }
    while (!transfers_.steps().empty() || (memory_ != nullptr && memory_->anything_freed())) {
      handle_network();
      use_freed_memory();
    }
  }
}

void EventLoop::handle(const Event& event) {
  if (queues_.out_of_date(event)) {
    return;
  }
  timeline_.move_to(event);
  switch (static_cast<SimEventKind>(event.kind)) {
    case kTaskFinished:
      return finish(event.payload);
    case kRouteArrived:
      return route_arrived(event.payload);
    case kTransferArrived:
      return transfer_arrived(event.payload);
    case kRequestArrived:
      return request_arrived(event.payload);
    case kHostOpened:
      return slot_opened(event.payload);
    case kHostDispatched:
      return host_dispatched(event.payload);
    case kWorkerReady:
      return start(event.payload);
    case kInputsArrived:
      return task_ready(event.payload);
    case kTransferStarted:
      return transfers_.tell_started(event.payload);
    case kTransferFinished:
      return transfers_.tell_finished(event.payload);
    case kPolicyThought:
      return policies_->thought();
  }
}

// Not inlined: handle() then needs no stack frame, and leaves to each handler by a jump.
[[gnu::noinline]] void EventLoop::route_arrived(uint32_t route) {
  transfer_arrived(transfers_.take_first(route));
}

[[gnu::noinline]] void EventLoop::host_dispatched(uint32_t thread) {
  task_ready(host_.dispatched(thread));
}

void EventLoop::handle_network() {
  std::vector<FlowEvent>& steps = transfers_.steps();
  for (size_t i = 0; i < steps.size(); ++i) {  // grows: arrivals start other transfers
    const FlowEvent step = steps[i];
    const Shipment& shipment = transfers_.shipment(step.transfer);
    switch (step.step) {
      case FlowStep::kStarted:
        queues_.change_transfers(shipment.from, 1);
        queues_.change_transfers(shipment.to, 1);
        transfers_.tell_started(step.transfer);
        break;
      case FlowStep::kReleased:
        queues_.change_transfers(shipment.from, -1);
        queues_.change_transfers(shipment.to, -1);
        break;
      case FlowStep::kArrived:
        transfer_arrived(step.transfer);
        break;
    }
  }
  steps.clear();
}

// Memory was freed on some devices: what waits for it goes on, a task before copies.
void EventLoop::use_freed_memory() {
  if (memory_ == nullptr) {
    return;
  }
  for (const uint32_t d : memory_->take_freed()) {
    start_tasks(d);
    sender_.send_waiting(d);
  }
}

void EventLoop::request_arrived(uint32_t request) {
  const uint32_t slot = slots_.arrive(request);
  const uint32_t begin = slots_.instance(slot, 0);
  const uint32_t end = begin + slots_.task_count();
  tasks_.grow(slot);
  queues_.grow(slot);
  sender_.grow(slot);
  for (uint32_t i = begin; i < end; ++i) {
    tasks_.reset(i, i - begin);
    if (policies_ == nullptr) {
      place(i, placement_[i - begin]);
    }
  }
  if (lifetimes_ != nullptr) {
    lifetimes_->reset(slot);
  }
  if (policies_ != nullptr) {
    policies_->begin(slot);
  }
  if (begin == end) {
    return request_finished(slot);
  }
  for (uint32_t i = begin; i < end; ++i) {
    if (tasks_.state(i).preds_left > 0) {
      continue;
    }
    if (policies_ != nullptr) {
      policies_->now_ready(i);
    } else if (const uint32_t d = tasks_.device_of(i);
               queues_.ready_first(d) && may_be_queued(i, d)) {
      queues_.push_ready(i, d);
    }
  }
  host_.request_arrived(slot);
}

void EventLoop::request_finished(uint32_t slot) {
  slots_.finish(slot);
  if (slots_.single_run()) {
    return;  // its state is the result
  }
  if (lifetimes_ != nullptr) {
    lifetimes_->free_outputs(slot);
  } else if (policies_ != nullptr) {
    copies_.drop_all(slot);  // without memory to be freed nothing else takes them away
  }
  slots_.vacate(slot);
}

void EventLoop::slot_opened(uint32_t slot) {
  slots_.open(slot);
  host_.opened();
  for (uint32_t d = 0; d < queues_.size(); ++d) {
    start_tasks(d);
  }
}

SimResult EventLoop::result() {
  SimResult result;
  result.devices.resize(platform_.devices.size());
  result.links.resize(platform_.links.size());
  queues_.sum_up(result.devices);
  transfers_.sum_up(result);
  for (const RequestRecord& request : slots_.records()) {
    result.makespan_ns = std::max(result.makespan_ns, request.finish_ns);
  }
  for (uint32_t d = 0; memory_ != nullptr && d < result.devices.size(); ++d) {
    result.devices[d].peak_memory_bytes = memory_->peak(d);
  }
  result.host_peak_memory_bytes = spill_ == nullptr ? 0 : spill_->host_peak();
  result.wait_ns = tasks_.total_waits();
  result.host_busy_ns = host_.busy_ns();
  result.events = timeline_.events();
  if (slots_.single_run()) {
    result.tasks = tasks_.take_records();
  }
  return result;
}

// Nothing is left to happen, and not all requests are done.
Status EventLoop::stuck() const {
  if (lifetimes_ != nullptr) {
    DFSIM_RETURN_IF_ERROR(lifetimes_->deadlock());
  }
  if (policies_ != nullptr) {
    return policies_->stuck();
  }
  std::vector<std::string> waiting;
  for (uint32_t d = 0; d < queues_.size() && waiting.size() < 5; ++d) {
    const uint32_t instance = queues_.next(d);
    if (instance != kNoIndex) {
      waiting.push_back(fmt::format("'{}' waits for {} inputs of '{}'",
                                    printable(platform_.devices[d].name),
                                    tasks_.state(instance).inputs_left,
                                    printable(graph_.name(TaskId(slots_.task_of(instance))))));
    }
  }
  return invalid_input(fmt::format(
      "the schedule waits in a circle: {}; order each device's tasks so that no task comes before "
      "one it depends on",
      join(waiting, ", ")));
}

}  // namespace dfsim::inline sim
