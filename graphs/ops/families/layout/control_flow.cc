// Control flow: If and Scan (Loop and SequenceMap are in loop.cc). One op with the work of its
// subgraphs: the chosen or larger branch once, a loop's body once per trip.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/families/layout/subgraph.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::string_view kBranch = "dfsim.branch";  // of If, when it is known: 1 = then

// The larger of both on every axis; `exact` tells whether they are equal.
Shape larger_shape(const Shape& a, const Shape& b, bool* exact) {
  *exact = a == b;
  if (*exact || !a.is_static() || !b.is_static() || a.rank() != b.rank()) {
    return *exact ? a : Shape();
  }
  Dims dims;
  for (int i = 0; i < a.rank(); ++i) {
    dims.emplace_back(std::max(a[i].extent(), b[i].extent()));
  }
  return Shape(std::move(dims));
}

// The branch that is taken, if the condition or the user says so, or because the
// other one contradicts the shapes that it would get and so cannot be.
Status infer_if(InferContext& context) {
  const ConstValue* condition = context.value(0);
  std::optional<bool> chosen = context.options().branch;
  // The largest extents that data allow decide where nothing else does, which is an assumption.
  const bool assumed = condition != nullptr && context.is_data_dependent(0);
  if (condition != nullptr && condition->size() == 1 && !(assumed && chosen)) {
    chosen = condition->as_int(0) != 0;
  }
  auto then_tried = try_body(context, "then_branch", {});
  auto else_tried = try_body(context, "else_branch", {});
  if (!chosen && then_tried.ok() != else_tried.ok()) {
    chosen = then_tried.ok();
  }
  if (!then_tried.ok() && chosen.value_or(true)) {
    return then_tried.status();
  }
  if (!else_tried.ok() && !chosen.value_or(false)) {
    return else_tried.status();
  }
  InferredBody then_body;
  InferredBody else_body;
  if (then_tried.ok() && chosen.value_or(true)) {
    then_body = std::move(*then_tried);
    adopt(context, "then_branch", then_body);
  }
  if (else_tried.ok() && !chosen.value_or(false)) {
    else_body = std::move(*else_tried);
    adopt(context, "else_branch", else_body);
  }
  if (chosen) {
    context.set_attribute(std::string(kBranch), int64_t{*chosen});
  }
  if ((!chosen || (assumed && !context.options().branch)) &&
      context.options().open_ifs != nullptr) {
    context.options().open_ifs->push_back(context.op().name);
  }
  for (size_t i = 0; i < context.output_count(); ++i) {
    if (chosen) {
      set_from_body(context, *chosen ? then_body : else_body, i, i);
      if (assumed) {
        context.mark_data_dependent(i);
      }
      continue;
    }
    const Tensor* a = then_body.output(i);
    const Tensor* b = else_body.output(i);
    if (a == nullptr || b == nullptr) {
      continue;
    }
    bool exact = false;
    Shape shape = larger_shape(a->shape, b->shape, &exact);
    context.set_output(i, a->dtype, std::move(shape));
    if (!exact) {
      context.mark_data_dependent(i);
    }
  }
  return ok_status();
}

Dim without_axis(const Shape& shape, int axis, Dims* rest) {
  *rest = shape.dims();
  const Dim removed = (*rest)[static_cast<size_t>(axis)];
  rest->erase(rest->begin() + axis);
  return removed;
}

int64_t axis_entry(const InferContext& context, std::string_view attribute, size_t i) {
  const auto* axes = context.attributes().get_ints(attribute);
  return axes != nullptr && i < axes->size() ? (*axes)[i] : 0;
}

