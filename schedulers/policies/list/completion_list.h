// The loop of max-min and sufferage: each step looks at the completion times of all ready tasks.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "schedulers/planning/plan_builder.h"
#include "schedulers/planning/ready_queue.h"

namespace dfsim::inline schedulers::policies {

// The two least completion times of a task.
struct Completions {
  TimeNs first = std::numeric_limits<TimeNs>::max();
  TimeNs second = std::numeric_limits<TimeNs>::max();
  size_t device = 0;
};

// Appends, at each step, the ready task of largest score(completions); ties: smaller id. Data-ready
// times are kept per ready task; completion times are refreshed only for tasks that one of the
// two best devices has changed for. O(tasks * ready tasks + tasks * devices).
template <typename Score>
Schedule plan_by_completions(const TaskView& view, Score&& score) {
  struct Ready {
    TaskId task;
    Completions completions;
    size_t second_device;
    std::vector<TimeNs> data;
  };
  PlanBuilder builder(view, Slot::kAppend);
  DependencyCounter counter(view.graph());
  std::vector<Ready> ready;
  const auto refresh = [&](Ready& entry) {
    entry.completions = Completions();
    entry.second_device = SIZE_MAX;
    for (size_t d = 0; d < view.devices(); ++d) {
      const TimeNs time = view.time_ns(entry.task, d);
      if (time < 0) {
        continue;
      }
      const TimeNs finish = std::max(entry.data[d], builder.available_ns(d)) + time;
      if (finish < entry.completions.first) {
        entry.completions.second = entry.completions.first;
        entry.second_device = entry.completions.first == std::numeric_limits<TimeNs>::max()
                                  ? SIZE_MAX
                                  : entry.completions.device;
        entry.completions.first = finish;
        entry.completions.device = d;
      } else if (finish < entry.completions.second) {
        entry.completions.second = finish;
        entry.second_device = d;
      }
    }
  };
  const auto push = [&](TaskId task) {
    Ready entry{task, {}, SIZE_MAX, std::vector<TimeNs>(view.devices())};
    builder.data_ready(task, entry.data);
    refresh(entry);
    ready.push_back(std::move(entry));
  };
  counter.start(push);
  while (!ready.empty()) {
    size_t best = 0;
    double best_score = score(ready[0].completions);
    for (size_t i = 1; i < ready.size(); ++i) {
      const double value = score(ready[i].completions);
      if (value > best_score || (value == best_score && ready[i].task < ready[best].task)) {
        best = i;
        best_score = value;
      }
    }
    const TaskId task = ready[best].task;
    const size_t device = ready[best].completions.device;
    if (best + 1 != ready.size()) {
      ready[best] = std::move(ready.back());
    }
    ready.pop_back();
    builder.place_on(task, DeviceId(device));
    for (Ready& entry : ready) {
      if (entry.completions.device == device || entry.second_device == device) {
        refresh(entry);
      }
    }
    counter.done(task, push);
  }
  return builder.finish();
}

}  // namespace dfsim::inline schedulers::policies
