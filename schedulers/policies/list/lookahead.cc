// Lookahead HEFT (Bittencourt, Sakellariou, Madeira 2010, doi:10.1109/PDP.2010.56): upward-rank
// order; the device from which the slowest child, placed at its own best, finishes earliest.
// Parents of the children that are not placed yet do not count.
#include <algorithm>
#include <limits>

#include "schedulers/planning/ranks.h"
#include "schedulers/policies/list/weighted_finish.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

// The earliest finish of `child` if `task` ran on `device` during [start, finish). `ready` is when
// the data of the child's placed parents is on each device, for bytes of data from `task`.
double child_finish(const PlanBuilder& builder, TaskId child, const std::vector<TimeNs>& ready,
                    Bytes bytes, const PlanBuilder::Choice& own) {
  const TaskView& view = builder.view();
  TimeNs best = std::numeric_limits<TimeNs>::max();
  for (size_t q = 0; q < view.devices(); ++q) {
    const TimeNs time = view.time_ns(child, q);
    if (time < 0) {
      continue;
    }
    const TimeNs arrival =
        q == own.device.index()
            ? own.finish_ns
            : own.finish_ns + view.problem().comm.transfer_ns(own.device, DeviceId(q), bytes);
    // On the task's own device nothing fits between now and its finish any more; gaps before it
    // are too early for the data anyway.
    const TimeNs start = builder.start_ns(child, q, std::max(arrival, ready[q]));
    best = std::min(best, start + time);
  }
  return static_cast<double>(best);
}

StatusOr<Schedule> plan_lookahead(const TaskView& view) {
  PlanBuilder builder(view, Slot::kInsert);
  std::vector<TimeNs> ready;
  std::vector<std::vector<TimeNs>> child_ready;
  for (const TaskId task : by_priority(upward_rank(view))) {
    const std::span<const Edge> out = view.graph().out_edges(task);
    child_ready.resize(std::max(child_ready.size(), out.size()));
    for (size_t k = 0; k < out.size(); ++k) {
      child_ready[k].resize(view.devices());
      builder.data_ready(out[k].to, child_ready[k]);
    }
    builder.place(task, least_score(builder, task, ready, [&](size_t d, double finish) {
                    const auto end = static_cast<TimeNs>(finish);
                    const PlanBuilder::Choice own{DeviceId(d), end - view.time_ns(task, d), end};
                    double latest = out.empty() ? finish : 0;
                    for (size_t k = 0; k < out.size(); ++k) {
                      latest = std::max(latest, child_finish(builder, out[k].to, child_ready[k],
                                                             view.graph().edge_bytes(out[k]), own));
                    }
                    return latest;
                  }));
  }
  return builder.finish();
}

}  // namespace

StaticPtr make_lookahead(const PolicyOptions&) {
  return static_policy("lookahead", plan_lookahead);
}

}  // namespace dfsim::inline schedulers::policies
