// HSV, heterogeneous selection value (Xie, Li, Li 2015): priority = upward rank times the number of
// successors, raised above those of successors; device of least finish times longest distance to
// the exit (the optimistic cost table stands for that distance; an exit goes to its earliest
// finish). Into idle gaps.
#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/list/weighted_finish.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_hsv(const TaskView& view) {
  const std::vector<double> distance = optimistic_cost_table(view);
  std::vector<double> priority = upward_rank(view);
  for (size_t i = 0; i < view.tasks(); ++i) {
    priority[i] *= static_cast<double>(view.graph().out_degree(TaskId(i)));
  }
  raise_above_successors(view.graph(), priority);
  PlanBuilder builder(view, Slot::kInsert);
  std::vector<TimeNs> ready;
  for_each_ready(view.graph(), priority, [&](TaskId task) {
    const double* ahead = distance.data() + task.index() * view.devices();
    const bool exit = view.graph().out_degree(task) == 0;
    builder.place(task, least_score(builder, task, ready, [&](size_t d, double finish) {
                    return exit ? finish : finish * ahead[d];
                  }));
  });
  return builder.finish();
}

}  // namespace

StaticPtr make_hsv(const PolicyOptions&) { return static_policy("hsv", plan_hsv); }

}  // namespace dfsim::inline schedulers::policies
