#include "graphs/passes/cleanup/control_runs.h"

#include <algorithm>

#include "graphs/ops/families/layout/subgraph.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kScanWithoutBatch = 9;  // opset
constexpr double kMost = 1e18;

}  // namespace

bool is_control_flow(const Op& op) { return op.op_class == OpClass::kControlFlow; }

std::optional<Runs> runs_of(const Op& op) {
  if (!op.domain.empty()) {
    return std::nullopt;
  }
  if (op.op_type == "If") {
    const auto branch = costed_branch(op);
    return branch.ok() && !branch->empty() ? std::optional(Runs{*branch, 1}) : std::nullopt;
  }
  const auto trips = op.attributes.get_int(kTripsAttribute);
  const bool batched = op.op_type == "Scan" && op.version < kScanWithoutBatch;
  if (!trips || *trips < 0 || batched || subgraph(op.attributes, "body") == nullptr) {
    return std::nullopt;
  }
  return Runs{"body", *trips};
}

double ExpandedSizes::of(const Op& op) {
  const auto runs = is_control_flow(op) ? runs_of(op) : std::nullopt;
  if (!runs) {
    return 1;
  }
  const Graph* body = subgraph(op.attributes, runs->body)->get();
  const auto [it, is_new] = sizes_.emplace(body, 0);
  if (is_new) {
    double sum = 0;
    for (const Op& inner : body->ops()) {
      sum += of(inner);
    }
    sizes_[body] = sum;
  }
  // A trip adds what takes scanned tensors apart and joins results, too.
  const auto around = static_cast<double>(1 + op.inputs.size() + op.outputs.size());
  return std::min(kMost, static_cast<double>(runs->trips) * (sizes_[body] + around) + around);
}

}  // namespace dfsim::inline graphs
