// The list policies that plan ahead by default, deciding when a task becomes ready: the priority
// and the choice of a device of each are those of schedulers/policies/list, and the estimate of a
// finish is that of ready_list.h.
#include <algorithm>
#include <limits>
#include <memory>

#include "schedulers/planning/ranks.h"
#include "schedulers/policies/list/critical_path.h"
#include "schedulers/policies/ready/ready_list.h"

namespace dfsim::inline schedulers::policies {
namespace {

using Ends = std::vector<TimeNs>;

ReadyRule plain_rule(std::vector<double> priority) {
  return {
      .priority = std::move(priority), .score = nullptr, .prefer = nullptr, .knows_links = false};
}

ReadyRule heft_rule(const TaskView& view, const PolicyOptions&) {
  return plain_rule(upward_rank(view));
}

ReadyRule hlfet_rule(const TaskView& view, const PolicyOptions&) {
  return plain_rule(static_level(view));
}

ReadyRule cpop_rule(const TaskView& view, const PolicyOptions&) {
  if (view.tasks() == 0) {
    return plain_rule({});
  }
  std::vector<double> priority = upward_rank(view);
  const std::vector<double> down = downward_rank(view);
  std::ranges::transform(priority, down, priority.begin(), std::plus<>());
  const std::vector<TaskId> path = critical_path(view, priority);
  const DeviceId device(path_device(view, path));
  std::vector<uint8_t> on_path(view.tasks(), 0);
  for (const TaskId task : path) {
    on_path[task.index()] = 1;
  }
  ReadyRule rule = plain_rule(std::move(priority));
  rule.prefer = [device, on_path = std::move(on_path)](TaskId task, const OnlineView&) {
    return on_path[task.index()] != 0 ? device : DeviceId();
  };
  return rule;
}

// Adds the table's entry of task and device to the finish.
ReadyRule with_table(std::vector<double> priority, std::vector<double> table, size_t devices) {
  ReadyRule rule = plain_rule(std::move(priority));
  rule.score = [table = std::move(table), devices](TaskId task, size_t d, TimeNs finish,
                                                   const Ends&) {
    return static_cast<double>(finish) + table[task.index() * devices + d];
  };
  return rule;
}

ReadyRule peft_rule(const TaskView& view, const PolicyOptions&) {
  std::vector<double> table = optimistic_cost_table(view);
  std::vector<double> priority = row_means(view, table);
  return with_table(std::move(priority), std::move(table), view.devices());
}

ReadyRule ppts_rule(const TaskView& view, const PolicyOptions&) {
  std::vector<double> table = predict_cost_matrix(view);
  std::vector<double> priority = row_means(view, table);
  return with_table(std::move(priority), std::move(table), view.devices());
}

void times_successors(const TaskView& view, std::vector<double>& priority) {
  for (size_t i = 0; i < view.tasks(); ++i) {
    priority[i] *= static_cast<double>(view.graph().out_degree(TaskId(i)));
  }
}

ReadyRule ippts_rule(const TaskView& view, const PolicyOptions&) {
  std::vector<double> table = predict_cost_matrix(view);
  std::vector<double> priority = row_means(view, table);
  times_successors(view, priority);
  for (size_t i = 0; i < view.tasks(); ++i) {
    for (size_t d = 0; d < view.devices(); ++d) {
      table[i * view.devices() + d] -= static_cast<double>(view.time_ns(TaskId(i), d));
    }
  }
  return with_table(std::move(priority), std::move(table), view.devices());
}

ReadyRule hsv_rule(const TaskView& view, const PolicyOptions&) {
  std::vector<double> priority = upward_rank(view);
  times_successors(view, priority);
  ReadyRule rule = plain_rule(std::move(priority));
  rule.score = [&view, distance = optimistic_cost_table(view)](TaskId task, size_t d, TimeNs finish,
                                                               const Ends&) {
    const double end = static_cast<double>(finish);
    return view.graph().out_degree(task) == 0 ? end
                                              : end * distance[task.index() * view.devices() + d];
  };
  return rule;
}

// The earliest finish of a reader whose other inputs do not hold it up.
double reader_finish(const TaskView& view, const Edge& edge, size_t from, TimeNs finish,
                     const Ends& ends) {
  const Bytes bytes = view.graph().edge_bytes(edge);
  TimeNs best = std::numeric_limits<TimeNs>::max();
  for (size_t q = 0; q < view.devices(); ++q) {
    if (view.feasible(edge.to, q)) {
      const TimeNs there =
          finish + view.problem().comm.transfer_ns(DeviceId(from), DeviceId(q), bytes);
      best = std::min(best, std::max(there, ends[q]) + view.time_ns(edge.to, q));
    }
  }
  return static_cast<double>(best);
}

ReadyRule lookahead_rule(const TaskView& view, const PolicyOptions&) {
  ReadyRule rule = plain_rule(upward_rank(view));
  rule.score = [&view](TaskId task, size_t d, TimeNs finish, const Ends& ends) {
    auto latest = static_cast<double>(finish);
    for (const Edge& edge : view.graph().out_edges(task)) {
      latest = std::max(latest, reader_finish(view, edge, d, finish, ends));
    }
    return latest;
  };
  return rule;
}

}  // namespace

OnlinePtr ready_cpop(const PolicyOptions& options) {
  return ready_list("cpop", cpop_rule, options);
}
OnlinePtr ready_heft(const PolicyOptions& options) {
  return ready_list("heft", heft_rule, options);
}
OnlinePtr ready_hlfet(const PolicyOptions& options) {
  return ready_list("hlfet", hlfet_rule, options);
}
OnlinePtr ready_hsv(const PolicyOptions& options) { return ready_list("hsv", hsv_rule, options); }
OnlinePtr ready_ippts(const PolicyOptions& options) {
  return ready_list("ippts", ippts_rule, options);
}
OnlinePtr ready_lookahead(const PolicyOptions& options) {
  return ready_list("lookahead", lookahead_rule, options);
}
OnlinePtr ready_peft(const PolicyOptions& options) {
  return ready_list("peft", peft_rule, options);
}
OnlinePtr ready_ppts(const PolicyOptions& options) {
  return ready_list("ppts", ppts_rule, options);
}

}  // namespace dfsim::inline schedulers::policies
