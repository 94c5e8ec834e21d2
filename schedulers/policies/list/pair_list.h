// The loop of the policies that pick a (task, device) pair among all ready ones at each step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schedulers/planning/plan_builder.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/list/earliest_pair.h"
#include "schedulers/policies/memory/equal_devices.h"
#include "schedulers/policies/memory/memory_ledger.h"

namespace dfsim::inline schedulers::policies {

// Appends tasks in the order of least max(available, data ready) + key(task, device); ties:
// smaller tie(task), task, device. With a ledger, pairs whose task does not fit there are skipped;
// with some devices preferred, the others are for tasks that those cannot run or hold.
// Error (kInvalidInput): a task fits nowhere. O(tasks * devices * log tasks).
template <typename Key, typename Tie>
StatusOr<Schedule> plan_by_pairs(const TaskView& view, Key&& key, Tie&& tie,
                                 MemoryLedger* memory = nullptr,
                                 const EqualDevices* preferred = nullptr) {
  PlanBuilder builder(view, Slot::kAppend);
  EarliestPair pairs(view.tasks(), view.devices());
  DependencyCounter counter(view.graph());
  std::vector<TimeNs> available(view.devices(), 0);
  std::vector<TimeNs> ready(view.devices());
  TaskId last_rejected;
  // How many devices may still take each task; and whether those not preferred are among them.
  std::vector<uint32_t> open(memory == nullptr ? 0 : view.tasks(), 0);
  std::vector<uint8_t> all(view.tasks(), 0);
  const auto push_to = [&](TaskId task, bool members) {
    builder.data_ready(task, ready);
    for (size_t d = 0; d < view.devices(); ++d) {
      if (view.feasible(task, d) && (preferred == nullptr || preferred->contains(d) == members)) {
        pairs.push(task, d, ready[d], key(task, d), tie(task));
        if (memory != nullptr) {
          ++open[task.index()];
        }
      }
    }
  };
  const auto push = [&](TaskId task) {
    const bool members = preferred == nullptr || preferred->run(task);
    all[task.index()] = members ? 0 : 1;
    push_to(task, members);
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
      if (--open[pair.task.index()] == 0 && preferred != nullptr && all[pair.task.index()] == 0) {
        all[pair.task.index()] = 1;
        push_to(pair.task, false);
      }
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

}  // namespace dfsim::inline schedulers::policies
