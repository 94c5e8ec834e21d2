// Matrix products: MatMul, Gemm and their integer forms (einsum.cc has Einsum).
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {

StatusOr<Shape> matmul_shape(const InferContext& context, const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank()) {
    return Shape();
  }
  if (a.rank() == 0 || b.rank() == 0) {
    return context.error("an operand is a scalar; expected rank 1 or more");
  }
  const Dim ka = a[a.rank() - 1];
  const Dim kb = b[b.rank() == 1 ? 0 : b.rank() - 2];
  if (ka.known() && kb.known() && ka != kb) {
    return context.error(fmt::format("shapes {} and {} do not match: {} columns meet {} rows",
                                     format_shape(a), format_shape(b), ka.extent(), kb.extent()));
  }
  const auto batch_of = [](const Shape& shape) {
    Dims dims = shape.dims();
    dims.resize(static_cast<size_t>(std::max(0, shape.rank() - 2)));
    return Shape(std::move(dims));
  };
  std::string conflict;
  const Shape batch = broadcast_shapes(batch_of(a), batch_of(b), &conflict);
  if (!conflict.empty()) {
    return context.error(conflict);
  }
  Dims dims = batch.dims();
  if (a.rank() > 1) {
    dims.push_back(a[a.rank() - 2]);
  }
  if (b.rank() > 1) {
    dims.push_back(b[b.rank() - 1]);
  }
  return Shape(std::move(dims));
}

namespace {

Status infer_matmul_at(InferContext& context, size_t a, size_t b, DType dtype) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, context.shape(a), context.shape(b)));
  if (shape.has_rank()) {
    context.set_output(0, dtype, std::move(shape));
  }
  return ok_status();
}

Status infer_matmul(InferContext& context) {
  return infer_matmul_at(context, 0, 1, context.dtype(0));
}
Status infer_matmul_integer(InferContext& context) {
  return infer_matmul_at(context, 0, 1, DType::kInt32);
}
Status infer_qlinear_matmul(InferContext& context) {
  // a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
  return infer_matmul_at(context, 0, 3, context.dtype(7));
}

Status infer_gemm(InferContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  if (!a.has_rank() || !b.has_rank()) {
    return ok_status();
  }
  if (a.rank() != 2 || b.rank() != 2) {
    return context.error(
        fmt::format("shapes {} and {}: expected two matrices", format_shape(a), format_shape(b)));
  }
  const bool trans_a = context.attributes().int_or("transA", 0) != 0;
  const bool trans_b = context.attributes().int_or("transB", 0) != 0;
  const Dim ka = a[trans_a ? 0 : 1];
  const Dim kb = b[trans_b ? 1 : 0];
  if (ka.known() && kb.known() && ka != kb) {
    return context.error(fmt::format("shapes {} and {} do not match: {} meets {}", format_shape(a),
                                     format_shape(b), ka.extent(), kb.extent()));
  }
  context.set_output(0, context.dtype(0), Shape({a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]}));
  return ok_status();
}

// MACs = elements of the output x length of the contracted dimension.
void matmul_macs(WorkContext& context, Dim contracted) {
  context.add_macs(context.output(0).shape.elements() * Count(contracted.extent()));
  context.set_matrix();
}

void work_matmul(WorkContext& context) {
  const Shape& a = context.input(0).shape;
  matmul_macs(context, a[a.rank() - 1]);
}

void work_matmul_integer(WorkContext& context) {
  work_matmul(context);
  context.set_dtype(DType::kInt8);
}

void work_qlinear_matmul(WorkContext& context) {
  work_matmul_integer(context);
  context.add_flops(context.output(0).shape.elements(), 2);  // requantise: scale and round
}

void work_gemm(WorkContext& context) {
  const bool trans_a = context.op().attributes.int_or("transA", 0) != 0;
  matmul_macs(context, context.input(0).shape[trans_a ? 0 : 1]);
  if (context.has_input(2)) {
    context.add_flops(context.output(0).shape.elements());
  }
}

// clang-format off
constexpr OpDef kMatmulOps[] = {
    {.op_type = "MatMul", .op_class = OpClass::kMatMul, .infer = infer_matmul, .work = work_matmul,
     .fold = fold_matmul, .required_inputs = 2, .factors = factors_matmul},
    {.op_type = "Gemm", .op_class = OpClass::kMatMul, .infer = infer_gemm, .work = work_gemm,
     .fold = fold_gemm, .required_inputs = 2, .factors = factors_gemm},
    {.op_type = "MatMulInteger", .op_class = OpClass::kMatMul, .infer = infer_matmul_integer,
     .work = work_matmul_integer, .fold = fold_matmul_integer, .required_inputs = 2, .factors = factors_matmul_integer},
    {.op_type = "QLinearMatMul", .op_class = OpClass::kMatMul, .infer = infer_qlinear_matmul,
     .work = work_qlinear_matmul, .fold = fold_qlinear_matmul, .required_inputs = 8, .factors = factors_matmul_integer},
};
// clang-format on

constexpr WorkNote kMatmulNotes[] = {
    {work_matmul, "MACs = output elements x contracted length"},
    {work_matmul_integer, "as MatMul, on 8-bit integers"},
    {work_qlinear_matmul, "as MatMul on 8-bit integers; 2 per output element to requantise"},
    {work_gemm, "MACs = output elements x contracted length; 1 per output element with C"},
};

}  // namespace

OpFamily matmul_op_defs() { return {kMatmulOps, kMatmulNotes}; }

}  // namespace dfsim::inline graphs
