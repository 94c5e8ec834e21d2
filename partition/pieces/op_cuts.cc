#include "partition/pieces/op_cuts.h"

#include <algorithm>

namespace dfsim::inline partition {

bool has_static_operands(const Graph& graph, const Op& op) {
  const auto known = [&graph](TensorId id) {
    return !id.valid() || graph.tensor(id).shape.is_static();
  };
  return std::ranges::all_of(op.inputs, known) && std::ranges::all_of(op.outputs, known);
}

bool is_activation(const Graph& graph, TensorId id) {
  return id.valid() && graph.tensor(id).role == TensorRole::kActivation &&
         graph.constant(id) == nullptr;
}

void OpCuts::cut_op(OpId id, const FactorMap& map, int factor, const std::vector<int64_t>& bounds) {
  runs_[graph_.op(id).outputs[0].index()] = runs_of(map.outputs[0], factor, bounds);
}

void OpCuts::see_view(OpId id) {
  const Op& op = graph_.op(id);
  if (!has_static_operands(graph_, op) || !op.inputs[0].valid() || !of(op.inputs[0])) {
    return;
  }
  for (const TensorId output : op.outputs) {
    if (output.valid()) {
      runs_[output.index()] = through_view(*of(op.inputs[0]), graph_.tensor(op.inputs[0]).shape,
                                           graph_.tensor(output).shape);
    }
  }
}

std::optional<std::vector<int64_t>> OpCuts::bounds_to_follow(const Op& op, const FactorMap& map,
                                                             int factor) const {
  std::optional<std::vector<int64_t>> bounds;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid() || !of(op.inputs[i]).has_value()) {
      continue;
    }
    const TensorRuns& runs = *of(op.inputs[i]);
    const auto dim = static_cast<size_t>(runs.dim);
    if (dim >= map.inputs[i].size() || map.inputs[i][dim].factor != factor) {
      return std::nullopt;
    }
    std::vector<int64_t> wanted = runs.bounds;
    for (int64_t& bound : wanted) {
      if (bound % map.inputs[i][dim].block != 0) {
        return std::nullopt;
      }
      bound /= map.inputs[i][dim].block;
    }
    if (bounds.has_value() && *bounds != wanted) {
      return std::nullopt;
    }
    bounds = std::move(wanted);
  }
  return bounds;
}

}  // namespace dfsim::inline partition
