// Collectives as messages: the rounds of an algorithm, and their tasks for the simulator.
//
// As messages over the platform's links a collective contends with whatever else moves there; on an
// idle symmetric network it takes what the formulas of collectives.h say.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "partition/collectives/collectives.h"

namespace dfsim::inline partition {

// Positions in the group.
struct Message {
  uint32_t from = 0;
  uint32_t to = 0;
  Bytes bytes = 0;
};
using MessageRound = std::vector<Message>;

// The rounds in order. A rank sends its message of a round when those that it was to receive in the
// rounds before have arrived; where it receives none, also when its receiver is ready for it and
// when the one that it sent before has arrived. `local_ranks` is that of GroupCosts and only for
// hierarchical ones. Error (kInvalidInput): the algorithm does not do that collective, or not for
// so many ranks.
StatusOr<std::vector<MessageRound>> collective_rounds(CollectiveKind kind,
                                                      CollectiveAlgorithm algorithm, Bytes bytes,
                                                      uint32_t ranks, uint32_t local_ranks = 1);

// Adds one task per rank and round, and two for each message of a rank that receives none.
// `start[r]` is the task after which rank r takes part; `cost_row` is a row that takes no time.
// Returns the last task of each rank; `placed` receives for each new task, in order of creation,
// its rank. O(ranks * rounds).
std::vector<TaskId> add_collective(ExecGraphBuilder& builder,
                                   const std::vector<MessageRound>& rounds,
                                   const std::vector<TaskId>& start, uint32_t cost_row,
                                   std::vector<uint32_t>* placed);

}  // namespace dfsim::inline partition