// From opset 9 on: states, then scanned tensors, whose axis goes away inside. Opset 8 put sequence
// lengths in front, and batch and sequence axes on everything.
Status infer_scan(InferContext& context) {
  const bool batched = context.version() < 9;
  const size_t first = batched ? 1 : 0;
  const size_t operands = context.input_count() - context.op().capture_count;
  const int64_t scanned = context.attributes().int_or("num_scan_inputs", 0);
  if (scanned < 1 || static_cast<size_t>(scanned) > operands - std::min(operands, first)) {
    return context.error(fmt::format("num_scan_inputs is {}; expected 1 to {}", scanned,
                                     operands - std::min(operands, first)));
  }
  const size_t states = operands - first - static_cast<size_t>(scanned);
  std::vector<Formal> formals;
  Dim batch = batched ? Dim::unknown() : Dim(1);
  Dim length = Dim::unknown();
  for (size_t i = first; i < operands; ++i) {
    Formal formal = formal_of(context, i);
    formal.value = nullptr;
    Dims dims = formal.shape.dims();
    if (formal.shape.has_rank() && batched) {
      DFSIM_RETURN_IF_ERROR(context.axis(0, formal.shape.rank()).status());
      batch = without_axis(formal.shape, 0, &dims);
      formal.shape = Shape(dims);
    }
    if (formal.shape.has_rank() && i >= first + states) {
      const size_t index = i - first - states;
      const int64_t given = batched ? 0 : axis_entry(context, "scan_input_axes", index);
      DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(given, formal.shape.rank()));
      length = without_axis(formal.shape, axis, &dims);
      formal.shape = Shape(dims);
    }
    formals.push_back(std::move(formal));
  }
  DFSIM_ASSIGN_OR_RETURN(const InferredBody body, infer_body(context, "body", formals));
  const Count trips =
      Count(length.known() ? length.extent() : 1) * Count(batch.known() ? batch.extent() : 1);
  context.set_attribute(std::string(kTripsAttribute), trips.value());
  for (size_t i = 0; i < context.output_count(); ++i) {
    const Tensor* inner = body.output(i);
    if (inner == nullptr || !inner->shape.has_rank()) {
      continue;
    }
    Dims dims = inner->shape.dims();
    if (i >= states) {
      const int64_t given = batched ? 0 : axis_entry(context, "scan_output_axes", i - states);
      DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(given, inner->shape.rank() + 1));
      dims.insert(dims.begin() + axis, length);
    }
    if (batched) {
      dims.insert(dims.begin(), batch);
    }
    context.set_output(i, inner->dtype, Shape(std::move(dims)));
  }
  return ok_status();
}

void work_if(WorkContext& context) {
  const auto branch = costed_branch(context.op());
  if (!branch.ok()) {
    context.set_error(branch.status());
  } else if (!branch->empty()) {
    set_body_work(context, subgraph(context.op().attributes, *branch), 1);
  }
}

// clang-format off
constexpr OpDef kControlFlowOps[] = {
    {.op_type = "If", .op_class = OpClass::kControlFlow, .infer = infer_if, .work = work_if},
    {.op_type = "Scan", .op_class = OpClass::kControlFlow, .infer = infer_scan, .work = work_loop,
     .required_inputs = 0},  // opset 8 may leave the lengths out
};
// clang-format on

constexpr WorkNote kControlFlowNotes[] = {
    {work_if, "the branch that is taken, else the larger one"},
};

}  // namespace

StatusOr<std::string_view> costed_branch(const Op& op) {
  std::string_view best;
  std::pair<int64_t, int64_t> most;
  const auto chosen = op.attributes.get_int(kBranch);
  for (const std::string_view name : {"else_branch", "then_branch"}) {
    const GraphPtr* body = subgraph(op.attributes, name);
    const bool wanted = !chosen || (*chosen != 0) == (name == "then_branch");
    if (body == nullptr || !wanted) {
      continue;
    }
    DFSIM_ASSIGN_OR_RETURN(const BodyWork work, body_work(**body));
    const std::pair amount(work.flops.value(), work.bytes_read.value());
    if (best.empty() || amount > most) {
      best = name;
      most = amount;
    }
  }
  return best;
}

OpFamily control_flow_op_defs() { return {kControlFlowOps, kControlFlowNotes}; }

}  // namespace dfsim::inline graphs
