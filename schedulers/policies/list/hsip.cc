// HSIP (Wang, Wang, Liu, Guo 2016, doi:10.1155/2016/3676149): rank(v) = mean cost * standard
// deviation of the costs over the devices + what v sends in all + the largest rank of a successor;
// the device of least finish, into gaps. The first term is a square and the second is not, so the
// unit matters: milliseconds, or the units of a file without any. The paper also runs a single
// entry task on every device; this does not.
#include <algorithm>
#include <cmath>

#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/ready/ready_list.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

constexpr auto kHsipUnit = static_cast<double>(kNsPerMs);

double spread_of_costs(const TaskView& view, TaskId task) {
  double squares = 0;
  size_t count = 0;
  for (size_t d = 0; d < view.devices(); ++d) {
    if (view.feasible(task, d)) {
      const double off = static_cast<double>(view.time_ns(task, d)) - view.mean_ns(task);
      squares += off * off;
      ++count;
    }
  }
  return std::sqrt(squares / static_cast<double>(count));
}

std::vector<double> hsip_rank(const TaskView& view) {
  std::vector<double> rank(view.tasks());
  for (size_t i = view.tasks(); i-- > 0;) {
    const TaskId task(i);
    double sent = 0;
    double longest = 0;
    for (const Edge& edge : view.graph().out_edges(task)) {
      sent += view.mean_comm_ns(edge) / kHsipUnit;
      longest = std::max(longest, rank[edge.to.index()]);
    }
    rank[i] =
        view.mean_ns(task) / kHsipUnit * (spread_of_costs(view, task) / kHsipUnit) + sent + longest;
  }
  return rank;
}

StatusOr<Schedule> plan_hsip(const TaskView& view) {
  PlanBuilder builder(view, Slot::kInsert);
  for_each_ready(view.graph(), hsip_rank(view),
                 [&](TaskId task) { builder.place(task, builder.earliest_finish(task)); });
  return builder.finish();
}

ReadyRule hsip_rule(const TaskView& view, const PolicyOptions&) {
  return {.priority = hsip_rank(view), .score = nullptr, .prefer = nullptr, .knows_links = false};
}

}  // namespace

StaticPtr make_hsip(const PolicyOptions&) { return static_policy("hsip", plan_hsip); }
OnlinePtr ready_hsip(const PolicyOptions& options) {
  return ready_list("hsip", hsip_rule, options);
}

}  // namespace dfsim::inline schedulers::policies
