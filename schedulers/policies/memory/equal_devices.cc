#include "schedulers/policies/memory/equal_devices.h"

#include <algorithm>
#include <limits>

namespace dfsim::inline schedulers::policies {

EqualDevices::EqualDevices(const TaskView& view) : view_(view), member_(view.devices(), 0) {
  std::vector<double> taken(view.devices(), 0);
  std::vector<double> least(view.devices(), 0);
  for (size_t i = 0; i < view.tasks(); ++i) {
    for (size_t d = 0; d < view.devices(); ++d) {
      if (view.feasible(TaskId(i), d)) {
        taken[d] += static_cast<double>(view.time_ns(TaskId(i), d));
        least[d] += static_cast<double>(view.least_ns(TaskId(i)));
      }
    }
  }
  double best = std::numeric_limits<double>::infinity();
  for (size_t d = 0; d < view.devices(); ++d) {
    taken[d] = taken[d] == 0 ? 1 : taken[d] / std::max(1.0, least[d]);
    best = std::min(best, taken[d]);
  }
  constexpr double kAboutEqual = 2;
  for (size_t d = 0; d < view.devices(); ++d) {
    member_[d] = taken[d] <= kAboutEqual * best ? 1 : 0;
    count_ += member_[d];
  }
}

bool EqualDevices::run(TaskId task) const {
  for (size_t d = 0; d < member_.size(); ++d) {
    if (member_[d] != 0 && view_.feasible(task, d)) {
      return true;
    }
  }
  return false;
}

}  // namespace dfsim::inline schedulers::policies
