// The policies whose priority is a weighted out-degree (Lin, Li, Jia, Liu, An 2019,
// doi:10.1007/s11390-019-1962-4) other than DONF itself: DONFL, DONFL2 and ADONL, which know links,
// and DATACENTRIC, which sends a task to its largest input when moving that would take longer than
// `ratio` times the task itself. All decide when a task becomes ready. Their variants that decide
// ahead place tasks in the same order before the run and send data as soon as it is produced.
#include "schedulers/planning/linked_plan.h"
#include "schedulers/planning/out_degree.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/ready/ready_list.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

using OutDegree = std::vector<double> (*)(const ExecGraph& graph, double alpha);

std::vector<double> one_generation(const ExecGraph& graph, double /*alpha*/) {
  return weighted_out_degree(graph);
}

template <OutDegree kDegree>
ReadyRule linked_rule(const TaskView& view, const PolicyOptions& options) {
  return {.priority = kDegree(view.graph(), options.alpha),
          .score = nullptr,
          .prefer = nullptr,
          .knows_links = true};
}

// The producer of the task's largest input, when that input takes long to move; none otherwise.
TaskId heavy_producer(const TaskView& view, TaskId task, double ratio) {
  const ExecGraph& graph = view.graph();
  TaskId producer;
  Bytes largest = 0;
  for (const uint32_t e : graph.in_edge_indices(task)) {
    const Edge& edge = graph.edges()[e];
    if (graph.edge_bytes(edge) > largest) {
      producer = edge.from;
      largest = graph.edge_bytes(edge);
    }
  }
  const auto moving = static_cast<double>(view.problem().comm.mean_transfer_ns(largest));
  return moving > ratio * view.mean_ns(task) ? producer : TaskId();
}

ReadyRule datacentric_rule(const TaskView& view, const PolicyOptions& options) {
  return {.priority = weighted_out_degree(view.graph()),
          .score = nullptr,
          .prefer =
              [&view, ratio = options.ratio](TaskId task, const OnlineView& online) {
                const TaskId producer = heavy_producer(view, task, ratio);
                return producer.valid() ? online.device_of(producer) : DeviceId();
              },
          .knows_links = false};
}

class OutDegreeAhead final : public StaticScheduler {
 public:
  OutDegreeAhead(std::string_view name, OutDegree degree, bool knows_links, double ratio,
                 double alpha)
      : name_(name), degree_(degree), knows_links_(knows_links), ratio_(ratio), alpha_(alpha) {}

  std::string_view name() const override { return name_; }
  StatusOr<Schedule> plan(const SchedulingProblem& problem) override {
    DFSIM_RETURN_IF_ERROR(check_problem(problem));
    const TaskView view(problem);
    if (knows_links_) {
      LinkedPlan plan(view);
      for_each_ready(view.graph(), degree_(view.graph(), alpha_),
                     [&](TaskId task) { plan.place(task); });
      return plan.builder().finish();
    }
    PlanBuilder builder(view, Slot::kInsert);
    for_each_ready(view.graph(), degree_(view.graph(), alpha_),
                   [&](TaskId task) { place(builder, task); });
    return builder.finish();
  }

 private:
  void place(PlanBuilder& builder, TaskId task) const {
    const TaskId producer = ratio_ > 0 ? heavy_producer(builder.view(), task, ratio_) : TaskId();
    if (producer.valid() && builder.view().feasible(task, builder.device(producer).index())) {
      builder.place_on(task, builder.device(producer));
    } else {
      builder.place(task, builder.earliest_finish(task));
    }
  }

  std::string_view name_;
  OutDegree degree_;
  bool knows_links_;
  double ratio_;  // 0 = any device
  double alpha_;
};

}  // namespace

OnlinePtr make_donfl(const PolicyOptions& options) {
  return ready_list("donfl", linked_rule<one_generation>, options);
}
OnlinePtr make_donfl2(const PolicyOptions& options) {
  return ready_list("donfl2", linked_rule<weighted_out_degree_of_two>, options);
}
OnlinePtr make_adonl(const PolicyOptions& options) {
  return ready_list("adonl", linked_rule<recursive_out_degree>, options);
}
OnlinePtr make_datacentric(const PolicyOptions& options) {
  return ready_list("datacentric", datacentric_rule, options);
}

StaticPtr ahead_donf(const PolicyOptions& options) {
  return std::make_unique<OutDegreeAhead>("donf", one_generation, false, 0, options.alpha);
}
StaticPtr ahead_donf2(const PolicyOptions& options) {
  return std::make_unique<OutDegreeAhead>("donf2", weighted_out_degree_of_two, false, 0,
                                          options.alpha);
}
StaticPtr ahead_adon(const PolicyOptions& options) {
  return std::make_unique<OutDegreeAhead>("adon", recursive_out_degree, false, 0, options.alpha);
}
StaticPtr ahead_donfl(const PolicyOptions& options) {
  return std::make_unique<OutDegreeAhead>("donfl", one_generation, true, 0, options.alpha);
}
StaticPtr ahead_donfl2(const PolicyOptions& options) {
  return std::make_unique<OutDegreeAhead>("donfl2", weighted_out_degree_of_two, true, 0,
                                          options.alpha);
}
StaticPtr ahead_adonl(const PolicyOptions& options) {
  return std::make_unique<OutDegreeAhead>("adonl", recursive_out_degree, true, 0, options.alpha);
}
StaticPtr ahead_datacentric(const PolicyOptions& options) {
  return std::make_unique<OutDegreeAhead>("datacentric", one_generation, false, options.ratio,
                                          options.alpha);
}

}  // namespace dfsim::inline schedulers::policies
