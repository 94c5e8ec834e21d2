// Baselines: everything on one device in the order of ids, on the one that finishes it all first or
// on the platform's first. Tasks that the device cannot run go to the fastest that can.
#include <limits>
#include <optional>
#include <utility>

#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

// Where a task runs when `home` should run everything.
size_t device_for(const TaskView& view, TaskId task, size_t home) {
  if (view.feasible(task, home)) {
    return home;
  }
  size_t fastest = home;
  TimeNs least = std::numeric_limits<TimeNs>::max();
  for (size_t d = 0; d < view.devices(); ++d) {
    if (view.feasible(task, d) && view.time_ns(task, d) < least) {
      fastest = d;
      least = view.time_ns(task, d);
    }
  }
  return fastest;
}

PlanBuilder all_on(const TaskView& view, size_t home) {
  PlanBuilder builder(view, Slot::kAppend);
  for (size_t i = 0; i < view.tasks(); ++i) {
    builder.place_on(TaskId(i), DeviceId(device_for(view, TaskId(i), home)));
  }
  return builder;
}

StatusOr<Schedule> plan_on_best(const TaskView& view) {
  std::optional<PlanBuilder> best;
  for (size_t home = 0; home < view.devices(); ++home) {
    PlanBuilder builder = all_on(view, home);
    if (!best || builder.makespan_ns() < best->makespan_ns()) {
      best.emplace(std::move(builder));
    }
  }
  return best->finish();
}

StatusOr<Schedule> plan_on_first(const TaskView& view) { return all_on(view, 0).finish(); }

}  // namespace

StaticPtr make_best_single_device(const PolicyOptions&) {
  return static_policy("best-single-device", plan_on_best);
}
StaticPtr make_first_device(const PolicyOptions&) {
  return static_policy("first-device", plan_on_first);
}

}  // namespace dfsim::inline schedulers::policies
