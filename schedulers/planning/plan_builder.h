// PlanBuilder: a partial schedule under the contention-free model (every transfer takes its idle
// time, transfers do not disturb each other). All static policies build their plan with one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedulers/planning/gap_list.h"
#include "schedulers/planning/task_inputs.h"
#include "schedulers/planning/task_view.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers {

enum class Slot : uint8_t {
  kAppend,  // behind the last task of the device
  kInsert,  // into the first idle gap that is long enough
};

class PlanBuilder {
 public:
  PlanBuilder(const TaskView& view, Slot slot);

  const TaskView& view() const { return view_; }
  size_t devices() const { return view_.devices(); }
  std::span<const TaskInputs::Input> inputs_of(TaskId task) const { return inputs_.of(task); }

  bool placed(TaskId task) const { return device(task).valid(); }
  DeviceId device(TaskId task) const { return placements_[task.index()].device; }
  TimeNs finish_ns(TaskId task) const { return placements_[task.index()].planned_finish_ns; }
  // When everything placed on the device has finished.
  TimeNs available_ns(size_t device) const {
    return slot_ == Slot::kInsert ? gaps_[device].end_ns() : end_[device];
  }
  TimeNs makespan_ns() const { return makespan_; }

  // Per device, when the data of all placed predecessors can be there. out.size() == devices().
  void data_ready(TaskId task, std::span<TimeNs> out) const;
  // The earliest start on the device for data that is there at `ready`.
  TimeNs start_ns(TaskId task, size_t device, TimeNs ready) const {
    return slot_ == Slot::kInsert ? gaps_[device].first_fit(ready, view_.time_ns(task, device))
                                  : std::max(ready, end_[device]);
  }

  // Asks the caches for what placing the task will read: to be called some tasks ahead.
  void fetch_ahead(TaskId task) const {
    inputs_.fetch(task);
    __builtin_prefetch(view_.times(task));
  }

  struct Choice {
    DeviceId device;
    TimeNs start_ns = 0;
    TimeNs finish_ns = 0;
  };
  // The feasible device of least finish (ties: smaller id).
  Choice earliest_finish(TaskId task) const;
  // `start` comes from start_ns(). Predecessors have been placed.
  void place(TaskId task, DeviceId device, TimeNs start);
  void place(TaskId task, const Choice& choice) { place(task, choice.device, choice.start_ns); }
  // On a given device, as early as it goes.
  void place_on(TaskId task, DeviceId device);

  // Every task has been placed. The builder is empty afterwards.
  Schedule finish();

 private:
  const TaskView& view_;
  Slot slot_;
  TaskInputs inputs_;
  std::vector<Placement> placements_;
  std::vector<TaskId> sequence_;  // in the order of placing
  std::vector<TimeNs> end_;       // kAppend, per device
  std::vector<GapList> gaps_;     // kInsert, per device
  TimeNs makespan_ = 0;
  mutable std::vector<TimeNs> ready_;  // scratch
};

}  // namespace dfsim::inline schedulers
