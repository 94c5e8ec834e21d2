// Matrix products of small constants (Einsum is in families/math/einsum.cc, next to its equation).
#include <algorithm>
#include <cmath>

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// Products of more elements than this are trained weights, not shape arithmetic.
constexpr int64_t kMaxProducts = int64_t{1} << 20;

// a x b with numpy's rules. `zero_a` and `zero_b` are subtracted from the elements of each row of
// a and each column of b.
struct FoldedProduct {
  Extents extents;
  std::vector<double> sums;
  std::vector<int64_t> whole;  // the same for integers
  bool fits = true;
};

std::optional<FoldedProduct> multiply(const ConstValue& a, const ConstValue& b, const Extents& out,
                                      const std::vector<int64_t>& zero_a,
                                      const std::vector<int64_t>& zero_b) {
  if (a.extents.empty() || b.extents.empty() || !has_arithmetic(a.dtype) ||
      !has_arithmetic(b.dtype)) {
    return std::nullopt;
  }
  Extents ea = a.extents;
  Extents eb = b.extents;
  Extents eo = out;
  if (ea.size() == 1) {
    ea.insert(ea.begin(), 1);
    eo.insert(eo.end() - (b.extents.size() > 1 ? 1 : 0), 1);
  }
  if (eb.size() == 1) {
    eb.push_back(1);
    eo.push_back(1);
  }
  const int64_t rows = ea[ea.size() - 2];
  const int64_t length = ea.back();
  const int64_t columns = eb.back();
  if (eb[eb.size() - 2] != length || eo.size() < 2 || small_product(eo) > kMaxConstElements ||
      small_product(eo) * length > kMaxProducts) {
    return std::nullopt;
  }
  const Extents batch(eo.begin(), eo.end() - 2);
  const auto pa = broadcast_positions(Extents(ea.begin(), ea.end() - 2), batch);
  const auto pb = broadcast_positions(Extents(eb.begin(), eb.end() - 2), batch);
  const bool floating = is_floating(a.dtype);
  const auto zero = [](const std::vector<int64_t>& zeros, int64_t i) {
    return zeros.empty() ? int64_t{0} : zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(i)];
  };
  FoldedProduct product{out, {}, {}, true};
  for (size_t n = 0; n < pa.size(); ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        int64_t whole = 0;
        for (int64_t k = 0; k < length; ++k) {
          const auto at_a = static_cast<size_t>((pa[n] * rows + i) * length + k);
          const auto at_b = static_cast<size_t>((pb[n] * length + k) * columns + j);
          if (floating) {
            sum += a.floats[at_a] * b.as_double(at_b);
            continue;
          }
          int64_t term = 0;
          product.fits = product.fits &&
                         !__builtin_mul_overflow(a.as_int(at_a) - zero(zero_a, i),
                                                 b.as_int(at_b) - zero(zero_b, j), &term) &&
                         !__builtin_add_overflow(whole, term, &whole);
        }
        product.sums.push_back(sum);
        product.whole.push_back(whole);
      }
    }
  }
  return product;
}

void set_product(InferContext& context, const FoldedProduct& product, DType dtype) {
  ConstValue out = empty_value(dtype, product.extents);
  for (size_t i = 0; i < product.sums.size(); ++i) {
    if (is_floating(dtype)) {
      append_double(&out, product.sums[i]);
    } else {
      append_int(&out, product.whole[i]);
    }
  }
  if (product.fits) {
    context.set_value(0, std::move(out));
  }
}

// The zero points of an optional operand; std::nullopt when they are not a scalar or a list.
std::optional<std::vector<int64_t>> zero_points(const InferContext& context, size_t input) {
  if (!context.has_input(input)) {
    return std::vector<int64_t>{};
  }
  const ConstValue* value = context.value(input);
  return value != nullptr && value->extents.size() <= 1 ? context.ints(input) : std::nullopt;
}

ConstValue transposed(const ConstValue& a) {
  ConstValue out = empty_value(a.dtype, {a.extents[1], a.extents[0]});
  for (int64_t j = 0; j < a.extents[1]; ++j) {
    for (int64_t i = 0; i < a.extents[0]; ++i) {
      append_element_of(a, i * a.extents[1] + j, &out);
    }
  }
  return out;
}

}  // namespace

void fold_matmul(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const ConstValue* a = context.value(0);
  const ConstValue* b = context.value(1);
  if (extents && a != nullptr && b != nullptr) {
    if (const auto product = multiply(*a, *b, *extents, {}, {})) {
      set_product(context, *product, a->dtype);
    }
  }
}

