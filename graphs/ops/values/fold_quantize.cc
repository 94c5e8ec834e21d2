// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of 8- to 32-bit integers, per tensor,
// per channel and in blocks.
#include <algorithm>
#include <cmath>

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

struct IntRange {
  double least;
  double most;
};

std::optional<IntRange> range_of(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return IntRange{-128, 127};
    case DType::kUInt8:
      return IntRange{0, 255};
    case DType::kInt16:
      return IntRange{-32768, 32767};
    case DType::kUInt16:
      return IntRange{0, 65535};
    default:
      return std::nullopt;
  }
}

// Which scale and zero point an element has: the only one, that of its index on an axis, or that of
// its block along the axis.
class Granularity {
 public:
  // std::nullopt: a form that does not fit the operand.
  static std::optional<Granularity> of(const InferContext& context, const ConstValue& x,
                                       const ConstValue& scale) {
    Granularity granularity;
    if (scale.size() == 1) {
      return granularity;
    }
    const auto axis =
        context.axis(context.attributes().int_or("axis", 1), static_cast<int>(x.extents.size()));
    if (!axis.ok()) {
      return std::nullopt;
    }
    granularity.axis_ = static_cast<size_t>(*axis);
    const int64_t extent = x.extents[*granularity.axis_];
    const int64_t block = context.attributes().int_or("block_size", 0);
    if (block < 1) {
      const bool fits = scale.extents.size() == 1 && scale.extents[0] == extent;
      return fits ? std::optional(granularity) : std::nullopt;
    }
    Extents expected = x.extents;
    expected[*granularity.axis_] = (extent + block - 1) / block;
    granularity.block_ = block;
    granularity.strides_ = row_major_strides(expected);
    return scale.extents == expected ? std::optional(granularity) : std::nullopt;
  }
  size_t at(const IndexCounter& counter) const {
    if (block_ == 0) {
      return axis_ ? static_cast<size_t>(counter[*axis_]) : 0;
    }
    int64_t position = 0;
    for (size_t i = 0; i < strides_.size(); ++i) {
      position += (i == *axis_ ? counter[i] / block_ : counter[i]) * strides_[i];
    }
    return static_cast<size_t>(position);
  }

 private:
  std::optional<size_t> axis_;
  int64_t block_ = 0;  // 0: no blocks
  Extents strides_;    // of the scales, with blocks
};

// Runtimes keep the pair of operators around a weight, because their rewriting looks for it.
bool is_weight(const InferContext& context) {
  return context.has_input(0) && context.input_tensor(0).role == TensorRole::kWeight;
}

}  // namespace

void fold_quantize(InferContext& context) {
  const ConstValue* x = context.value(0);
  const ConstValue* scale = context.value(1);
  const ConstValue* zero = context.value(2);
  const DType dtype = context.output_dtype(0);
  const auto range = range_of(dtype);
  if (x == nullptr || scale == nullptr || !range || !is_floating(x->dtype) || is_weight(context) ||
      (zero != nullptr && zero->size() != scale->size())) {
    return;
  }
  const auto granularity = Granularity::of(context, *x, *scale);
  if (!granularity) {
    return;
  }
  ConstValue out = empty_value(dtype, x->extents);
  IndexCounter counter(x->extents);
  for (size_t i = 0; i < x->size(); ++i, counter.next()) {
    const size_t k = granularity->at(counter);
    const double scaled = round_to(x->dtype, x->floats[i] / scale->as_double(k));
    const double value = std::nearbyint(scaled) + (zero != nullptr ? zero->as_double(k) : 0);
    if (!append_double(&out, std::clamp(value, range->least, range->most))) {
      return;
    }
  }
  context.set_value(0, std::move(out));
}

void fold_dequantize(InferContext& context) {
  const ConstValue* x = context.value(0);
  const ConstValue* scale = context.value(1);
  const ConstValue* zero = context.value(2);
  if (x == nullptr || scale == nullptr || is_floating(x->dtype) || is_weight(context) ||
      !has_arithmetic(x->dtype) || !has_arithmetic(scale->dtype) ||
      (zero != nullptr && zero->size() != scale->size())) {
    return;
  }
  const auto granularity = Granularity::of(context, *x, *scale);
  const DType dtype = context.output_dtype(0);
  if (!granularity || !is_floating(dtype) || !has_arithmetic(dtype)) {
    return;
  }
  ConstValue out = empty_value(dtype, x->extents);
  IndexCounter counter(x->extents);
  for (size_t i = 0; i < x->size(); ++i, counter.next()) {
    const size_t k = granularity->at(counter);
    const double offset = zero != nullptr ? zero->as_double(k) : 0;
    append_double(&out, (x->as_double(i) - offset) * scale->as_double(k));
  }
  context.set_value(0, std::move(out));
}

// To uint8 over the range of the values, which always holds 0.
void fold_dynamic_quantize(InferContext& context) {
  const ConstValue* x = context.value(0);
  if (x == nullptr || x->dtype != DType::kFloat32 || x->size() == 0) {
    return;
  }
  const double most = std::max(0.0, *std::max_element(x->floats.begin(), x->floats.end()));
  const double least = std::min(0.0, *std::min_element(x->floats.begin(), x->floats.end()));
  const double scale = round_to(DType::kFloat32, (most - least) / 255);
  if (!(scale > 0)) {
    return;
  }
  const double zero =
      std::nearbyint(std::clamp(round_to(DType::kFloat32, -least / scale), 0.0, 255.0));
  ConstValue out = empty_value(DType::kUInt8, x->extents);
  for (const double value : x->floats) {
    const double scaled = round_to(DType::kFloat32, value / scale);
    append_double(&out, std::clamp(std::nearbyint(scaled) + zero, 0.0, 255.0));
  }
  context.set_value(0, std::move(out));
  context.set_value(1, ConstValue{DType::kFloat32, {}, {}, {scale}});
  context.set_value(2, ConstValue{DType::kUInt8, {}, {to_whole(zero)}, {}});
}

}  // namespace dfsim::inline graphs
