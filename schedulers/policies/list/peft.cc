// PEFT (Arabnejad, Barbosa 2014, doi:10.1109/TPDS.2013.57): ready tasks by their mean optimistic
// cost, each to the device of least (finish + optimistic cost from there on); into idle gaps.
#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/list/weighted_finish.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_peft(const TaskView& view) {
  const std::vector<double> oct = optimistic_cost_table(view);
  PlanBuilder builder(view, Slot::kInsert);
  std::vector<TimeNs> ready;
  for_each_ready(view.graph(), row_means(view, oct), [&](TaskId task) {
    const double* ahead = oct.data() + task.index() * view.devices();
    builder.place(task, least_score(builder, task, ready,
                                    [&](size_t d, double finish) { return finish + ahead[d]; }));
  });
  return builder.finish();
}

}  // namespace

StaticPtr make_peft(const PolicyOptions&) { return static_policy("peft", plan_peft); }

}  // namespace dfsim::inline schedulers::policies
