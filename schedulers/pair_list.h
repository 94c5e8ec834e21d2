// The loop of the policies that pick a (task, device) pair among all ready ones at each step.
#pragma once

#include <algorithm>

#include "schedulers/earliest_pair.h"
#include "schedulers/memory_ledger.h"
#include "schedulers/plan_builder.h"
#include "schedulers/ready_queue.h"

namespace dfsim::policies {

// Appends tasks in the order of least max(available, data ready) + key(task, device); ties:
// smaller tie(task), task, device. With a ledger, pairs whose task does not fit there are skipped.
// Error (kInvalidInput): a task fits nowhere. O(tasks * devices * log tasks).
template <typename Key, typename Tie>
StatusOr<Schedule> plan_by_pairs(const TaskView& view, Key&& key, Tie&& tie,
                                 MemoryLedger* memory = nullptr) {
  PlanBuilder builder(view, Slot::kAppend);
  EarliestPair pairs(view.tasks(), view.devices());
  DependencyCounter counter(view.graph());
  std::vector<TimeNs> available(view.devices(), 0);
  std::vector<TimeNs> ready(view.devices());
  TaskId last_rejected;
  const auto push = [&](TaskId task) {
    builder.data_ready(task, ready);
    for (size_t d = 0; d < view.devices(); ++d) {
      if (view.feasible(task, d)) {
        pairs.push(task, d, ready[d], key(task, d), tie(task));
      }
    }
  };
  counter.start(push);
  for (size_t placed = 0; placed < view.tasks();) {
    const EarliestPair::Pair pair = pairs.pop(available);
    if (!pair.task.valid()) {
      DFSIM_CHECK(memory != nullptr);
      return memory->does_not_fit(last_rejected);
    }
    if (memory != nullptr && !memory->fits(pair.task, pair.device)) {
      pairs.reject(pair);
      last_rejected = pair.task;
      continue;
    }
    if (memory != nullptr) {
      memory->place(pair.task, pair.device);
    }
    builder.place_on(pair.task, DeviceId(pair.device));
    available[pair.device] = builder.available_ns(pair.device);
    counter.done(pair.task, push);
    ++placed;
  }
  return builder.finish();
}

}  // namespace dfsim::policies
