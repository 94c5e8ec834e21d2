#include "schedulers/decision_cost.h"

#include <algorithm>
#include <vector>

namespace dfsim::inline schedulers {
namespace {

constexpr double kDefaultSteps = 1000;

// Tasks of the longest path; at least 1.
double depth(const ExecGraph& graph) {
  std::vector<uint32_t> level(graph.task_count(), 1);
  uint32_t deepest = 1;
  for (size_t i = 0; i < level.size(); ++i) {
    deepest = std::max(deepest, level[i]);
    for (const Edge& edge : graph.out_edges(TaskId(i))) {
      level[edge.to.index()] = std::max(level[edge.to.index()], level[i] + 1);
    }
  }
  return deepest;
}

}  // namespace

double decision_looks(const PolicyInfo& policy, const SchedulingProblem& problem,
                      const PolicyOptions& options) {
  const auto tasks = static_cast<double>(problem.graph.task_count());
  const auto edges = static_cast<double>(problem.graph.edge_count());
  const auto devices = static_cast<double>(problem.platform.devices.size());
  const double finishes = tasks * devices + edges;
  switch (policy.work) {
    case DecisionWork::kNothing:
      return tasks;
    case DecisionWork::kTimes:
      return tasks * devices;
    case DecisionWork::kDevices:
      return finishes;
    case DecisionWork::kTable:
      return 2 * finishes + edges * devices;
    case DecisionWork::kReaders:
      return finishes + edges * devices * devices;
    case DecisionWork::kPairs:
      return finishes + tasks * tasks / depth(problem.graph);
    case DecisionWork::kSearch:
      break;
  }
  const auto steps = static_cast<double>(options.iterations);
  return finishes * (steps > 0 ? steps : kDefaultSteps);
}

}  // namespace dfsim::inline schedulers
