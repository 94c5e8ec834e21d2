// Replays the events of a run and checks each against what a machine can do. State mirrors the
// simulator's as independently as possible (own queues, own copies, own bytes in memory), so
// that one mistake does not confirm itself. The bounds at the end, critical path and work over
// capacity, hold for any schedule.
#include "sim/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace dfsim::inline sim {

InvariantChecker::InvariantChecker(const SimInput& input, const SimOptions& options)
    : input_(input),
      options_(options),
      memory_(input.platform.devices.size(), 0),
      peaks_(input.platform.devices.size(), 0),
      resident_(input.platform.devices.size(), 0) {}

void InvariantChecker::complain(std::string what) {
  constexpr size_t kMostComplaints = 10;
  if (complaints_.size() < kMostComplaints) {
    complaints_.push_back(fmt::format("at {} ns: {}", now_, what));
  }
}

void InvariantChecker::tick(TimeNs time_ns) {
  if (time_ns < now_) {
    complain(fmt::format("an event of {} ns came late", time_ns));
  }
  now_ = std::max(now_, time_ns);
}

void InvariantChecker::on_request_arrived(uint32_t request, TimeNs time_ns) {
  tick(time_ns);
  arrivals_[request] = time_ns;
}

void InvariantChecker::on_request_finished(uint32_t request, TimeNs time_ns) {
  tick(time_ns);
  ++requests_finished_;
  for (size_t t = 0; t < input_.graph.task_count(); ++t) {
    const auto task = tasks_.find({request, TaskId(t)});
    if (task == tasks_.end() || task->second.end_ns < 0) {
      complain(fmt::format("request {} was done before task {}", request, t));
    }
  }
}

void InvariantChecker::on_task_dispatched(const DispatchEvent& event) { tick(event.time_ns); }

void InvariantChecker::on_task_waited(const WaitEvent& event) {
  TaskSeen& task = tasks_[{event.request, event.task}];
  const TimeNs from = task.waited_until_ns < 0 ? arrivals_[event.request] : task.waited_until_ns;
  if (event.begin_ns != from || event.end_ns <= event.begin_ns) {
    complain(fmt::format("task {} waited for {} from {} to {}, but its last wait ended at {}",
                         event.task.value(), wait_reason_name(event.reason), event.begin_ns,
                         event.end_ns, from));
  }
  task.waited_until_ns = event.end_ns;
  task.wait_ns[static_cast<int>(event.reason)] += event.end_ns - event.begin_ns;
  wait_ns_[static_cast<int>(event.reason)] += event.end_ns - event.begin_ns;
}

void InvariantChecker::check_inputs(const TaskEvent& event) {
  for (const uint32_t e : input_.graph.in_edge_indices(event.task)) {
    const Edge& edge = input_.graph.edges()[e];
    const TaskSeen& from = tasks_[{event.request, edge.from}];
    if (from.end_ns < 0) {
      complain(fmt::format("task {} started before its predecessor {} was done", event.task.value(),
                           edge.from.value()));
    } else if (from.device != event.device && input_.graph.edge_bytes(edge) > 0 &&
               !arrived_.contains({event.request, edge.data, event.device})) {
      complain(fmt::format("task {} started before data {} was on its device", event.task.value(),
                           edge.data.value()));
    }
  }
}

void InvariantChecker::on_task_started(const TaskEvent& event) {
  tick(event.time_ns);
  const TaskKey key{event.request, event.task};
  TaskSeen& task = tasks_[key];
  if (task.start_ns >= 0) {
    complain(fmt::format("task {} started twice", event.task.value()));
  }
  const TimeNs from = task.waited_until_ns < 0 ? arrivals_[event.request] : task.waited_until_ns;
  if (from != event.time_ns) {
    complain(fmt::format("the waits of task {} end at {}", event.task.value(), from));
  }
  task.start_ns = event.time_ns;
  task.device = event.device;
  check_inputs(event);
  if (!running_.try_emplace({event.device, event.queue}, key).second) {
    complain(fmt::format("task {} started on a queue that is busy", event.task.value()));
  }
}

