#include "schedulers/plan_builder.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.h"

namespace dfsim {

PlanBuilder::PlanBuilder(const TaskView& view, Slot slot)
    : view_(view),
      slot_(slot),
      device_(view.tasks()),
      start_(view.tasks(), 0),
      finish_(view.tasks(), 0),
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
  const ExecGraph& graph = view_.graph();
  const std::span<const Edge> edges = graph.edges();
  for (const uint32_t index : graph.in_edge_indices(task)) {
    const Edge& edge = edges[index];
    const DeviceId source = device_[edge.from.index()];
    if (!source.valid()) {
      continue;
    }
    const TimeNs done = finish_[edge.from.index()];
    const Bytes bytes = graph.edge_bytes(edge);
    for (size_t d = 0; d < out.size(); ++d) {
      const TimeNs there =
          d == source.index() || bytes == 0
              ? done
              : done + view_.problem().comm.transfer_ns(source, DeviceId(d), bytes);
      out[d] = std::max(out[d], there);
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
  device_[task.index()] = device;
  start_[task.index()] = start;
  finish_[task.index()] = start + time;
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
  schedule.placements.resize(view_.tasks());
  schedule.order.resize(devices());
  for (size_t i = 0; i < view_.tasks(); ++i) {
    schedule.placements[i] = {device_[i], start_[i], finish_[i]};
  }
  for (const TaskId task : sequence_) {
    schedule.order[device_[task.index()].index()].push_back(task);
  }
  if (slot_ == Slot::kInsert) {
    // By (start, finish, order of placing): each dependency and each neighbour on a device ascends
    // in this key, also among tasks that take no time, so the orders cannot wait in a circle.
    for (std::vector<TaskId>& order : schedule.order) {
      std::ranges::stable_sort(order, {}, [this](TaskId task) {
        return std::tuple(start_[task.index()], finish_[task.index()]);
      });
    }
  }
  return schedule;
}

}  // namespace dfsim
