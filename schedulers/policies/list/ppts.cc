// PPTS (Djigal, Feng, Lu 2019, doi:10.1145/3339186.3339206): as PEFT, but the table of the future
// also counts the task itself (predict cost matrix).
#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/list/weighted_finish.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_ppts(const TaskView& view) {
  const std::vector<double> pcm = predict_cost_matrix(view);
  PlanBuilder builder(view, Slot::kInsert);
  std::vector<TimeNs> ready;
  for_each_ready(view.graph(), row_means(view, pcm), [&](TaskId task) {
    const double* ahead = pcm.data() + task.index() * view.devices();
    builder.place(task, least_score(builder, task, ready,
                                    [&](size_t d, double finish) { return finish + ahead[d]; }));
  });
  return builder.finish();
}

}  // namespace

StaticPtr make_ppts(const PolicyOptions&) { return static_policy("ppts", plan_ppts); }

}  // namespace dfsim::inline schedulers::policies
