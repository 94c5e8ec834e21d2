// Control flow: If, Loop, Scan. One op with the work of its subgraphs: the chosen or larger branch
// once, a loop's body once per trip.
//
// A subgraph is inferred when its op is reached, with the shapes and values that flow into it, and
// put back in place of the one that the importer read. Each is inferred once, so that nesting costs
// no more than its nodes; hence a loop whose state grows from trip to trip has no static shape.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/op_def.h"

namespace dfsim {
namespace {

using GraphPtr = std::shared_ptr<const Graph>;

constexpr std::string_view kTrips = "dfsim.trips";    // of Loop and Scan
constexpr std::string_view kBranch = "dfsim.branch";  // of If, when it is known: 1 = then

// What a subgraph's input is fed with.
struct Formal {
  DType dtype = DType::kUnknown;
  Shape shape;
  const ConstValue* value = nullptr;
};

const GraphPtr* subgraph(const Attributes& attributes, std::string_view name) {
  const AttrValue* value = attributes.find(name);
  return value != nullptr ? std::get_if<GraphPtr>(value) : nullptr;
}

Formal formal_of(const InferContext& context, size_t input) {
  return {context.dtype(input), context.shape(input), context.value(input)};
}

void feed(GraphBuilder& body, TensorId id, const Formal& formal) {
  Tensor& tensor = body.tensor(id);
  tensor.dtype = formal.dtype != DType::kUnknown ? formal.dtype : tensor.dtype;
  if (formal.shape.has_rank()) {
    tensor.shape = formal.shape;
  }
  if (formal.value != nullptr) {
    body.set_constant(id, *formal.value);
  }
}

// Captured tensors are the last inputs of the op and of the subgraph; names join them.
void feed_captures(InferContext& context, GraphBuilder& body) {
  const Op& op = context.op();
  std::unordered_map<std::string_view, size_t> outer;
  for (size_t i = op.inputs.size() - op.capture_count; i < op.inputs.size(); ++i) {
    outer.emplace(context.input_tensor(i).name, i);
  }
  const auto& captures = body.info().captures;
  const size_t first = body.inputs().size() - captures.size();
  for (size_t i = 0; i < captures.size(); ++i) {
    const auto it = outer.find(captures[i]);
    if (it != outer.end()) {
      const TensorId inner = body.inputs()[first + i];
      feed(body, inner, formal_of(context, it->second));
      body.tensor(inner).role = context.input_tensor(it->second).role;
    }
  }
}

// Infers the subgraph of that attribute and puts the result in its place.
StatusOr<GraphPtr> infer_body(InferContext& context, std::string_view name,
                              const std::vector<Formal>& formals) {
  const GraphPtr* graph = subgraph(context.attributes(), name);
  if (graph == nullptr) {
    return context.error(fmt::format("has no subgraph '{}'", name));
  }
  GraphBuilder body(**graph);
  const size_t formal_count = body.inputs().size() - body.info().captures.size();
  for (size_t i = 0; i < std::min(formals.size(), formal_count); ++i) {
    feed(body, body.inputs()[i], formals[i]);
  }
  feed_captures(context, body);
  const auto unresolved = infer_shapes(body, context.options());
  if (!unresolved.ok()) {
    return unresolved.status().with_place(
        fmt::format("{} of {} '{}'", name, context.op().op_type, printable(context.op().name)));
  }
  if (context.options().on_unresolved_in_body) {
    for (const UnresolvedOp& op : *unresolved) {
      context.options().on_unresolved_in_body(context.op(), body.op(op.op), op.reason);
    }
  }
  DFSIM_ASSIGN_OR_RETURN(Graph built, body.build());
  auto shared = std::make_shared<const Graph>(std::move(built));
  context.set_attribute(std::string(name), shared);
  return GraphPtr(shared);
}

const Tensor* body_output(const Graph& body, size_t i) {
  return i < body.outputs().size() ? &body.tensor(body.outputs()[i]) : nullptr;
}

void set_from_body(InferContext& context, const Graph& body, size_t from, size_t to) {
  if (const Tensor* tensor = body_output(body, from)) {
    context.set_output(to, tensor->dtype, tensor->shape);
    if (const ConstValue* value = body.constant(body.outputs()[from])) {
      context.set_value(to, *value);
    }
  }
}

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

Status infer_if(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(const GraphPtr then_body, infer_body(context, "then_branch", {}));
  DFSIM_ASSIGN_OR_RETURN(const GraphPtr else_body, infer_body(context, "else_branch", {}));
  const ConstValue* condition = context.value(0);
  std::optional<bool> chosen = context.options().branch;
  if (condition != nullptr && condition->size() == 1) {
    chosen = condition->as_int(0) != 0;
  }
  if (chosen) {
    context.set_attribute(std::string(kBranch), int64_t{*chosen});
  } else if (context.options().open_ifs != nullptr) {
    context.options().open_ifs->push_back(context.op().name);
  }
  for (size_t i = 0; i < context.output_count(); ++i) {
    if (chosen) {
      set_from_body(context, *chosen ? *then_body : *else_body, i, i);
      continue;
    }
    const Tensor* a = body_output(*then_body, i);
    const Tensor* b = body_output(*else_body, i);
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

// How often the body runs: what the user says, else the first input when that is known (a condition
// may end the loop earlier; only the run can tell), else 1, of which the user is told.
int64_t loop_trips(const InferContext& context) {
  const InferOptions& options = context.options();
  if (const auto it = options.trip_counts.find(context.op().name);
      it != options.trip_counts.end()) {
    return it->second;
  }
  const ConstValue* limit = context.value(0);
  const ConstValue* condition = context.value(1);
  if (condition != nullptr && condition->size() == 1 && condition->as_int(0) == 0) {
    return 0;
  }
  if (limit != nullptr && limit->size() == 1 && limit->as_int(0) <= kMaxExtent) {
    return std::max<int64_t>(0, limit->as_int(0));  // "while" loops have an absurd limit instead
  }
  if (options.open_loops != nullptr) {
    options.open_loops->push_back(context.op().name);
  }
  return 1;
}

Status infer_loop(InferContext& context) {
  const size_t captures = context.op().capture_count;
  const size_t operands = context.input_count() - captures;
  const size_t carried = operands > 2 ? operands - 2 : 0;
  std::vector<Formal> formals = {{DType::kInt64, Shape::scalar(), nullptr},
                                 {DType::kBool, Shape::scalar(), nullptr}};
  for (size_t i = 0; i < carried; ++i) {
    Formal formal = formal_of(context, i + 2);
    formal.value = nullptr;  // another one in the next trip
    formals.push_back(std::move(formal));
  }
  DFSIM_ASSIGN_OR_RETURN(const GraphPtr body, infer_body(context, "body", formals));
  const int64_t trips = loop_trips(context);
  context.set_attribute(std::string(kTrips), trips);
  for (size_t i = 0; i < context.output_count(); ++i) {
    const Tensor* last = body_output(*body, i + 1);  // output 0 is the condition
    if (last == nullptr) {
      continue;
    }
    Dims dims = last->shape.dims();
    if (i >= carried) {
      dims.insert(dims.begin(), Dim(trips));
    } else if (trips == 0) {
      dims = context.shape(i + 2).dims();
    } else if (const Shape& first = context.shape(i + 2);
               trips > 1 && first.rank() == last->shape.rank()) {
      for (size_t d = 0; d < dims.size(); ++d) {
        dims[d] = dims[d] == first[static_cast<int>(d)] ? dims[d] : Dim::unknown();
      }
    }
    context.set_output(i, last->dtype, last->shape.has_rank() ? Shape(std::move(dims)) : Shape());
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
  DFSIM_ASSIGN_OR_RETURN(const GraphPtr body, infer_body(context, "body", formals));
  const Count trips =
      Count(length.known() ? length.extent() : 1) * Count(batch.known() ? batch.extent() : 1);
  context.set_attribute(std::string(kTrips), trips.value());
  for (size_t i = 0; i < context.output_count(); ++i) {
    const Tensor* inner = body_output(*body, i);
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

// The sum over ops whose results are not known ahead; dtype and matrix use of the largest one.
StatusOr<BodyWork> body_work(const Graph& body) {
  BodyWork sum;
  int64_t largest = -1;
  for (size_t i = 0; i < body.op_count(); ++i) {
    const Op& op = body.op(OpId(i));
    const bool known = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      return !id.valid() || body.constant(id) != nullptr;
    });
    if (known) {
      continue;
    }
    DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(body, OpId(i)));
    sum.macs += Count(work.macs);
    sum.flops += Count(work.flops);
    sum.bytes_read += Count(work.bytes_read);
    sum.bytes_written += Count(work.bytes_written);
    sum.weight_bytes += Count(work.weight_bytes);
    if (work.flops > largest) {
      largest = work.flops;
      sum.dtype = work.dtype;
      sum.matrix = work.matrix;
    }
  }
  return sum;
}

void work_if(WorkContext& context) {
  std::vector<BodyWork> branches;
  const auto chosen = context.op().attributes.get_int(kBranch);
  for (const std::string_view name : {"else_branch", "then_branch"}) {
    const GraphPtr* body = subgraph(context.op().attributes, name);
    const bool wanted = !chosen || (*chosen != 0) == (name == "then_branch");
    if (body == nullptr || !wanted) {
      continue;
    }
    auto work = body_work(**body);
    if (!work.ok()) {
      context.set_error(work.status());
      return;
    }
    branches.push_back(*work);
  }
  const auto larger =
      std::max_element(branches.begin(), branches.end(), [](const BodyWork& a, const BodyWork& b) {
        return std::pair(a.flops.value(), a.bytes_read.value()) <
               std::pair(b.flops.value(), b.bytes_read.value());
      });
  if (larger != branches.end()) {
    context.set_body(*larger, 1);
  }
}

void work_loop(WorkContext& context) {
  const GraphPtr* body = subgraph(context.op().attributes, "body");
  if (body == nullptr) {
    return;
  }
  const auto work = body_work(**body);
  if (!work.ok()) {
    context.set_error(work.status());
    return;
  }
  context.set_body(*work, context.op().attributes.int_or(kTrips, 1));
}

constexpr OpClass kC = OpClass::kControlFlow;

constexpr OpDef kOps[] = {
    {"If", kC, infer_if, work_if},
    {"Loop", kC, infer_loop, work_loop, nullptr, 0, 0},
    {"Scan", kC, infer_scan, work_loop, nullptr, 0, 0},  // opset 8 may leave the lengths out
};

}  // namespace

std::span<const OpDef> control_flow_op_defs() { return kOps; }

}  // namespace dfsim
