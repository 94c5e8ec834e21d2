// Baseline: everything on the one device that finishes it all first, in the order of ids. Tasks
// that the device cannot run go to the fastest that can; the device that runs most tasks is
// preferred.
#include <limits>
#include <tuple>

#include "schedulers/static_policy.h"

namespace dfsim::policies {
namespace {

StatusOr<Schedule> plan(const TaskView& view) {
  size_t best = 0;
  std::tuple<size_t, double> best_key{SIZE_MAX, 0};  // tasks it cannot run, time of the others
  for (size_t d = 0; d < view.devices(); ++d) {
    std::tuple<size_t, double> key{0, 0};
    for (size_t i = 0; i < view.tasks(); ++i) {
      const TimeNs time = view.time_ns(TaskId(i), d);
      std::get<0>(key) += time < 0 ? 1 : 0;
      std::get<1>(key) += time < 0 ? 0 : static_cast<double>(time);
    }
    if (key < best_key) {
      best = d;
      best_key = key;
    }
  }
  PlanBuilder builder(view, Slot::kAppend);
  for (size_t i = 0; i < view.tasks(); ++i) {
    const TaskId task(i);
    size_t device = best;
    for (size_t d = 0; !view.feasible(task, best) && d < view.devices(); ++d) {
      const bool faster =
          !view.feasible(task, device) ||
          (view.feasible(task, d) && view.time_ns(task, d) < view.time_ns(task, device));
      device = view.feasible(task, d) && faster ? d : device;
    }
    builder.place_on(task, DeviceId(device));
  }
  return builder.finish();
}

}  // namespace

StaticPtr make_best_single_device(const PolicyOptions&) {
  return static_policy("best-single-device", plan);
}

}  // namespace dfsim::policies
