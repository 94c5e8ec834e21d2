#include "schedulers/planning/out_degree.h"

namespace dfsim::inline schedulers {

std::vector<double> weighted_out_degree(const ExecGraph& graph) {
  std::vector<double> wod(graph.task_count(), 0.0);
  for (const Edge& edge : graph.edges()) {
    wod[edge.from.index()] += 1.0 / static_cast<double>(graph.in_degree(edge.to));
  }
  return wod;
}

std::vector<double> weighted_out_degree_of_two(const ExecGraph& graph, double alpha) {
  const std::vector<double> wod = weighted_out_degree(graph);
  std::vector<double> priority = wod;
  for (const Edge& edge : graph.edges()) {
    priority[edge.from.index()] += alpha * wod[edge.to.index()];
  }
  return priority;
}

std::vector<double> recursive_out_degree(const ExecGraph& graph, double alpha) {
  std::vector<double> priority = weighted_out_degree(graph);
  for (size_t i = priority.size(); i-- > 0;) {
    for (const Edge& edge : graph.out_edges(TaskId(i))) {
      priority[i] += alpha * priority[edge.to.index()];
    }
  }
  return priority;
}

}  // namespace dfsim::inline schedulers
