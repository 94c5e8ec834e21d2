// MatMul and the sum with a bias become Gemm, with reshapes round it where it isn't a matrix.
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// Gemm broadcasts its third operand [N], and against a matrix also [1, N], [M, 1] and [M, N].
bool fits(const Shape& bias, const Shape& a, int64_t columns) {
  if (bias.rank() == 1) {
    return bias[0].extent() == columns;
  }
  if (bias.rank() != 2 || a.rank() != 2) {
    return false;
  }
  const bool wide = bias[1].extent() == columns;
  return (bias[0].extent() == 1 && wide) ||
         (bias[0].extent() == a[0].extent() && (wide || bias[1].extent() == 1));
}

TensorId add_reshape(EditableGraph& graph, const Op& origin, TensorId in, TensorId out,
                     const std::vector<int64_t>& extents) {
  Op reshape;
  reshape.op_type = "Reshape";
  reshape.name = origin.name + "/reshape";
  reshape.version = origin.version;
  reshape.inputs = {in, graph.add_ints(origin.name + "/shape", extents)};
  reshape.outputs = {out};
  set_origins(&reshape, {{origin.op_type, origin.name}});
  graph.add_op(std::move(reshape));
  return out;
}

void fuse_pair(EditableGraph& graph, OpId matmul_id, OpId add_id, size_t bias) {
  const Op matmul = graph.op(matmul_id);
  const Op add = graph.op(add_id);
  const Tensor a = graph.tensor(matmul.inputs[0]);
  const int64_t columns = graph.shape(matmul.inputs[1])[1].extent();
  Op gemm;
  gemm.op_type = "Gemm";
  gemm.inputs = {matmul.inputs[0], matmul.inputs[1], add.inputs[bias]};
  gemm.outputs = {add.outputs[0]};
  gemm.attributes.set("alpha", 1.0);
  gemm.attributes.set("beta", 1.0);
  gemm.attributes.set("transA", int64_t{0});
  gemm.attributes.set("transB", int64_t{0});
  if (a.shape.rank() == 2) {
    graph.fuse({matmul_id, add_id}, std::move(gemm));
    return;
  }
  std::vector<int64_t> extents = a.shape.extents();
  const int64_t depth = extents.back();
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < extents.size(); ++i) {
    rows *= extents[i];
  }
  extents.back() = columns;
  gemm.inputs[0] = graph.add_tensor(matmul.name + "/rows", a.dtype, Shape({Dim(rows), Dim(depth)}));
  gemm.outputs[0] =
      graph.add_tensor(matmul.name + "/product", a.dtype, Shape({Dim(rows), Dim(columns)}));
  const TensorId product = gemm.outputs[0];
  const TensorId matrix = gemm.inputs[0];
  graph.fuse({matmul_id, add_id}, std::move(gemm));
  add_reshape(graph, matmul, matmul.inputs[0], matrix, {rows, depth});
  add_reshape(graph, matmul, product, add.outputs[0], extents);
}

}  // namespace

void fuse_matmul_add(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& matmul = graph.op(id);
    if (matmul.op_type != "MatMul" || !matmul.domain.empty()) {
      continue;
    }
    const OpId next = graph.sole_reader(matmul.outputs[0]);
    const Shape& a = graph.shape(matmul.inputs[0]);
    const Shape& b = graph.shape(matmul.inputs[1]);
    if (!next.valid() || graph.op(next).op_type != "Add" || !a.is_static() || !b.is_static() ||
        a.rank() < 1 || b.rank() != 2 || !graph.rank_known(matmul.inputs[0]) ||
        (a.rank() != 2 && !graph.shape_known(matmul.inputs[0])) ||
        !is_float(graph.tensor(matmul.inputs[0]).dtype)) {
      continue;
    }
    const size_t bias = graph.op(next).inputs[0] == matmul.outputs[0] ? 1 : 0;
    const Shape& bias_shape = graph.shape(graph.op(next).inputs[bias]);
    if (bias_shape.is_static() && fits(bias_shape, a, b[1].extent())) {
      fuse_pair(graph, id, next, bias);
    }
  }
}

}  // namespace dfsim::inline graphs
