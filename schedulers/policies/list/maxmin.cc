// Max-min (Ibarra, Kim 1977, doi:10.1145/322003.322011): at each step the ready task whose least
// completion is largest, to the device of that completion. O(tasks * ready tasks).
#include "schedulers/policies/list/completion_list.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_maxmin(const TaskView& view) {
  return plan_by_completions(view,
                             [](const Completions& c) { return static_cast<double>(c.first); });
}

}  // namespace

StaticPtr make_maxmin(const PolicyOptions&) { return static_policy("maxmin", plan_maxmin); }

}  // namespace dfsim::inline schedulers::policies
