// Task splits: operators of a lowered model cut into pieces that any device may run, so that a
// scheduling policy places pieces instead of whole operators.
//
// An operator is cut along one parallel factor (op_parts.h) into runs of about equal length. A
// piece reads what it needs of each operand: where the producer is cut along the same dimension,
// only the pieces that overlap with it; otherwise a part of the whole tensor, or all of it. No task
// joins the results: a reader of the whole tensor reads every piece. Parameters that carry the
// factor are cut with it, others are needed by each piece.
//
// A tensor that one reader wants whole and another in parts counts in memory for each.
//
// Paper: Jia, Zaharia, Aiken 2019 (arXiv:1807.05358) for the dimensions that an operator can be cut
// along; the choice of operators is this project's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "graphs/ir/graph.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline partition {

// A model lowered for a platform: what the problem of a comparison consists of. Tasks with an op()
// execute that operator of `ops`; their data are its outputs in order.
struct LoweredTasks {
  const Graph& ops;
  const ExecGraph& tasks;
  const CostTable& costs;
  const std::vector<TimeNs>& dispatch_ns;  // by task, or empty
  const Platform& platform;
};

struct TaskCut {
  OpId op;
  int factor = 0;
  int pieces = 0;
};

// The reason to cut an operator.
enum class SplitRule : uint8_t {
  // A matrix product or convolution that is done sooner on several devices, its operands sent there
  // and its results sent back over idle links; and operators that then read and write the same
  // pieces without a transfer.
  kWorthIt,
  // Every operator that the batch of the model's inputs reaches.
  kBatch,
};

// The operators to cut into at most `pieces` pieces, in the order of the graph. Errors: those of
// op_work() and of the cost model. O(operators x factors), and a batch of predictions.
StatusOr<std::vector<TaskCut>> choose_splits(const LoweredTasks& lowered, SplitRule rule,
                                             int pieces, const CostModel& model);

struct SplitTasks {
  ExecGraph tasks;
  CostTable costs;  // the first rows are those of the lowered model
  std::vector<TimeNs> dispatch_ns;
};

// The tasks with these operators in pieces, named OP#1, OP#2, ... Errors (kInvalidInput): an
// operator or factor that cannot be cut so; those of op_work() and of the cost model.
StatusOr<SplitTasks> split_tasks(const LoweredTasks& lowered, const std::vector<TaskCut>& splits,
                                 const CostModel& model);

}  // namespace dfsim::inline partition
