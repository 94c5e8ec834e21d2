// MemoryLedger: how much memory a placement takes on each device, as the memory-constrained
// policies count it: resident bytes of all tasks placed there, plus room for the one task with the
// largest inputs, outputs and scratch space. Never decreases, so that a refusal is final.
#pragma once

#include <algorithm>
#include <vector>

#include "schedulers/planning/task_view.h"

namespace dfsim::inline schedulers::policies {

class MemoryLedger {
 public:
  explicit MemoryLedger(const TaskView& view)
      : view_(view), resident_(view.devices(), 0), transient_(view.devices(), 0) {}

  bool fits(TaskId task, size_t device) const {
    const Bytes capacity = view_.problem().platform.devices[device].memory_bytes;
    return capacity == 0 ||
           resident_[device] + view_.graph().resident_bytes(task) +
                   std::max(transient_[device], view_.graph().working_set_bytes(task)) <=
               capacity;
  }
  void place(TaskId task, size_t device) {
    resident_[device] += view_.graph().resident_bytes(task);
    transient_[device] = std::max(transient_[device], view_.graph().working_set_bytes(task));
  }
  Bytes used(size_t device) const { return resident_[device] + transient_[device]; }
  // kInvalidInput that says how much the task needs and how much is left where it can run.
  Status does_not_fit(TaskId task) const;

 private:
  const TaskView& view_;
  std::vector<Bytes> resident_;
  std::vector<Bytes> transient_;
};

}  // namespace dfsim::inline schedulers::policies