void fold_gemm(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const ConstValue* a = context.value(0);
  const ConstValue* b = context.value(1);
  const ConstValue* c = context.value(2);
  if (!extents || a == nullptr || b == nullptr || !is_floating(a->dtype)) {
    return;
  }
  const bool trans_a = context.attributes().int_or("transA", 0) != 0;
  const bool trans_b = context.attributes().int_or("transB", 0) != 0;
  auto product =
      multiply(trans_a ? transposed(*a) : *a, trans_b ? transposed(*b) : *b, *extents, {}, {});
  if (!product) {
    return;
  }
  const double alpha = context.attributes().get_float("alpha").value_or(1);
  const double beta = context.attributes().get_float("beta").value_or(1);
  const auto positions =
      c != nullptr ? broadcast_positions(c->extents, *extents) : std::vector<int64_t>{};
  for (size_t i = 0; i < product->sums.size(); ++i) {
    product->sums[i] *= alpha;
    if (c != nullptr) {
      product->sums[i] += beta * c->as_double(static_cast<size_t>(positions[i]));
    }
  }
  set_product(context, *product, a->dtype);
}

void fold_matmul_integer(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const ConstValue* a = context.value(0);
  const ConstValue* b = context.value(1);
  const auto zero_a = zero_points(context, 2);
  const auto zero_b = zero_points(context, 3);
  if (extents && a != nullptr && b != nullptr && zero_a && zero_b) {
    if (const auto product = multiply(*a, *b, *extents, *zero_a, *zero_b)) {
      set_product(context, *product, DType::kInt32);
    }
  }
}

// (a - za)(b - zb) x sa sb / sy + zy, rounded to even and saturated; scalar scales of a and y.
void fold_qlinear_matmul(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const ConstValue* a = context.value(0);
  const ConstValue* b = context.value(3);
  const auto zero_a = zero_points(context, 2);
  const auto zero_b = zero_points(context, 5);
  const ConstValue* scale_a = context.value(1);
  const ConstValue* scale_b = context.value(4);
  const ConstValue* scale_y = context.value(6);
  const ConstValue* zero_y = context.value(7);
  if (!extents || a == nullptr || b == nullptr || !zero_a || !zero_b || scale_a == nullptr ||
      scale_b == nullptr || scale_y == nullptr || zero_y == nullptr || scale_a->size() != 1 ||
      scale_b->size() != 1 || scale_y->size() != 1 || zero_y->size() != 1) {
    return;
  }
  const auto product = multiply(*a, *b, *extents, *zero_a, *zero_b);
  if (!product || !product->fits) {
    return;
  }
  const double scale = scale_a->as_double(0) * scale_b->as_double(0) / scale_y->as_double(0);
  const bool is_signed = zero_y->dtype == DType::kInt8;
  ConstValue out = empty_value(zero_y->dtype, *extents);
  for (const int64_t sum : product->whole) {
    const double value = std::nearbyint(static_cast<double>(sum) * scale) + zero_y->as_double(0);
    append_double(&out, std::clamp(value, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0));
  }
  context.set_value(0, std::move(out));
}

// By Gaussian elimination with partial pivoting.
void fold_det(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto extents = small_extents(context, 0);
  if (a == nullptr || !extents || a->extents.size() < 2 || !is_floating(a->dtype)) {
    return;
  }
  const auto n = static_cast<size_t>(a->extents.back());
  ConstValue out = empty_value(a->dtype, *extents);
  for (size_t start = 0; n > 0 && start < a->size(); start += n * n) {
    std::vector<double> m(a->floats.begin() + static_cast<std::ptrdiff_t>(start),
                          a->floats.begin() + static_cast<std::ptrdiff_t>(start + n * n));
    double det = 1;
    for (size_t column = 0; column < n; ++column) {
      size_t pivot = column;
      for (size_t row = column + 1; row < n; ++row) {
        pivot = std::abs(m[row * n + column]) > std::abs(m[pivot * n + column]) ? row : pivot;
      }
      if (pivot != column) {
        det = -det;
        std::swap_ranges(m.begin() + static_cast<std::ptrdiff_t>(pivot * n),
                         m.begin() + static_cast<std::ptrdiff_t>((pivot + 1) * n),
                         m.begin() + static_cast<std::ptrdiff_t>(column * n));
      }
      const double head = m[column * n + column];
      det *= head;
      for (size_t row = column + 1; head != 0 && row < n; ++row) {
        const double factor = m[row * n + column] / head;
        for (size_t k = column; k < n; ++k) {
          m[row * n + k] -= factor * m[column * n + k];
        }
      }
    }
    append_double(&out, det);
  }
  context.set_value(0, std::move(out));
}

}  // namespace dfsim::inline graphs
