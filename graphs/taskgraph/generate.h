// Synthetic task graphs for tests, benchmarks and scheduling research.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/taskgraph/task_graph.h"

namespace dfsim::inline graphs {

// What to generate. Costs are drawn per task: a mean, uniform in [1, 100) units, and for each
// device a time uniform in mean * [1 - heterogeneity/2, 1 + heterogeneity/2) (the range-based
// method of Topcuoglu, Hariri, Wu 2002). Edges are delays whose mean is ccr times the mean cost.
struct GenerateOptions {
  std::string shape = "layered";
  size_t tasks = 100;
  size_t devices = 0;          // columns of costs; 0 = identical processors
  double ccr = 1.0;            // communication to computation
  double heterogeneity = 0.5;  // 0 = a task costs the same everywhere; at most 2
  double restricted = 0.0;     // share of tasks that can run only on some devices
  uint64_t seed = 1;
};

// "chain", "fork-join", "tree", "in-tree", "layered", "random", "independent", "two-components",
// "cholesky", "fft", "stencil". Each gives exactly `tasks` tasks, except cholesky, fft and stencil,
// which give the largest of their sizes that has at most that many.
const std::vector<std::string>& graph_shapes();

// Errors (kInvalidInput): unknown shape, an option out of range. Same options, same graph, on every
// machine. O(tasks * (devices + edges per task)).
StatusOr<TaskGraph> generate_task_graph(const GenerateOptions& options);

}  // namespace dfsim::inline graphs
