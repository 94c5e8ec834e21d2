// Asks an operator's own rule for its factors, after the checks that hold for every operator:
// all shapes known, nothing empty. This file also corrects facts about the graph around the
// operator, which a rule cannot know.
#include "graphs/ops/factors/factors.h"

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {
namespace {

bool is_plain(const Graph& graph, const std::vector<TensorId>& ids) {
  return std::all_of(ids.begin(), ids.end(), [&](TensorId id) {
    return !id.valid() || (!graph.tensor(id).data_dependent && !graph.tensor(id).is_sequence);
  });
}

bool has_zero_extent(const Graph& graph, const std::vector<TensorId>& ids) {
  return std::any_of(ids.begin(), ids.end(), [&](TensorId id) {
    return id.valid() && graph.tensor(id).shape.elements() == Count(0);
  });
}

// Why no rule may even be asked, or "".
std::string_view refusal(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (!is_resolved(graph, id)) {
    return "its shapes are not known";
  }
  if (!is_plain(graph, op.inputs) || !is_plain(graph, op.outputs)) {
    return "its extents depend on data, or its operands are lists";
  }
  if (has_zero_extent(graph, op.inputs) || has_zero_extent(graph, op.outputs)) {
    return "an operand has no elements";
  }
  return op.op_class == OpClass::kControlFlow ? "it runs a graph of its own" : "";
}

// The rows of a looked-up table are its last factor. Parts of a lookup are added up, which texts
// and truth values cannot be, and integers are mostly shapes, which every device needs.
void keep_rows_whole(const Graph& graph, OpId id, FactorMap* map) {
  const Op& op = graph.op(id);
  if (op.op_type != "Gather" || map->factors.empty() ||
      is_floating(graph.tensor(op.inputs[0]).dtype)) {
    return;
  }
  const int last = static_cast<int>(map->factors.size()) - 1;
  const bool is_rows = map->kind(last) == FactorKind::kContracted;
  for (FactorDim& dim : map->inputs[0]) {
    dim = is_rows && dim.factor == last ? FactorDim() : dim;
  }
  if (is_rows) {
    map->factors.pop_back();
  }
  if (map->factors.empty()) {
    map->unsplittable = "no dimension that may be split is longer than 1";
  }
}

}  // namespace

FactorMap op_factors(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  FactorContext context(graph, op);
  const OpDef* def = find_op_def(op.domain, op.op_type);
  if (const std::string_view reason = refusal(graph, id); !reason.empty()) {
    context.set_unsplittable(std::string(reason));
  } else if (def == nullptr) {
    context.set_unsplittable("dfsim does not know the operator");
  } else if (def->factors != nullptr) {
    def->factors(context);
  } else if (def->op_class == OpClass::kElementwise) {
    factors_elementwise(context);
  } else {
    context.set_unsplittable("its operator has no factor rule");
  }
  FactorMap map = context.finish();
  keep_rows_whole(graph, id, &map);
  return map;
}

}  // namespace dfsim::inline graphs
