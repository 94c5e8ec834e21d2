#include "schedulers/planning/linked_plan.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace dfsim::inline schedulers {

LinkedPlan::LinkedPlan(const TaskView& view)
    : builder_(view, Slot::kInsert), links_(view.problem().platform) {}

void LinkedPlan::gather_sources(TaskId task) {
  sources_.clear();
  for (const TaskInputs::Input& input : builder_.inputs_of(task)) {
    const DeviceId device = builder_.device(input.from);
    const TimeNs produced = builder_.finish_ns(input.from);
    auto source = std::ranges::find(sources_, device, &Source::device);
    if (source == sources_.end()) {
      sources_.push_back({device, 0, produced, produced, 0});
      source = sources_.end() - 1;
    }
    source->bytes += input.bytes;
    source->first_ns = std::min(source->first_ns, produced);
    if (produced >= source->last_ns) {
      source->last_ns = produced;
      source->last_bytes = input.bytes;
    }
  }
}

TimeNs LinkedPlan::arrival_ns(size_t device) const {
  const DeviceId to(device);
  TimeNs arrival = 0;
  for (const Source& source : sources_) {
    if (source.device == to || source.bytes == 0) {
      arrival = std::max(arrival, source.last_ns);
      continue;
    }
    const TimeNs begin = links_.free_from(source.device, to, source.first_ns);
    const TimeNs left =
        std::max(begin + links_.occupancy(source.device, to, source.bytes),
                 source.last_ns + links_.occupancy(source.device, to, source.last_bytes));
    arrival = std::max(arrival, left + links_.latency(source.device, to));
  }
  return arrival;
}

// Each input on its own, as it will be sent.
void LinkedPlan::book(TaskId task, DeviceId device) {
  TimeNs arrival = 0;
  for (const TaskInputs::Input& input : builder_.inputs_of(task)) {
    arrival = std::max(arrival, links_.book(builder_.device(input.from), device,
                                            builder_.finish_ns(input.from), input.bytes));
  }
  builder_.place(task, device, builder_.start_ns(task, device.index(), arrival));
}

void LinkedPlan::place(TaskId task) {
  if (!links_.contended()) {
    builder_.place(task, builder_.earliest_finish(task));
    return;
  }
  gather_sources(task);
  const TimeNs* times = builder_.view().times(task);
  DeviceId best;
  TimeNs best_finish = std::numeric_limits<TimeNs>::max();
  for (size_t d = 0; d < builder_.devices(); ++d) {
    if (times[d] < 0) {
      continue;
    }
    const TimeNs arrival = arrival_ns(d);
    if (arrival + times[d] >= best_finish) {
      continue;
    }
    const TimeNs finish = builder_.start_ns(task, d, arrival) + times[d];
    if (finish < best_finish) {
      best = DeviceId(d);
      best_finish = finish;
    }
  }
  DFSIM_CHECK(best.valid());
  book(task, best);
}

void LinkedPlan::place_on(TaskId task, DeviceId device) {
  if (links_.contended()) {
    book(task, device);
  } else {
    builder_.place_on(task, device);
  }
}

}  // namespace dfsim::inline schedulers
