#include "study/inspection/inner_ops.h"

#include <algorithm>

#include "graphs/ops/families/layout/subgraph.h"
#include "graphs/ops/infer.h"

namespace dfsim::inline study {
namespace {

bool is_known(const Graph& graph, const Op& op) {
  return std::all_of(op.outputs.begin(), op.outputs.end(),
                     [&](TensorId id) { return !id.valid() || graph.constant(id) != nullptr; });
}

// Nesting is bounded by the importers.
void collect(const Op& outer, int depth, int64_t trips, std::vector<InnerOp>* found) {
  const Count runs =
      Count(trips) * Count(std::max<int64_t>(0, outer.attributes.int_or(kTripsAttribute, 1)));
  for (const auto& [part, value] : outer.attributes.entries()) {
    const auto* body = std::get_if<GraphPtr>(&value);
    if (body == nullptr) {
      continue;
    }
    const Graph& graph = **body;
    for (size_t i = 0; i < graph.op_count(); ++i) {
      const Op& op = graph.op(OpId(i));
      if (is_known(graph, op)) {
        continue;
      }
      const auto work = op_work(graph, OpId(i));
      const int64_t all_runs = runs.overflowed() ? INT64_MAX : runs.value();
      found->push_back({&graph, &op, part, depth, all_runs, work.ok() ? *work : OpWork()});
      collect(op, depth + 1, all_runs, found);
    }
  }
}

}  // namespace

std::vector<InnerOp> inner_ops(const Op& op) {
  std::vector<InnerOp> found;
  collect(op, 1, 1, &found);
  return found;
}

}  // namespace dfsim::inline study
