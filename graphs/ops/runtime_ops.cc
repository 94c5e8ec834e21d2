#include "graphs/ops/runtime_ops.h"

#include <algorithm>

#include "graphs/ops/rules.h"

namespace dfsim {
namespace {

// x [..., K] times a weight [K, N], plus a bias [N].
Status infer_linear(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, context.shape(0), context.shape(1)));
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

void work_linear(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  context.add_macs(context.output(0).shape.elements() * Count(x[x.rank() - 1].extent()));
  add_bias(context, 2);
  context.set_matrix();
}

// Whoever fuses operators knows their shapes.
Status infer_nothing(InferContext& /*context*/) { return ok_status(); }

void work_compiled(WorkContext& context) {
  context.add_flops(Count(std::max<int64_t>(0, context.op().attributes.int_or("flops", 0))));
}

constexpr OpDef kOps[] = {
    {"linear", OpClass::kMatMul, infer_linear, work_linear, nullptr, 0, 2, kAten},
    {"rsqrt", OpClass::kElementwise, infer_same_as_first, work_per_element, nullptr, 2, 1, kAten},
    {"pointwise", OpClass::kElementwise, infer_nothing, work_compiled, nullptr, 0, 1, kCompiled},
    {"reduction", OpClass::kReduce, infer_nothing, work_compiled, nullptr, 0, 1, kCompiled},
    {"norm", OpClass::kNorm, infer_nothing, work_compiled, nullptr, 0, 1, kCompiled},
    {"softmax", OpClass::kSoftmax, infer_nothing, work_compiled, nullptr, 0, 1, kCompiled},
};

constexpr WorkNote kNotes[] = {
    {work_linear, "MACs = output elements x contracted length; 1 per output element for a bias"},
    {work_compiled, "what the operators in it count; reads and writes what none of them makes"},
};

}  // namespace

OpFamily runtime_op_defs() { return {kOps, kNotes}; }

}  // namespace dfsim
