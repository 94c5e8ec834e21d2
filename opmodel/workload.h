// Workload: a DL graph made ready for the simulator: tasks, data, and distinct ops to be costed.
#pragma once

#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "graphs/ir/graph.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// An operand that an operator of the graph made.
struct Reread {
  Bytes bytes = 0;
  Bytes distance = 0;  // what was read and written since, with the operand itself
};

struct Workload {
  ExecGraph graph;                 // ExecGraph::op() points into the graph it was made from
  std::vector<OpDescriptor> rows;  // by cost row: ops with equal descriptors share one
  // By cost row: the operands that other operators made, each at its longest distance of all tasks;
  // empty where the tasks differ.
  std::vector<std::vector<Reread>> rereads;
  std::vector<uint32_t> views;  // by task: view ops right before it in the program
  Bytes weight_bytes = 0;       // resident before the run
  Bytes input_bytes = 0;        // fed by the caller
};

// A cost model's view of an op; canonical attributes as in datasets/profiles/SCHEMA.md.
OpDescriptor describe_op(const Graph& graph, OpId op, const OpWork& work);

// One task per op that moves or computes something. Views cost nothing and own no memory: whoever
// reads a view reads the data it shows. A weight belongs to the first task that reads it.
// `graph` must be pruned (graphs/passes/cleanup/prune.h). Error: work that does not fit in 63 bits.
StatusOr<Workload> make_workload(const Graph& graph);

// Host time to dispatch each task under the runtime, the views before it included. Empty when all
// are the runtime's plain dispatch_ns.
std::vector<TimeNs> dispatch_times(const Workload& workload, const RuntimeSpec& runtime);

// Costs of every row on every device, one batch per device. `weight_bytes` of the whole graph tell
// which weights a CPU's cache keeps from run to run (resident_weights.h).
StatusOr<CostTable> make_cost_table(const std::vector<OpDescriptor>& rows, Bytes weight_bytes,
                                    const Platform& platform, const CostModel& model);

}  // namespace dfsim::inline opmodel
