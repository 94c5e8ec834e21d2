// LinkedPlan: places tasks one by one where they finish first, on a machine whose links carry one
// transfer at a time: data is sent as soon as it is produced, and waits for its links.
//
// The look at a device costs one route per device that holds inputs: what one device sends counts
// as one transfer, which can begin when the first of it is produced. Where no link can be busy,
// this is the earliest finish of HEFT. O(inputs + devices * sources * hops) per task.
#pragma once

#include <vector>

#include "schedulers/planning/link_booking.h"
#include "schedulers/planning/plan_builder.h"

namespace dfsim::inline schedulers {

class LinkedPlan {
 public:
  // `view` outlives it.
  explicit LinkedPlan(const TaskView& view);

  bool contended() const { return links_.contended(); }
  // On the feasible device of least estimated finish (ties: smaller id), into gaps. The task's
  // predecessors have been placed.
  void place(TaskId task);
  // On `device`, which can run it.
  void place_on(TaskId task, DeviceId device);
  PlanBuilder& builder() { return builder_; }

 private:
  struct Source {
    DeviceId device;
    Bytes bytes = 0;
    TimeNs first_ns = 0;   // when the first of its data is produced
    TimeNs last_ns = 0;    // and the last
    Bytes last_bytes = 0;  // of which there is so much
  };

  void gather_sources(TaskId task);
  TimeNs arrival_ns(size_t device) const;
  void book(TaskId task, DeviceId device);

  PlanBuilder builder_;
  LinkBooking links_;
  std::vector<Source> sources_;  // of the task being placed
};

}  // namespace dfsim::inline schedulers
