// Arithmetic on constants as the element type defines it: rounding to the formats of fewer bits,
// wrapping of integers, broadcasting by positions. Values are kept as double or int64 and
// rounded after each operation, which equals arithmetic in the narrow type for the operations
// that fold.
#include "graphs/ops/values/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dfsim::inline graphs {
namespace {

// Rounds to a binary format of `precision` significant bits, normal exponents from `min_exponent`
// on and `largest` as the largest finite number.
double round_to_format(double value, int precision, int min_exponent, double largest) {
  if (!std::isfinite(value) || value == 0) {
    return value;
  }
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int quantum = std::max(exponent - precision, min_exponent - precision + 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  return std::abs(rounded) > largest ? std::copysign(HUGE_VAL, value) : rounded;
}

int bits_of(DType dtype) { return dtype_bits(dtype); }

bool is_unsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 ||
         dtype == DType::kUInt64;
}

}  // namespace

bool has_arithmetic(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt64:
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUInt64:
    case DType::kUInt32:
    case DType::kUInt16:
    case DType::kUInt8:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kFloat16:
      return round_to_format(value, 11, -14, 65504);
    case DType::kBFloat16:
      return round_to_format(value, 8, -126, std::ldexp(255.0, 120));
    default:
      return value;
  }
}

int64_t wrap_to(DType dtype, int64_t value) {
  if (dtype == DType::kBool) {
    return int64_t{value != 0};
  }
  const int bits = bits_of(dtype);
  if (bits >= 64 || !is_integer(dtype)) {
    return value;
  }
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t low = static_cast<uint64_t>(value) & mask;
  const bool negative = !is_unsigned(dtype) && (low >> (bits - 1)) != 0;
  return static_cast<int64_t>(negative ? low | ~mask : low);
}

ConstValue empty_value(DType dtype, Extents extents) {
  return ConstValue{dtype, std::move(extents), {}, {}};
}

int64_t to_whole(double value) {
  constexpr double kMost = 9.2e18;
  return std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -kMost, kMost));
}

bool append_double(ConstValue* out, double value) {
  if (is_floating(out->dtype)) {
    out->floats.push_back(round_to(out->dtype, value));
    return true;
  }
  if (out->dtype == DType::kBool) {
    out->ints.push_back(int64_t{value != 0});
    return true;
  }
  constexpr double kBeyond = 9.2e18;
  const bool fits = std::abs(value) < kBeyond;
  const auto whole = fits ? static_cast<int64_t>(value) : int64_t{0};
  if (!fits || wrap_to(out->dtype, whole) != whole) {
    return false;
  }
  out->ints.push_back(whole);
  return true;
}

void append_int(ConstValue* out, int64_t value) {
  if (is_floating(out->dtype)) {
    out->floats.push_back(round_to(out->dtype, static_cast<double>(value)));
  } else {
    out->ints.push_back(wrap_to(out->dtype, value));
  }
}

void append_element_of(const ConstValue& from, int64_t i, ConstValue* out) {
  if (is_floating(from.dtype)) {
    out->floats.push_back(i < 0 ? 0 : from.floats[static_cast<size_t>(i)]);
  } else {
    out->ints.push_back(i < 0 ? 0 : from.ints[static_cast<size_t>(i)]);
  }
}

int64_t small_product(std::span<const int64_t> extents) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) {
    return 0;
  }
  int64_t product = 1;
  for (const int64_t extent : extents) {
    if (extent > kMaxConstElements || product * extent > kMaxConstElements) {
      return kMaxConstElements + 1;
    }
    product *= extent;
  }
  return product;
}

std::optional<Extents> small_extents(const InferContext& context, size_t output) {
  const Shape& shape = context.output_shape(output);
  if (!shape.is_static()) {
    return std::nullopt;
  }
  Extents extents = shape.extents();
  return small_product(extents) <= kMaxConstElements ? std::optional(std::move(extents))
                                                     : std::nullopt;
}

Extents row_major_strides(const Extents& extents) {
  Extents strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;) {
    // Wraps only next to an extent of 0, where no element is ever addressed.
    strides[i - 1] =
        static_cast<int64_t>(static_cast<uint64_t>(strides[i]) * static_cast<uint64_t>(extents[i]));
  }
  return strides;
}

std::vector<int64_t> strided_positions(const Extents& extents, const Extents& strides,
                                       int64_t base) {
  const auto total = static_cast<size_t>(Shape::of(extents).elements().value());
  std::vector<int64_t> positions(total, base);
  for (size_t flat = 0; flat < total; ++flat) {
    size_t rest = flat;
    for (size_t axis = extents.size(); axis-- > 0;) {
      const auto extent = static_cast<size_t>(extents[axis]);
      positions[flat] += static_cast<int64_t>(rest % extent) * strides[axis];
      rest /= extent;
    }
  }
  return positions;
}

std::vector<int64_t> broadcast_positions(const Extents& operand, const Extents& extents) {
  const Extents strides = row_major_strides(operand);
  const size_t lead = extents.size() - operand.size();
  Extents out_strides(extents.size(), 0);
  for (size_t axis = lead; axis < extents.size(); ++axis) {
    out_strides[axis] = operand[axis - lead] != 1 ? strides[axis - lead] : 0;
  }
  return strided_positions(extents, out_strides, 0);
}

void IndexCounter::next() {
  for (size_t axis = extents_.size(); axis-- > 0;) {
    if (++index_[axis] < extents_[axis]) {
      return;
    }
    index_[axis] = 0;
  }
}

void fold_by_index(InferContext& context, size_t output, const Extents& extents,
                   const std::vector<int64_t>& sources) {
  const ConstValue* a = context.value(0);
  if (a == nullptr) {
    return;
  }
  ConstValue out = empty_value(a->dtype, extents);
  for (const int64_t source : sources) {
    if (source >= static_cast<int64_t>(a->size())) {
      return;
    }
    append_element_of(*a, source, &out);
  }
  context.set_value(output, std::move(out));
}

}  // namespace dfsim::inline graphs
