// Min-min (Ibarra, Kim 1977, doi:10.1145/322003.322011; over ready tasks as in Braun et al. 2001,
// doi:10.1006/jpdc.2000.1714): at each step the ready task and device of least completion.
#include "schedulers/policies/list/pair_list.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_minmin(const TaskView& view) {
  return plan_by_pairs(
      view,
      [&](TaskId task, size_t device) { return static_cast<double>(view.time_ns(task, device)); },
      [](TaskId) { return 0.0; });
}

}  // namespace

StaticPtr make_minmin(const PolicyOptions&) { return static_policy("minmin", plan_minmin); }

}  // namespace dfsim::inline schedulers::policies
