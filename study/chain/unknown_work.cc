// unknown_work(): one sweep over the executed operators, and over the bodies of those that hold
// subgraphs.
#include "study/chain/unknown_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <variant>

#include "base/counted.h"
#include "base/text.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/op_def.h"
#include "graphs/passes/cleanup/control_runs.h"
#include "graphs/passes/cleanup/expand.h"

namespace dfsim::inline study {
namespace {

bool carries_work(const Op& op) {
  return op.op_class != OpClass::kView && op.op_class != OpClass::kConstant;
}

// Whether a loop body or branch of the operator has an operator of unknown work.
bool body_has_unknown_work(const Op& op) {
  for (const auto& [name, value] : op.attributes.entries()) {
    const auto* body = std::get_if<std::shared_ptr<const Graph>>(&value);
    if (body == nullptr || *body == nullptr) {
      continue;
    }
    for (size_t i = 0; i < (*body)->op_count(); ++i) {
      if (carries_work((*body)->op(OpId(i))) && has_unknown_work(**body, OpId(i))) {
        return true;
      }
    }
  }
  return false;
}

// Single elements are marked, too, because their values differ from trip to trip of a loop.
bool extents_depend_on_data(const Tensor& tensor) {
  const bool single = tensor.shape.is_static() && tensor.shape.elements() == Count(1);
  return tensor.data_dependent && !single;
}

// Whether a tensor of the operator's loop body has extents that depend on data.
bool body_depends_on_data(const Op& op) {
  for (const auto& [name, value] : op.attributes.entries()) {
    const auto* body = std::get_if<std::shared_ptr<const Graph>>(&value);
    for (size_t i = 0; body != nullptr && *body != nullptr && i < (*body)->tensor_count(); ++i) {
      if (extents_depend_on_data((*body)->tensor(TensorId(i)))) {
        return true;
      }
    }
  }
  return false;
}

bool is_unknown_operator(const Op& op) {
  return op.op_class == OpClass::kOpaque && find_op_def(op.domain, op.op_type) == nullptr;
}

// The importer may have given a reason for this operator or for one in its body. Fused operators
// have names of their own, and an operator that dfsim does not know may have shapes from the file.
UnresolvedOpInfo cause_of(const Op& op, const ImportReport& report) {
  UnresolvedOpInfo cause{op.name, op.op_type, "a shape that it needs is not known"};
  const std::string inside = printable(op.name) + "/";
  const auto found = std::find_if(
      report.unresolved.begin(), report.unresolved.end(),
      [&](const auto& entry) { return entry.name == op.name || entry.name.starts_with(inside); });
  if (found != report.unresolved.end()) {
    cause.reason = found->reason;
    cause.extents = found->extents;
  } else if (is_unknown_operator(op)) {
    cause.reason = fmt::format(
        "dfsim knows no operator {}{}, only the bytes that this one moves",
        op.domain.empty() ? "" : printable(op.domain, 40) + "::", printable(op.op_type, 40));
  }
  return cause;
}

std::string reason_to_stay_whole(const Op& op) {
  const auto runs = runs_of(op);
  if (!runs) {
    return "dfsim does not write this operator out";
  }
  return fmt::format("its {} would become {:.0f} operators, and dfsim writes out {} in all",
                     counted(runs->trips, "trip"), ExpandedSizes().of(op), kMostExpandedOps);
}

}  // namespace

bool has_unknown_work(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  return !is_resolved(graph, id) || is_unknown_operator(op) || body_has_unknown_work(op);
}

bool has_largest_sizes(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  const auto depends = [&graph](TensorId tensor) {
    return tensor.valid() && extents_depend_on_data(graph.tensor(tensor));
  };
  return std::ranges::any_of(op.inputs, depends) || std::ranges::any_of(op.outputs, depends);
}

UnknownWork unknown_work(const Graph& executed, const ImportReport& report) {
  UnknownWork unknown;
  bool named = false;
  const Op* whole_loop = nullptr;
  for (size_t i = 0; i < executed.op_count(); ++i) {
    const Op& op = executed.op(OpId(i));
    const bool is_unknown = has_unknown_work(executed, OpId(i));
    // Operators are in topological order: the first one is a cause, those behind it may only be
    // consequences. A view can be the cause.
    if (is_unknown && !named) {
      unknown.first = cause_of(op, report);
      unknown.has_no_definition = is_unknown_operator(op);
      unknown.depends_on_values = unknown.first.reason == kDependsOnValues;
      named = true;
    }
    if (op.op_class == OpClass::kControlFlow) {
      ++unknown.whole_loops;
      unknown.assumes_most = unknown.assumes_most || body_depends_on_data(op);
      whole_loop = whole_loop != nullptr ? whole_loop : &op;
    }
    unknown.of += carries_work(op) ? 1 : 0;
    unknown.ops += is_unknown && carries_work(op) ? 1 : 0;
  }
  unknown.uncounted_loops = report.uncounted_loops.size();
  if (!report.uncounted_loops.empty() && !named) {
    unknown.first = {report.uncounted_loops[0], "Loop",
                     "how often it runs is not known before the run; use --trip-count NAME=N"};
    named = true;
  }
  if (whole_loop != nullptr && !named) {
    unknown.first = {whole_loop->name, whole_loop->op_type, reason_to_stay_whole(*whole_loop)};
  }
  return unknown;
}

}  // namespace dfsim::inline study
