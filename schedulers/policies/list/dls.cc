// DLS, also GDL (Sih, Lee 1993, doi:10.1109/71.207593): at each step the ready task and device of
// largest dynamic level SL(i) - EST(i,p) + (median w(i) - w(i,p)).
#include "schedulers/planning/ranks.h"
#include "schedulers/policies/list/pair_list.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_dls(const TaskView& view) {
  std::vector<double> level = static_level(view);
  for (size_t i = 0; i < view.tasks(); ++i) {
    level[i] += view.median_ns(TaskId(i));
  }
  return plan_by_pairs(
      view,
      [&](TaskId task, size_t device) {
        return static_cast<double>(view.time_ns(task, device)) - level[task.index()];
      },
      [](TaskId) { return 0.0; });
}

}  // namespace

StaticPtr make_dls(const PolicyOptions&) { return static_policy("dls", plan_dls); }

}  // namespace dfsim::inline schedulers::policies
