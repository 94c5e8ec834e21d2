// IPPTS (Djigal, Feng, Lu, Ge 2021, doi:10.1109/TPDS.2020.3041829): predict cost matrix, priority =
// its mean times the number of successors, device of least (finish + matrix - own time).
//
// The published priority can rank a child above its parent (an exit has no successors, and so
// priority 0, below nothing; a parent with one successor may fall below a child with many), which
// starves the child behind unrelated tasks. Priorities are raised above those of successors here.
#include <algorithm>

#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/list/weighted_finish.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_ippts(const TaskView& view) {
  const std::vector<double> pcm = predict_cost_matrix(view);
  std::vector<double> priority = row_means(view, pcm);
  for (size_t i = 0; i < view.tasks(); ++i) {
    priority[i] *= static_cast<double>(view.graph().out_degree(TaskId(i)));
  }
  raise_above_successors(view.graph(), priority);
  PlanBuilder builder(view, Slot::kInsert);
  std::vector<TimeNs> ready;
  for_each_ready(view.graph(), priority, [&](TaskId task) {
    const double* ahead = pcm.data() + task.index() * view.devices();
    builder.place(task, least_score(builder, task, ready, [&](size_t d, double finish) {
                    return finish + ahead[d] - static_cast<double>(view.time_ns(task, d));
                  }));
  });
  return builder.finish();
}

}  // namespace

StaticPtr make_ippts(const PolicyOptions&) { return static_policy("ippts", plan_ippts); }

}  // namespace dfsim::inline schedulers::policies
