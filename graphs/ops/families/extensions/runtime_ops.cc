// Operators that fusion rules make and no file contains. Their shapes are set by the pass that
// makes them.
#include "graphs/ops/families/extensions/runtime_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

// x [..., K] times a weight [K, N], plus a bias [N].
Status infer_linear(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, context.shape(0), context.shape(1)));
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

void work_runtime_linear(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  context.add_macs(context.output(0).shape.elements() * Count(x[x.rank() - 1].extent()));
  add_bias(context, 2);
  context.set_matrix();
}

// Rows by all axes of x but the last, columns of the weight; the bias is added once.
void factors_linear(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int k = context.add("k", context.in_extent(0, rank - 1), Reduction::kSum);
  context.carry_in(0, rank - 1, k);
  context.carry_in(1, 0, k);
  for (int axis = 0; axis + 1 < rank; ++axis) {
    const int rows = context.add(fmt::format("rows{}", axis), context.in_extent(0, axis));
    context.carry_in(0, axis, rows);
    context.carry_out(0, axis, rows);
  }
  const int n = context.add("n", context.in_extent(1, 1));
  context.carry_in(1, 1, n);
  context.carry_out(0, rank - 1, n);
  if (context.has_input(2)) {
    context.carry_in(2, 0, n);
    context.map().addends.push_back(2);
  }
}

// A compiled kernel indexes its operands as it likes; the first axis of its results, the batch, is
// that of each operand that has as many elements along it.
void factors_compiled(FactorContext& context) {
  if (context.output(0).rank() == 0) {
    context.set_unsplittable("it has one result");
    return;
  }
  const int64_t extent = context.out_extent(0, 0);
  const int batch = context.add("batch", extent);
  bool found = false;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.has_input(i) && context.input(i).rank() > 1 && context.in_extent(i, 0) == extent) {
      context.carry_in(i, 0, batch);
      found = true;
    }
  }
  if (!found) {
    context.set_unsplittable("no operand has its first axis");
    return;
  }
  for (size_t i = 0; i < context.output_count(); ++i) {
    if (context.output(i).rank() > 0 && context.out_extent(i, 0) == extent) {
      context.carry_out(i, 0, batch);
    }
  }
  context.map().divided_attributes.emplace_back("flops", batch);
}

// The pass that fuses operators knows their shapes.
Status infer_nothing(InferContext& /*context*/) { return ok_status(); }

void work_compiled(WorkContext& context) {
  context.add_flops(Count(std::max<int64_t>(0, context.op().attributes.int_or("flops", 0))));
}

// clang-format off
constexpr OpDef kRuntimeOps[] = {
    {.op_type = "linear", .op_class = OpClass::kMatMul, .infer = infer_linear, .work = work_runtime_linear,
     .required_inputs = 2, .domain = kAten, .factors = factors_linear},
    {.op_type = "rsqrt", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .domain = kAten},
    {.op_type = "contiguous", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .work = work_copy, .domain = kAten, .factors = factors_first_only},
    {.op_type = "pointwise", .op_class = OpClass::kElementwise, .infer = infer_nothing,
     .work = work_compiled, .domain = kCompiled, .factors = factors_compiled},
    {.op_type = "reduction", .op_class = OpClass::kReduce, .infer = infer_nothing,
     .work = work_compiled, .domain = kCompiled, .factors = factors_compiled},
    {.op_type = "norm", .op_class = OpClass::kNorm, .infer = infer_nothing, .work = work_compiled,
     .domain = kCompiled, .factors = factors_compiled},
    {.op_type = "softmax", .op_class = OpClass::kSoftmax, .infer = infer_nothing,
     .work = work_compiled, .domain = kCompiled, .factors = factors_compiled},
};
// clang-format on

constexpr WorkNote kRuntimeNotes[] = {
    {work_runtime_linear,
     "MACs = output elements x contracted length; 1 per output element for a bias"},
    {work_compiled, "what the operators in it count; reads and writes what none of them makes"},
};

}  // namespace

OpFamily runtime_op_defs() { return {kRuntimeOps, kRuntimeNotes}; }

}  // namespace dfsim::inline graphs
