// TaskTimes: how long each task takes, its cost or a draw from the cost's interval.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "graphs/ir/exec_graph.h"
#include "opmodel/cost_model.h"
#include "sim/drawn_cost.h"
#include "sim/engine/run_mode.h"

namespace dfsim::inline sim {

class TaskTimes {
 public:
  // References must outlive it.
  TaskTimes(const ExecGraph& graph, const CostTable& costs, const CostNoise& noise)
      : graph_(graph), costs_(costs), noise_(noise) {}

  TimeNs of(uint32_t task, uint32_t device) const {
    const uint32_t row = graph_.cost_row(TaskId(task));
    const OpCost& cost = costs_.at(row, DeviceId(device));
    return noise_.deviations.empty()
               ? cost.time_ns
               : drawn_ns(cost, noise_.deviations[noise_.per_row ? row : task]);
  }

 private:
  const ExecGraph& graph_;
  const CostTable& costs_;
  const CostNoise& noise_;
};

}  // namespace dfsim::inline sim
