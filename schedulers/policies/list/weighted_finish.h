// Device choice of the policies that weigh a device's finish time with a look into the future.
#pragma once

#include <limits>

#include "schedulers/planning/plan_builder.h"

namespace dfsim::inline schedulers::policies {

// The feasible device of least score(device, finish); ties: earlier finish, then smaller id.
template <typename Score>
PlanBuilder::Choice least_score(const PlanBuilder& builder, TaskId task, std::vector<TimeNs>& ready,
                                Score&& score) {
  const TaskView& view = builder.view();
  ready.resize(view.devices());
  builder.data_ready(task, ready);
  PlanBuilder::Choice best;
  double best_score = std::numeric_limits<double>::infinity();
  for (size_t d = 0; d < view.devices(); ++d) {
    if (!view.feasible(task, d)) {
      continue;
    }
    const TimeNs start = builder.start_ns(task, d, ready[d]);
    const TimeNs finish = start + view.time_ns(task, d);
    const double value = score(d, static_cast<double>(finish));
    if (!best.device.valid() || value < best_score ||
        (value == best_score && finish < best.finish_ns)) {
      best = {DeviceId(d), start, finish};
      best_score = value;
    }
  }
  return best;
}

}  // namespace dfsim::inline schedulers::policies
