// Keeps for each device when it is free and for each placed task when it ends, and answers where
// a task could start. Arrival times are computed per source device, not per edge, because a task
// often reads several results of one device.
#include "schedulers/planning/plan_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace dfsim::inline schedulers {

PlanBuilder::PlanBuilder(const TaskView& view, Slot slot)
    : view_(view),
      slot_(slot),
      inputs_(view.graph()),
      placements_(view.tasks()),
      ready_(view.devices()) {
  sequence_.reserve(view.tasks());
  if (slot == Slot::kAppend) {
    end_.assign(view.devices(), 0);
    return;
  }
  for (size_t d = 0; d < view.devices(); ++d) {
    gaps_.emplace_back(view.shortest_on(d));
  }
}

void PlanBuilder::data_ready(TaskId task, std::span<TimeNs> out) const {
  std::fill(out.begin(), out.end(), 0);
  const CommModel& comm = view_.problem().comm;
  for (const TaskInputs::Input& input : inputs_.of(task)) {
    const Placement& source = placements_[input.from.index()];
    if (!source.device.valid()) {
      continue;
    }
    for (size_t d = 0; d < out.size(); ++d) {
      const TimeNs move_ns = comm.transfer_ns(source.device, DeviceId(d), input.bytes);
      out[d] = std::max(out[d], source.planned_finish_ns + move_ns);
    }
  }
}

PlanBuilder::Choice PlanBuilder::earliest_finish(TaskId task) const {
  data_ready(task, ready_);
  const TimeNs* times = view_.times(task);
  Choice best;
  best.finish_ns = std::numeric_limits<TimeNs>::max();
  for (size_t d = 0; d < devices(); ++d) {
    // A device whose data comes too late cannot win, whatever its gaps are.
    if (times[d] < 0 || ready_[d] + times[d] >= best.finish_ns) {
      continue;
    }
    const TimeNs start = start_ns(task, d, ready_[d]);
    if (start + times[d] < best.finish_ns) {
      best = {DeviceId(d), start, start + times[d]};
    }
  }
  DFSIM_CHECK(best.device.valid());
  return best;
}

void PlanBuilder::place(TaskId task, DeviceId device, TimeNs start) {
  const TimeNs time = view_.time_ns(task, device.index());
  placements_[task.index()] = {device, start, start + time};
  makespan_ = std::max(makespan_, start + time);
  sequence_.push_back(task);
  if (slot_ == Slot::kInsert) {
    gaps_[device.index()].occupy(start, time);
  } else {
    end_[device.index()] = start + time;
  }
}

void PlanBuilder::place_on(TaskId task, DeviceId device) {
  data_ready(task, ready_);
  place(task, device, start_ns(task, device.index(), ready_[device.index()]));
}

Schedule PlanBuilder::finish() {
  DFSIM_CHECK(sequence_.size() == view_.tasks());
  Schedule schedule;
  schedule.planned_makespan_ns = makespan_;
  schedule.order.resize(devices());
  for (const TaskId task : sequence_) {
    schedule.order[device(task).index()].push_back(task);
  }
  if (slot_ == Slot::kInsert) {
    // By (start, finish, order of placing): each dependency and each neighbour on a device ascends
    // in this key, also among tasks that take no time, so the orders cannot wait in a circle.
    struct Entry {
      TimeNs start_ns;
      TimeNs finish_ns;
      TaskId task;
    };
    std::vector<Entry> entries;
    for (std::vector<TaskId>& order : schedule.order) {
      entries.clear();
      for (const TaskId task : order) {
        const Placement& placement = placements_[task.index()];
        entries.push_back({placement.planned_start_ns, placement.planned_finish_ns, task});
      }
      std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
        return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.finish_ns < b.finish_ns;
      });
      std::ranges::transform(entries, order.begin(), &Entry::task);
    }
  }
  schedule.placements = std::move(placements_);
  return schedule;
}

}  // namespace dfsim::inline schedulers
