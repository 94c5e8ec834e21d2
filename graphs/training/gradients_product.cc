// Gradients of products: for Y = A B they are dY B^T and A^T dY.
#include <numeric>

#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/training/gradient_context.h"

namespace dfsim::inline graphs {
namespace {

std::vector<int64_t> swap_last_axes(int rank) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

// All axes but the last in one.
Shape as_matrix(const Shape& shape) {
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
    rows *= shape[axis].extent();
  }
  return Shape({Dim(rows), shape[shape.rank() - 1]});
}

Shape product_shape(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  Dims dims = longer.dims();
  for (size_t i = 0; i + 2 < dims.size(); ++i) {
    const auto own = [&](const Shape& shape) {
      const int at = static_cast<int>(i) - (longer.rank() - shape.rank());
      return at < 0 ? Dim(1) : shape[at];
    };
    dims[i] = own(a) == Dim(1) ? own(b) : own(a);
  }
  dims[dims.size() - 2] = a[a.rank() - 2];
  dims[dims.size() - 1] = b[b.rank() - 1];
  return Shape(std::move(dims));
}

TensorId product(GradientContext& context, TensorId a, TensorId b) {
  return context.emit("", "MatMul", {a, b},
                      product_shape(context.shape_of(a), context.shape_of(b)));
}

// Of a weight [K, N] that rows of x meet.
TensorId weight_gradient(GradientContext& context, size_t x, const Shape& weight) {
  const TensorId rows = context.reshape(context.value(x), as_matrix(context.shape(x)));
  const Shape& gradient = context.shape_of(context.gradient());
  const TensorId columns = context.reshape(context.gradient(), as_matrix(gradient));
  return context.emit("", "Gemm", {rows, columns}, weight, {{"transA", int64_t{1}}});
}

void gradient_of_matmul(GradientContext& context) {
  const Shape a = context.shape(0);
  const Shape b = context.shape(1);
  if (a.rank() < 2 || b.rank() < 2) {
    gradient_by_backward(context);
    return;
  }
  if (context.wanted(0)) {
    const TensorId turned = context.transpose(context.value(1), swap_last_axes(b.rank()), true);
    context.set(0, context.sum_to(product(context, context.gradient(), turned), a));
  }
  if (!context.wanted(1)) {
    return;
  }
  if (b.rank() == 2) {
    context.set(1, weight_gradient(context, 0, b));
    return;
  }
  const TensorId turned = context.transpose(context.value(0), swap_last_axes(a.rank()), true);
  context.set(1, context.sum_to(product(context, turned, context.gradient()), b));
}

std::vector<int64_t> all_but_last(const Shape& shape) {
  std::vector<int64_t> axes(static_cast<size_t>(shape.rank() - 1));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// x, weight, bias.
void gradient_of_linear(GradientContext& context) {
  if (context.wanted(0)) {
    const TensorId turned = context.transpose(context.value(1), {1, 0}, true);
    context.set(0, product(context, context.gradient(), turned));
  }
  if (context.wanted(1)) {
    context.set(1, weight_gradient(context, 0, context.shape(1)));
  }
  if (context.wanted(2)) {
    const TensorId gradient = context.gradient();
    context.set(2, context.sum_over(gradient, all_but_last(context.shape_of(gradient)), false));
  }
}

void gradient_of_gemm(GradientContext& context) {
  const int64_t trans_a = context.attributes().int_or("transA", 0) != 0 ? 1 : 0;
  const int64_t trans_b = context.attributes().int_or("transB", 0) != 0 ? 1 : 0;
  const TensorId gradient = context.gradient();
  const auto gemm = [&](TensorId a, int64_t turn_a, TensorId b, int64_t turn_b,
                        const Shape& shape) {
    AttributeList attributes = {{"transA", turn_a}, {"transB", turn_b}};
    if (const auto alpha = context.attributes().get_float("alpha")) {
      attributes.emplace_back("alpha", *alpha);
    }
    return context.emit("", "Gemm", {a, b}, shape, std::move(attributes));
  };
  if (context.wanted(0)) {
    const TensorId b = context.value(1);
    context.set(0, trans_a != 0 ? gemm(b, trans_b, gradient, 1, context.shape(0))
                                : gemm(gradient, 0, b, 1 - trans_b, context.shape(0)));
  }
  if (context.wanted(1)) {
    const TensorId a = context.value(0);
    context.set(1, trans_b != 0 ? gemm(gradient, 1, a, trans_a, context.shape(1))
                                : gemm(a, 1 - trans_a, gradient, 0, context.shape(1)));
  }
  if (context.wanted(2)) {
    context.set(2, context.sum_to(gradient, context.shape(2)));
  }
}

// Queries, keys, values as heads of rank 4; otherwise in general.
void gradient_of_attention(GradientContext& context) {
  const bool heads = context.input_count() >= 3 && context.has_input(2) &&
                     context.shape(0).rank() == 4 && context.shape(1).rank() == 4 &&
                     context.shape(2).rank() == 4;
  if (!heads) {
    gradient_by_backward(context);
    return;
  }
  std::vector<TensorId> inputs = {context.gradient(), context.value(0), context.value(1),
                                  context.value(2), context.result()};
  if (context.has_input(3)) {
    inputs.push_back(context.value(3));
  }
  const auto results = context.emit_many(kTrainingDomain, "AttentionGrad", std::move(inputs),
                                         {context.shape(0), context.shape(1), context.shape(2)});
  for (size_t i = 0; i < 3; ++i) {
    context.set(i, results[i]);
  }
}

}  // namespace

std::vector<GradientEntry> product_gradients() {
  return {{"MatMul", gradient_of_matmul},
          {"linear", gradient_of_linear, kAten},
          {"Gemm", gradient_of_gemm},
          {"Attention", gradient_of_attention}};
}

}  // namespace dfsim::inline graphs
