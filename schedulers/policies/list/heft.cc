// HEFT (Topcuoglu, Hariri, Wu 2002, doi:10.1109/71.993206): tasks by descending upward rank, each
// to the device of earliest finish, into idle gaps where it fits.
#include "schedulers/planning/ranks.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_heft(const TaskView& view) {
  PlanBuilder builder(view, Slot::kInsert);
  constexpr size_t kAhead = 8;
  const std::vector<TaskId> order = by_priority(upward_rank(view));
  for (size_t i = 0; i < order.size(); ++i) {
    if (i + kAhead < order.size()) {
      builder.fetch_ahead(order[i + kAhead]);
    }
    builder.place(order[i], builder.earliest_finish(order[i]));
  }
  return builder.finish();
}

}  // namespace

StaticPtr make_heft(const PolicyOptions&) { return static_policy("heft", plan_heft); }

}  // namespace dfsim::inline schedulers::policies
