// Decodes raw bytes of constants and decides which constants keep their values: integers and
// scalars, which may be shapes. All formats are little-endian in files.
#include "graphs/ops/values/stored_constant.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace dfsim::inline graphs {
namespace {

template <typename T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

bool append_element(DType dtype, const char* bytes, ConstValue* value) {
  switch (dtype) {
    case DType::kFloat32:
      value->floats.push_back(load<float>(bytes));
      return true;
    case DType::kFloat64:
      value->floats.push_back(load<double>(bytes));
      return true;
    case DType::kFloat16:
      value->floats.push_back(half_to_double(load<uint16_t>(bytes)));
      return true;
    case DType::kBFloat16:
      value->floats.push_back(bfloat_to_double(load<uint16_t>(bytes)));
      return true;
    case DType::kInt64:
    case DType::kUInt64:
      value->ints.push_back(load<int64_t>(bytes));
      return true;
    case DType::kInt32:
      value->ints.push_back(load<int32_t>(bytes));
      return true;
    case DType::kUInt32:
      value->ints.push_back(load<uint32_t>(bytes));
      return true;
    case DType::kInt16:
      value->ints.push_back(load<int16_t>(bytes));
      return true;
    case DType::kUInt16:
      value->ints.push_back(load<uint16_t>(bytes));
      return true;
    case DType::kInt8:
      value->ints.push_back(load<int8_t>(bytes));
      return true;
    case DType::kUInt8:
    case DType::kBool:
      value->ints.push_back(load<uint8_t>(bytes));
      return true;
    default:
      return false;
  }
}

}  // namespace

bool keeps_value(DType dtype, Count elements) {
  const int64_t limit = is_floating(dtype) ? kMaxFloatConstElements : kMaxConstElements;
  return !elements.overflowed() && elements.value() <= limit;
}

double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1F) {
    return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  }
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(fraction + 1024, exponent - 25);
}

double bfloat_to_double(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

bool append_raw(std::string_view bytes, size_t count, ConstValue* value) {
  const size_t size = static_cast<size_t>(dtype_bits(value->dtype)) / 8;
  if (size == 0 || bytes.size() != count * size) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!append_element(value->dtype, bytes.data() + i * size, value)) {
      return false;
    }
  }
  return true;
}

TensorRole role_of_stored(DType dtype, const Shape& shape, bool has_value) {
  const bool index_like = dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kBool;
  const bool scalar = shape.elements().value() <= 1;
  return has_value && (index_like || scalar) ? TensorRole::kConstant : TensorRole::kWeight;
}

}  // namespace dfsim::inline graphs
