// EqualDevices: the devices that Baechi's policies place on.
//
// Baechi (Jeon et al., SoCC 2020) places on n identical accelerators, where it is no matter which
// of them starts a task first. On a node the CPU is a device too: idle, next to the inputs, and ten
// times slower; earliest start alone would give it most of the work. So these policies take the
// fastest devices that are about equal, and any other one only for a task that none of them can run
// or hold.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/planning/task_view.h"

namespace dfsim::inline schedulers::policies {

class EqualDevices {
 public:
  // A device is one of them when all the tasks that it can run take at most twice as long there, as
  // a multiple of their least times, as on the device where that multiple is least. O(tasks *
  // devices).
  explicit EqualDevices(const TaskView& view);

  bool contains(size_t device) const { return member_[device] != 0; }
  size_t count() const { return count_; }
  // Whether any of them can run the task.
  bool run(TaskId task) const;

 private:
  const TaskView& view_;
  std::vector<uint8_t> member_;
  size_t count_ = 0;
};

}  // namespace dfsim::inline schedulers::policies
