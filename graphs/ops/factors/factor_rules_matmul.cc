// Factor rules of matrix products, Einsum apart (matmul.cc).
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"

namespace dfsim::inline graphs {
namespace {

// numpy's matmul of operands a and b: batch axes, m, n and k. With Reduction::kNone k stays whole.
// The last two axes of a transposed operand have changed places.
struct Product {
  int m = FactorDim::kWhole;
  int n = FactorDim::kWhole;
};

Product add_matmul(FactorContext& context, size_t a, size_t b, Reduction over_k,
                   bool trans_a = false, bool trans_b = false) {
  const int rank_a = context.input(a).rank();
  const int rank_b = context.input(b).rank();
  const int rank = context.output(0).rank();
  Product product;
  const int m_a = rank_a - (trans_a ? 1 : 2);
  const int k_a = rank_a > 1 ? rank_a - (trans_a ? 2 : 1) : 0;
  const int n_b = rank_b - (trans_b ? 2 : 1);
  const int k_b = rank_b > 1 ? rank_b - (trans_b ? 1 : 2) : 0;
  if (over_k != Reduction::kNone) {
    const int k = context.add("k", context.in_extent(a, k_a), over_k);
    context.carry_in(a, k_a, k);
    context.carry_in(b, k_b, k);
  }
  if (rank_a > 1) {
    product.m = context.add("m", context.in_extent(a, m_a));
    context.carry_in(a, m_a, product.m);
    context.carry_out(0, rank - (rank_b > 1 ? 2 : 1), product.m);
  }
  if (rank_b > 1) {
    product.n = context.add("n", context.in_extent(b, n_b));
    context.carry_in(b, n_b, product.n);
    context.carry_out(0, rank - 1, product.n);
  }
  const int batch = rank - (rank_a > 1 ? 1 : 0) - (rank_b > 1 ? 1 : 0);
  for (int axis = 0; axis < batch; ++axis) {
    const int factor = context.add(fmt::format("batch{}", axis), context.out_extent(0, axis));
    context.carry_out(0, axis, factor);
    for (const size_t operand : {a, b}) {
      const int own = std::max(0, context.input(operand).rank() - 2);
      const int dim = axis - (batch - own);
      if (dim >= 0 && context.in_extent(operand, dim) != 1) {
        context.carry_in(operand, dim, factor);
      }
    }
  }
  return product;
}

}  // namespace

void factors_matmul(FactorContext& context) { add_matmul(context, 0, 1, Reduction::kSum); }

void factors_matmul_integer(FactorContext& context) {
  // Scales and zero points of rows or columns; the quantised output is rounded after the sum.
  const bool quantised = context.op().op_type == "QLinearMatMul";
  const Product product =
      add_matmul(context, 0, quantised ? 3 : 1, quantised ? Reduction::kNone : Reduction::kSum);
  const auto carry_vector = [&context](size_t input, int factor) {
    if (context.input(input).rank() == 1 && context.in_extent(input, 0) != 1) {
      context.carry_in(input, 0, factor);
    }
  };
  if (quantised) {
    carry_vector(1, product.m);
    carry_vector(2, product.m);
    carry_vector(4, product.n);
    carry_vector(5, product.n);
  } else {
    carry_vector(2, product.m);
    carry_vector(3, product.n);
  }
}

// A [..., K] times B [N, blocks of K, bytes of a block], scales and zero points by N and block.
void factors_packed_matmul(FactorContext& context) {
  const int rank = context.input(0).rank();
  const int64_t columns = context.in_extent(1, 0);
  const int64_t blocks = context.in_extent(1, 1);
  const int64_t length = context.in_extent(0, rank - 1);
  if (rank < 1 || context.input(1).rank() != 3 || blocks < 1 || length % blocks != 0) {
    context.set_unsplittable("its last block of weights is not full");
    return;
  }
  const int k = context.add("k", blocks, Reduction::kSum);
  const int n = context.add("n", columns);
  context.carry_in(0, rank - 1, k, length / blocks);
  context.carry_in(1, 0, n);
  context.carry_in(1, 1, k);
  for (const size_t input : {2, 3}) {  // scales, zero points
    if (context.input(input).rank() == 2 && context.in_extent(input, 1) == blocks) {
      context.carry_in(input, 0, n);
      context.carry_in(input, 1, k);
    }
  }
  context.carry_in(5, 0, n);
  context.carry_out(0, rank - 1, n);
  for (int axis = 0; axis + 1 < rank; ++axis) {
    const int rows = context.add(axis + 2 == rank ? "m" : fmt::format("batch{}", axis),
                                 context.in_extent(0, axis));
    context.carry_in(0, axis, rows);
    context.carry_out(0, axis, rows);
  }
  if (context.has_input(5)) {
    context.map().addends.push_back(5);
  }
  if (k != FactorDim::kWhole) {
    context.map().divided_attributes.emplace_back("K", k);
  }
  if (n != FactorDim::kWhole) {
    context.map().divided_attributes.emplace_back("N", n);
  }
}

void factors_gemm(FactorContext& context) {
  const bool quantised = context.op().op_type == "QGemm";
  const size_t weight = quantised ? 3 : 1;
  const size_t bias = quantised ? 6 : 2;
  const bool trans_a = context.attributes().int_or("transA", 0) != 0;
  const bool trans_b = context.attributes().int_or("transB", 0) != 0;
  const int m = context.add("m", context.out_extent(0, 0));
  const int n = context.add("n", context.out_extent(0, 1));
  context.carry_in(0, trans_a ? 1 : 0, m);
  context.carry_in(weight, trans_b ? 0 : 1, n);
  // Others round or activate the sum, not its parts.
  if (!quantised && context.attributes().string_or("activation", "").empty()) {
    const int k = context.add("k", context.in_extent(0, trans_a ? 0 : 1), Reduction::kSum);
    context.carry_in(0, trans_a ? 0 : 1, k);
    context.carry_in(1, trans_b ? 1 : 0, k);
    if (context.has_input(2)) {
      context.map().addends.push_back(2);
    }
  }
  for (const size_t of_columns : {size_t{4}, size_t{5}}) {  // scales, zero points
    if (quantised && context.input(of_columns).rank() == 1 &&
        context.in_extent(of_columns, 0) != 1) {
      context.carry_in(of_columns, 0, n);
    }
  }
  context.carry_broadcast(bias, {m, n}, 1);
  context.carry_out(0, 0, m);
  context.carry_out(0, 1, n);
}

// ONNX Runtime's FusedMatMul: numpy's matmul of operands that may be transposed, times a number.
void factors_fused_matmul(FactorContext& context) {
  const Attributes& given = context.attributes();
  if (given.int_or("transBatchA", 0) != 0 || given.int_or("transBatchB", 0) != 0) {
    context.set_unsplittable("its batch is inside its matrices");
    return;
  }
  add_matmul(context, 0, 1, Reduction::kSum, given.int_or("transA", 0) != 0,
             given.int_or("transB", 0) != 0);
}

// a, b, their scales, their zero points, a bias: integer products whose sum becomes a float.
void factors_matmul_to_float(FactorContext& context) {
  const Product product = add_matmul(context, 0, 1, Reduction::kNone);
  for (const size_t of_columns : {size_t{3}, size_t{5}, size_t{6}}) {
    if (context.input(of_columns).rank() == 1 && context.in_extent(of_columns, 0) != 1) {
      context.carry_in(of_columns, 0, product.n);
    }
  }
}

// a, b, scales of b, zero points of b, a bias. The range of all of `a` decides how it is quantised:
// devices with some of its rows would choose ranges of their own.
void factors_dynamic_matmul(FactorContext& context) {
  if (context.input(1).rank() != 2) {
    context.set_unsplittable("its weight is not a matrix");
    return;
  }
  const int rank = context.output(0).rank();
  const int n = context.add("n", context.in_extent(1, 1));
  context.carry_in(1, 1, n);
  for (const size_t of_columns : {size_t{2}, size_t{3}, size_t{4}}) {
    if (context.input(of_columns).rank() == 1 && context.in_extent(of_columns, 0) != 1) {
      context.carry_in(of_columns, 0, n);
    }
  }
  context.carry_out(0, rank - 1, n);
}

}  // namespace dfsim::inline graphs
