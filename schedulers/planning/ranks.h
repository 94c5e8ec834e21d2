// Priorities of tasks that list schedulers share. All are in nanoseconds unless said otherwise,
// indexed by task id, and O(edges * devices) at most.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/planning/task_view.h"

namespace dfsim::inline schedulers {

// rank_u(i) = mean w(i) + max over successors (mean c(i,j) + rank_u(j)).
std::vector<double> upward_rank(const TaskView& view);
// rank_d(j) = max over predecessors (rank_d(i) + mean w(i) + mean c(i,j)).
std::vector<double> downward_rank(const TaskView& view);
// The upward rank without communication.
std::vector<double> static_level(const TaskView& view);

// The optimistic cost table of PEFT, row-major task x device:
// OCT(i,p) = max over successors j of min over q of OCT(j,q) + w(j,q) + (q != p ? mean c(i,j) : 0);
// devices that cannot run j do not count as q. 0 for exits.
std::vector<double> optimistic_cost_table(const TaskView& view);
// The predict cost matrix of PPTS: PCM(i,p) = max_j min_q PCM(j,q) + w(j,q) + w(i,q) + c;
// PCM(exit,p) = w(exit,p). Where i cannot run on q, its mean time stands in.
std::vector<double> predict_cost_matrix(const TaskView& view);
// Mean of each row over the devices that can run the task.
std::vector<double> row_means(const TaskView& view, const std::vector<double>& table);

// Raises each priority to the largest of its successors': afterwards sorting by (priority
// descending, id) puts every task before its successors.
void raise_above_successors(const ExecGraph& graph, std::vector<double>& priority);

// Tasks by descending priority, ties by ascending id.
std::vector<TaskId> by_priority(const std::vector<double>& priority);

}  // namespace dfsim::inline schedulers
