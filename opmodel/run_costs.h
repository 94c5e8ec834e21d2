// Costs of a run under a runtime: the time of each operator with the operands that caches keep and
// the gaps between kernels, and the host time of dispatching, which depends on the mode of the run
// (autograd, backward pass, updates, autocast, the speed of the host's thread).
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "graphs/ir/graph.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/workload.h"

namespace dfsim::inline opmodel {

// The time of each row of the workload on each device of the platform: make_cost_table(), then
// apply_cached_operands() and add_gaps(). Errors: those of the model.
StatusOr<CostTable> cost_workload(const Workload& workload, const Platform& platform,
                                  const CostModel& model);

// Error (kInvalidInput): a key of `dispatch_by_op_us` is neither an operator nor a class of
// operators.
Status check_dispatch_names(const RuntimeSpec& runtime);

// Divides the host times of the runtime by the speed of the host's thread.
void scale_dispatch(double speed, RuntimeSpec* runtime);

struct DispatchedModel {
  const Graph& graph;      // as executed
  const ExecGraph& tasks;  // of the model
  bool is_training = false;
  bool autocast = false;
};

// Adds the runtime's DispatchCosts to the host time of each task; `task_of` maps a task of the
// model to its entry in `dispatch_ns`. O(tasks).
void add_dispatch_modes(const DispatchedModel& model, const RuntimeSpec& runtime,
                        const std::vector<TaskId>& task_of, std::vector<TimeNs>* dispatch_ns);

// Adds the runtime's gap between kernels to the time of every operator on accelerators, but for
// bare bounds: the gap is an estimate, and a bound with an estimate added is no longer one.
void add_gaps(const Platform& platform, CostTable* costs);

// Where every operator's time is a bare bound, the run is to be a lower limit: clears the host
// times of its tasks, which are estimates. O(rows x devices + tasks).
void leave_estimates_out_of_limit(const CostTable& costs, std::vector<TimeNs>* dispatch_ns);

}  // namespace dfsim::inline opmodel
