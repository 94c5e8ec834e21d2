// Which tensors are cut, as operators are given their cuts in the graph's order.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/ops/factors/factors.h"
#include "partition/pieces/tensor_runs.h"

namespace dfsim::inline partition {

// Every operand and result has a static shape.
bool has_static_operands(const Graph& graph, const Op& op);
// A tensor that a run computes or is given.
bool is_activation(const Graph& graph, TensorId id);

class OpCuts {
 public:
  explicit OpCuts(const Graph& graph) : graph_(graph), runs_(graph.tensor_count()) {}

  void cut_tensor(TensorId id, TensorRuns runs) { runs_[id.index()] = std::move(runs); }
  // The operator's result, where it carries the factor.
  void cut_op(OpId id, const FactorMap& map, int factor, const std::vector<int64_t>& bounds);
  // A view shows its operand's cut.
  void see_view(OpId id);

  const std::optional<TensorRuns>& of(TensorId id) const { return runs_[id.index()]; }
  // The bounds of a factor that cut every operand as it is cut already; none where an operand is
  // cut otherwise, or none is cut.
  std::optional<std::vector<int64_t>> bounds_to_follow(const Op& op, const FactorMap& map,
                                                       int factor) const;

 private:
  const Graph& graph_;
  std::vector<std::optional<TensorRuns>> runs_;
};

}  // namespace dfsim::inline partition
