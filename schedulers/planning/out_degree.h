// Weighted out-degrees, the priorities of DONF and its relatives (Lin, Li, Jia, Liu, An 2019,
// doi:10.1007/s11390-019-1962-4): how much of its successors a task alone still holds up. All are
// O(edges), by task id, and have no unit.
#pragma once

#include <vector>

#include "graphs/ir/exec_graph.h"

namespace dfsim::inline schedulers {

// WOD(v) = sum over successors s of 1 / indegree(s).
std::vector<double> weighted_out_degree(const ExecGraph& graph);
// DONF2: WOD(v) + alpha * sum over successors of WOD(s).
std::vector<double> weighted_out_degree_of_two(const ExecGraph& graph, double alpha);
// ADON: r(v) = WOD(v) + alpha * sum over successors of r(s).
std::vector<double> recursive_out_degree(const ExecGraph& graph, double alpha);

}  // namespace dfsim::inline schedulers
