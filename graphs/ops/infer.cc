#include "graphs/ops/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/ops/op_def.h"

namespace dfsim {
namespace {

bool all_values_known(const InferContext& context) {
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.has_input(i) && context.value(i) == nullptr) {
      return false;
    }
  }
  return context.input_count() > 0;
}

// Why the op's outputs are unknown, or "" when all are static.
std::string unresolved_reason(const GraphBuilder& builder, const Op& op, bool has_rule,
                              const std::string& fallback_reason) {
  const auto unknown = [&](const std::vector<TensorId>& ids) {
    return std::find_if(ids.begin(), ids.end(), [&](TensorId id) {
      return id.valid() && !builder.tensor(id).shape.is_static();
    });
  };
  if (unknown(op.outputs) == op.outputs.end()) {
    return "";
  }
  if (const auto input = unknown(op.inputs); input != op.inputs.end()) {
    return fmt::format("its input '{}' has an unknown shape",
                       printable(builder.tensor(*input).name));
  }
  if (!has_rule) {
    return fallback_reason.empty()
               ? fmt::format("operator {}{} is not known",
                             op.domain.empty() ? "" : op.domain + "::", printable(op.op_type, 40))
               : fallback_reason;
  }
  return "its shape depends on values that are not known before the run";
}

Status infer_op(GraphBuilder& builder, OpId id, const InferOptions& options,
                std::vector<UnresolvedOp>* unresolved) {
  Op& op = builder.op(id);
  const OpDef* def = find_op_def(op.domain, op.op_type);
  InferContext context(builder, id);
  std::string fallback_reason;
  if (def != nullptr) {
    op.op_class = def->op_class;
    DFSIM_RETURN_IF_ERROR(def->infer(context));
    if (def->fold != nullptr && all_values_known(context)) {
      def->fold(context);
    }
  } else {
    op.op_class = OpClass::kOpaque;
    if (options.fallback) {
      fallback_reason = options.fallback(builder, id);
    }
  }
  std::string reason = unresolved_reason(builder, op, def != nullptr, fallback_reason);
  if (!reason.empty()) {
    unresolved->push_back({id, std::move(reason)});
  }
  return ok_status();
}

}  // namespace

StatusOr<std::vector<UnresolvedOp>> infer_shapes(GraphBuilder& builder,
                                                 const InferOptions& options) {
  DFSIM_RETURN_IF_ERROR(builder.sort());
  std::vector<UnresolvedOp> unresolved;
  for (size_t i = 0; i < builder.op_count(); ++i) {
    DFSIM_RETURN_IF_ERROR(infer_op(builder, OpId(i), options, &unresolved));
  }
  return unresolved;
}

bool is_resolved(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  const auto all_static = [&](const std::vector<TensorId>& ids) {
    return std::all_of(ids.begin(), ids.end(), [&](TensorId tensor) {
      return !tensor.valid() || graph.tensor(tensor).shape.is_static();
    });
  };
  const bool has_output = std::any_of(op.outputs.begin(), op.outputs.end(),
                                      [](TensorId tensor) { return tensor.valid(); });
  return has_output && all_static(op.inputs) && all_static(op.outputs);
}

StatusOr<OpWork> op_work(const Graph& graph, OpId id) {
  if (!is_resolved(graph, id)) {
    return OpWork();
  }
  // An operator without a definition moves its operands; that much is certain.
  static constexpr OpDef kOpaqueOp = {"", OpClass::kOpaque};
  const Op& op = graph.op(id);
  const OpDef* def = find_op_def(op.domain, op.op_type);
  WorkContext context(graph, op, def != nullptr ? *def : kOpaqueOp);
  if (def != nullptr && def->work != nullptr) {
    def->work(context);
  }
  return context.finish();
}

}  // namespace dfsim