void InvariantChecker::on_task_finished(const TaskEvent& event) {
  tick(event.time_ns);
  last_finish_ns_ = event.time_ns;
  const TaskKey key{event.request, event.task};
  TaskSeen& task = tasks_[key];
  const auto queue = running_.find({event.device, event.queue});
  if (queue == running_.end() || queue->second != key) {
    complain(fmt::format("task {} finished where it did not run", event.task.value()));
  } else {
    running_.erase(queue);
  }
  task.end_ns = event.time_ns;
  const TimeNs cost = input_.costs.time_ns(input_.graph.cost_row(event.task), event.device);
  const TimeNs took = task.end_ns - task.start_ns;
  const double slowest = std::max(1.0, input_.platform.device(event.device).overlap_slowdown);
  constexpr double kRounding = 1e-6;
  if (took < cost ||
      static_cast<double>(took) > static_cast<double>(cost) * slowest * (1 + kRounding) + 2) {
    complain(fmt::format("task {} took {} ns, but costs {} ns", event.task.value(), took, cost));
  }
}

void InvariantChecker::on_transfer_started(const TransferEvent& event) {
  tick(event.time_ns);
  if (!moving_.try_emplace(event.id, Moving{event.time_ns, event.bytes}).second) {
    complain(fmt::format("transfer {} started twice", event.id));
  }
  sent_ += event.bytes;
  if (event.time_ns < event.requested_ns || event.hops.empty()) {
    complain(fmt::format("transfer {} has no way or started before its request", event.id));
  }
  for (const Hop& hop : event.hops) {
    const LinkSpec& link = input_.platform.links[hop.link.index()];
    if (link.sharing != LinkSharing::kFifo) {
      continue;
    }
    const uint32_t channel = 2 * hop.link.value() + (link.full_duplex && hop.reversed ? 1 : 0);
    TimeNs& free_ns = channel_user_[channel];
    if (event.time_ns < free_ns) {
      complain(fmt::format("transfer {} entered link '{}' before it was free at {}", event.id,
                           link.name, free_ns));
    }
    free_ns = event.time_ns + occupancy_ns(1e9 / link.bytes_per_s, event.bytes);
  }
}

void InvariantChecker::on_transfer_finished(const TransferEvent& event) {
  tick(event.time_ns);
  const auto moving = moving_.find(event.id);
  if (moving == moving_.end() || moving->second.bytes != event.bytes) {
    return complain(fmt::format("transfer {} finished that did not start so", event.id));
  }
  TimeNs least = 0;
  TimeNs latency = 0;
  for (const Hop& hop : event.hops) {
    const LinkSpec& link = input_.platform.links[hop.link.index()];
    latency += link.latency_ns;
    least = std::max(least, occupancy_ns(1e9 / link.bytes_per_s, event.bytes));
  }
  if (event.time_ns - moving->second.start_ns + 1 < least + latency) {
    complain(fmt::format("transfer {} took {} ns, less than its way allows ({} ns)", event.id,
                         event.time_ns - moving->second.start_ns, least + latency));
  }
  moving_.erase(moving);
  received_ += event.bytes;
  if (event.purpose == TransferPurpose::kSpill) {
    return;
  }
  moved_ += event.purpose == TransferPurpose::kInput ? event.bytes : 0;
  const bool first =
      arrived_.insert_or_assign({event.request, event.data, event.to}, event.time_ns).second;
  if (!first && event.purpose == TransferPurpose::kInput) {
    complain(fmt::format("data {} was sent twice to a device", event.data.value()));
  }
}

void InvariantChecker::on_memory_allocated(const MemoryEvent& event) {
  tick(event.time_ns);
  Bytes& memory = memory_[event.device.index()];
  memory += event.bytes;
  resident_[event.device.index()] += event.use == MemoryUse::kResident ? event.bytes : 0;
  peaks_[event.device.index()] = std::max(peaks_[event.device.index()], memory);
  const Bytes capacity = input_.platform.device(event.device).memory_bytes;
  const bool enforced = options_.memory >= MemoryPolicy::kFail && capacity > 0;
  if (memory != event.in_use_bytes || event.bytes <= 0 || (enforced && memory > capacity)) {
    complain(fmt::format("device {} holds {} bytes after allocating {}, by the run {}; it has {}",
                         event.device.value(), memory, event.bytes, event.in_use_bytes, capacity));
  }
}

void InvariantChecker::on_memory_freed(const MemoryEvent& event) {
  tick(event.time_ns);
  Bytes& memory = memory_[event.device.index()];
  memory -= event.bytes;
  if (memory != event.in_use_bytes || event.bytes <= 0 || memory < 0) {
    complain(fmt::format("device {} holds {} bytes after freeing {}, by the run {}",
                         event.device.value(), memory, event.bytes, event.in_use_bytes));
  }
}

