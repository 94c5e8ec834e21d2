// Runs an operator's shape rule and its value rule, and says why an output stays unknown. Values
// are folded only when all operands are known; shapes are checked against a common limit here,
// once, so that no rule has to fear overflow.
#include "graphs/ops/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cancellation.h"
#include "base/text.h"
#include "graphs/ops/arithmetic.h"
#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {
namespace {

bool all_values_known(const InferContext& context) {
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.has_input(i) && context.value(i) == nullptr) {
      return false;
    }
  }
  return context.input_count() > 0;
}

Status check_inputs(const InferContext& context, const OpDef& def) {
  for (size_t i = 0; i < def.required_inputs; ++i) {
    if (!context.has_input(i)) {
      return context.error(
          fmt::format("input {} is missing; expected at least {} inputs", i, def.required_inputs));
    }
  }
  return ok_status();
}

// Bounds every shape, so that what reads it need not fear overflow.
Status check_outputs(const InferContext& context) {
  for (size_t i = 0; i < context.output_count(); ++i) {
    const Shape& shape = context.output_shape(i);
    const bool too_long = std::any_of(shape.dims().begin(), shape.dims().end(), [](Dim dim) {
      return dim.known() && dim.extent() > kMaxExtent;
    });
    if (too_long || shape.rank() > kMaxRank) {
      return context.error(
          fmt::format("output {} would have the shape {}; expected extents up to {} and rank up "
                      "to {}",
                      i, printable(format_shape(shape), 120), kMaxExtent, kMaxRank));
    }
  }
  return ok_status();
}

bool outputs_static(const GraphBuilder& builder, const Op& op) {
  return std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    return !id.valid() || builder.tensor(id).shape.is_static();
  });
}

// Why the op's outputs are unknown, or "" when all are static.
std::string unresolved_reason(const GraphBuilder& builder, const Op& op, bool has_rule,
                              const std::string& fallback_reason) {
  const auto unknown = [&](const std::vector<TensorId>& ids) {
    return std::find_if(ids.begin(), ids.end(), [&](TensorId id) {
      return id.valid() && !builder.tensor(id).shape.is_static();
    });
  };
  if (outputs_static(builder, op)) {
    return "";
  }
  if (const auto input = unknown(op.inputs); input != op.inputs.end()) {
    return fmt::format("its input '{}' has an unknown shape",
                       printable(builder.tensor(*input).name));
  }
  if (!has_rule) {
    return fallback_reason.empty()
               ? fmt::format("operator {}{} is not known",
                             op.domain.empty() ? "" : printable(op.domain, 40) + "::",
                             printable(op.op_type, 40))
               : fallback_reason;
  }
  return std::string(kDependsOnValues);
}

}  // namespace

namespace {

const OpDef* definition_of(const Op& op) {
  return op.attributes.has(kUntranslated) ? nullptr : find_op_def(op.domain, op.op_type);
}

// Runs the shape rule. Bounds of extents that depend on data may contradict each other where the
// real extents do not: then the outputs stay unknown, and `*contradiction` tells why.
Status run_shape_rule(InferContext& context, const OpDef& def, const GraphBuilder& builder,
                      std::string* contradiction) {
  DFSIM_RETURN_IF_ERROR(check_inputs(context, def));
  Status status = def.infer(context);
  if (status.ok()) {
    status = check_outputs(context);
  }
  const std::vector<TensorId>& inputs = context.op().inputs;
  const bool bounds = std::any_of(inputs.begin(), inputs.end(), [&](TensorId input) {
    return input.valid() && builder.tensor(input).data_dependent;
  });
  if (status.ok() || !bounds) {
    return status;
  }
  *contradiction = "the largest extents that its inputs can have do not fit: " + status.message();
  for (size_t i = 0; i < context.output_count(); ++i) {
    context.set_output(i, context.output_dtype(i), Shape());
  }
  return ok_status();
}

}  // namespace

StatusOr<std::string> infer_op(GraphBuilder& builder, OpId id, const InferOptions& options) {
  cancellation_point();
  Op& op = builder.op(id);
  const OpDef* def = definition_of(op);
  InferContext context(builder, id, options);
  std::string fallback_reason;
  std::string contradiction;
  if (def != nullptr) {
    op.op_class = def->op_class;
    DFSIM_RETURN_IF_ERROR(run_shape_rule(context, *def, builder, &contradiction));
    if (!contradiction.empty()) {
      return contradiction;
    }
    if (def->fold != nullptr && all_values_known(context)) {
      def->fold(context);
    }
  } else {
    op.op_class = OpClass::kOpaque;
  }
  if (options.adjust) {
    options.adjust(builder, id);
  }
  if (options.fallback && !outputs_static(builder, op)) {
    fallback_reason = options.fallback(builder, id, def != nullptr);
    DFSIM_RETURN_IF_ERROR(check_outputs(context));
  }
  return unresolved_reason(builder, op, def != nullptr, fallback_reason);
}

StatusOr<std::vector<UnresolvedOp>> infer_shapes(GraphBuilder& builder,
                                                 const InferOptions& options) {
  DFSIM_RETURN_IF_ERROR(builder.sort());
  std::vector<UnresolvedOp> unresolved;
  for (size_t i = 0; i < builder.op_count(); ++i) {
    DFSIM_ASSIGN_OR_RETURN(std::string reason, infer_op(builder, OpId(i), options));
    if (!reason.empty()) {
      unresolved.push_back({OpId(i), std::move(reason)});
    }
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
  const Op& op = graph.op(id);
  const OpDef* def = definition_of(op);
  // An operator without a definition moves its operands; that much is certain.
  WorkContext context(graph, op, def != nullptr ? def->flops_per_element : 0);
  if (def != nullptr && def->work != nullptr) {
    def->work(context);
  }
  DFSIM_ASSIGN_OR_RETURN(OpWork work, context.finish());
  if (work.matrix && work.dtype == DType::kFloat32 && op.attributes.has(kArithmeticAttribute)) {
    work.dtype = DType::kTFloat32;
  }
  return work;
}

}  // namespace dfsim::inline graphs
