// HLFET (Adam, Chandy, Dickson 1974, doi:10.1145/361604.361619): ready tasks by static level (no
// communication), each to the device of earliest finish, never into gaps.
#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_hlfet(const TaskView& view) {
  PlanBuilder builder(view, Slot::kAppend);
  for_each_ready(view.graph(), static_level(view),
                 [&](TaskId task) { builder.place(task, builder.earliest_finish(task)); });
  return builder.finish();
}

}  // namespace

StaticPtr make_hlfet(const PolicyOptions&) { return static_policy("hlfet", plan_hlfet); }

}  // namespace dfsim::inline schedulers::policies