// Critical path with each task where it ran, and work of each device over its queues.
void InvariantChecker::check_bounds(const SimResult& result, size_t requests) {
  const ExecGraph& graph = input_.graph;
  std::vector<TimeNs> longest(graph.task_count(), 0);
  TimeNs path = 0;
  for (size_t t = 0; t < graph.task_count(); ++t) {
    TimeNs best = std::numeric_limits<TimeNs>::max();
    for (size_t d = 0; d < input_.costs.devices(); ++d) {
      const TimeNs cost = input_.costs.time_ns(graph.cost_row(TaskId(t)), DeviceId(d));
      best = cost >= 0 ? std::min(best, cost) : best;
    }
    longest[t] += best;
    path = std::max(path, longest[t]);
    for (const Edge& edge : graph.out_edges(TaskId(t))) {
      longest[edge.to.index()] = std::max(longest[edge.to.index()], longest[t]);
    }
  }
  if (result.makespan_ns < path) {
    complain(fmt::format("the makespan is below the critical path of {} ns", path));
  }
  for (size_t d = 0; d < result.devices.size(); ++d) {
    const int queues =
        std::max({1, input_.platform.devices[d].queues, input_.platform.runtime.inter_op_workers});
    if (result.devices[d].busy_ns > result.makespan_ns * queues) {
      complain(fmt::format("device {} was busy for longer than the makespan", d));
    }
  }
  size_t tasks = 0;
  for (const DeviceUse& use : result.devices) {
    tasks += use.tasks;
  }
  if (tasks != graph.task_count() * requests) {
    complain(fmt::format("{} tasks ran; expected {}", tasks, graph.task_count() * requests));
  }
}

void InvariantChecker::check_result(const SimResult& result, size_t requests) {
  if (!running_.empty() || !moving_.empty() || requests_finished_ != requests) {
    // Data that is being spilled when the last task ends may stay in flight.
    const bool spilling = options_.memory == MemoryPolicy::kSpill && running_.empty();
    if (!spilling) {
      complain("tasks, transfers or requests are still in flight");
    }
  } else if (sent_ != received_) {
    complain(fmt::format("{} bytes were sent, {} received", sent_, received_));
  }
  if (result.makespan_ns != last_finish_ns_ || result.bytes_moved != moved_ ||
      result.wait_ns != wait_ns_) {
    complain("makespan, bytes moved or waits of the result differ from its events");
  }
  for (size_t t = 0; t < result.tasks.size(); ++t) {
    const TaskSeen& seen = tasks_[{0, TaskId(t)}];
    const TaskRecord& record = result.tasks[t];
    TimeNs waited = 0;
    for (const TimeNs wait_ns : record.wait_ns) {
      waited += wait_ns;
    }
    if (record.start_ns != seen.start_ns || record.end_ns != seen.end_ns ||
        record.device != seen.device || record.wait_ns != seen.wait_ns ||
        waited != record.start_ns) {
      complain(fmt::format("the record of task {} differs from its events", t));
    }
  }
  for (size_t d = 0; d < memory_.size() && options_.memory != MemoryPolicy::kOff; ++d) {
    if (result.devices[d].peak_memory_bytes != peaks_[d]) {
      complain(fmt::format("device {} peaks at {} bytes in the result, {} in events", d,
                           result.devices[d].peak_memory_bytes, peaks_[d]));
    }
  }
}

std::string InvariantChecker::violations(const SimResult& result, size_t requests) {
  check_result(result, requests);
  check_bounds(result, requests);
  if (options_.memory != MemoryPolicy::kOff && options_.memory != MemoryPolicy::kSpill) {
    // The weights, and a single run's outputs, are left.
    for (size_t d = 0; d < memory_.size(); ++d) {
      Bytes expected = result.tasks.empty() ? resident_[d] : 0;
      for (size_t t = 0; t < result.tasks.size(); ++t) {
        expected +=
            result.tasks[t].device == DeviceId(d) ? input_.graph.resident_bytes(TaskId(t)) : 0;
      }
      for (size_t i = 0; i < input_.graph.data_count() && !result.tasks.empty(); ++i) {
        const TaskId producer = input_.graph.data_producer(DataId(i));
        const bool here = result.tasks[producer.index()].device == DeviceId(d);
        expected +=
            here && input_.graph.data_is_output(DataId(i)) ? input_.graph.data_bytes(DataId(i)) : 0;
      }
      if (memory_[d] != expected) {
        complain(fmt::format("device {} holds {} bytes at the end; expected {}", d, memory_[d],
                             expected));
      }
    }
  }
  return join(complaints_, "\n");
}

}  // namespace dfsim::inline sim
