// Send-ahead: decisions as cheap as DONF's (one priority, one look at each device), but made ahead,
// so that data moves as soon as it is produced, and with links that carry one transfer at a time
// booked, so that a task goes where its data can come in time.
//
// Upward rank, then the device of least finish. HEFT plans as if transfers never met, and where
// they do its plans are late; DONFL knows links but sends data only when the reader is ready. Where
// no link can be busy there is nothing to book, and half of PEFT's optimistic cost (how far the
// exit is from the device) breaks the tie instead.
#include "schedulers/planning/linked_plan.h"
#include "schedulers/planning/ranks.h"
#include "schedulers/policies/list/weighted_finish.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

constexpr double kOptimismWeight = 0.5;

StatusOr<Schedule> plan_send_ahead(const TaskView& view) {
  LinkedPlan plan(view);
  const std::vector<TaskId> order = by_priority(upward_rank(view));
  if (plan.contended()) {
    constexpr size_t kAhead = 8;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i + kAhead < order.size()) {
        plan.builder().fetch_ahead(order[i + kAhead]);
      }
      plan.place(order[i]);
    }
    return plan.builder().finish();
  }
  const std::vector<double> ahead = optimistic_cost_table(view);
  std::vector<TimeNs> ready;
  for (const TaskId task : order) {
    const double* to_exit = ahead.data() + task.index() * view.devices();
    plan.builder().place(task,
                         least_score(plan.builder(), task, ready, [&](size_t d, double finish) {
                           return finish + kOptimismWeight * to_exit[d];
                         }));
  }
  return plan.builder().finish();
}

}  // namespace

StaticPtr make_send_ahead(const PolicyOptions&) {
  return static_policy("send-ahead", plan_send_ahead);
}

}  // namespace dfsim::inline schedulers::policies
