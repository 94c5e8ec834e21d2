// Recognises lookups whose table may be split by rows: each device looks up what it has and zero
// otherwise, and the sum over devices is the result.
#include "partition/sharding/lookup.h"

#include "graphs/ops/families/extensions/gradient_ops.h"

namespace dfsim::inline partition {

std::optional<Lookup> find_lookup(const Graph& graph, OpId id, const FactorMap& map) {
  const Op& op = graph.op(id);
  const bool gradient = op.op_type == "GatherGrad" && op.domain == kTrainingDomain;
  if (map.factors.empty() || (op.op_type != "Gather" && !gradient)) {
    return std::nullopt;
  }
  const std::vector<FactorDim>& table = gradient ? map.outputs[0] : map.inputs[0];
  const auto rank = static_cast<int64_t>(table.size());
  const int64_t axis = op.attributes.int_or("axis", 0);
  Lookup lookup;
  lookup.dim = static_cast<int>(axis < 0 ? axis + rank : axis);
  lookup.factor = table[static_cast<size_t>(lookup.dim)].factor;
  lookup.masked_input = gradient ? 0 : -1;
  if (lookup.factor == FactorDim::kWhole) {
    return std::nullopt;
  }
  lookup.extent = map.factors[static_cast<size_t>(lookup.factor)].extent;
  return lookup;
}

}  // namespace dfsim::inline partition
