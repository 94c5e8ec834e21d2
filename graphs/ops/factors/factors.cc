#include "graphs/ops/factors/factors.h"

#include <algorithm>
#include <array>

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

std::string_view reduction_name(Reduction reduction) {
  constexpr std::array<std::string_view, kReductionCount> kNames = {"none", "sum", "mean",
                                                                    "max",  "min", "prod"};
  return kNames[static_cast<size_t>(reduction)];
}

std::string_view factor_kind_name(FactorKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"parallel", "contracted", "halo"};
  return kNames[static_cast<size_t>(kind)];
}

bool carries(const std::vector<FactorDim>& dims, int factor) {
  return std::any_of(dims.begin(), dims.end(),
                     [factor](const FactorDim& dim) { return dim.factor == factor; });
}

FactorKind FactorMap::kind(int factor) const {
  if (factors[static_cast<size_t>(factor)].halo >= 0) {
    return FactorKind::kHalo;
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (has_output[o] && !carries(outputs[o], factor)) {
      return FactorKind::kContracted;
    }
  }
  return FactorKind::kParallel;
}

bool FactorMap::can_split(int factor, int64_t ways) const {
  const Factor& f = factors[static_cast<size_t>(factor)];
  if (ways < 1 || f.extent % ways != 0) {
    return false;
  }
  if (f.halo < 0 || ways == 1) {
    return true;
  }
  const Halo& halo = halos[static_cast<size_t>(f.halo)];
  const FactorDim& dim = inputs[halo.input][static_cast<size_t>(halo.dim)];
  const int64_t shard = f.extent / ways * dim.block;
  return halo.before <= shard && halo.after <= shard;
}

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
