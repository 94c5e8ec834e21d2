// Sufferage (Maheswaran et al. 1999, doi:10.1006/jpdc.1999.1581): at each step the ready task that
// would lose most if it did not get its best device (second least minus least completion). A task
// with one feasible device suffers most. O(tasks * ready tasks).
#include "schedulers/policies/list/completion_list.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_sufferage(const TaskView& view) {
  return plan_by_completions(
      view, [](const Completions& c) { return static_cast<double>(c.second - c.first); });
}

}  // namespace

StaticPtr make_sufferage(const PolicyOptions&) {
  return static_policy("sufferage", plan_sufferage);
}

}  // namespace dfsim::inline schedulers::policies
