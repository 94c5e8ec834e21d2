// Element types, shapes and small constants of TensorFlow's files.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim {
namespace {

constexpr int64_t kMaxFloatConstElements = 64;
constexpr int kReference = 100;  // DT_FLOAT_REF = DT_FLOAT + 100

constexpr std::array kTypes = {
    DType::kUnknown,   DType::kFloat32, DType::kFloat64, DType::kInt32,      DType::kUInt8,
    DType::kInt16,     DType::kInt8,    DType::kString,  DType::kComplex64,  DType::kInt64,
    DType::kBool,      DType::kInt8,    DType::kUInt8,   DType::kInt32,      DType::kBFloat16,
    DType::kInt16,     DType::kUInt16,  DType::kUInt16,  DType::kComplex128, DType::kFloat16,
    DType::kUnknown,   DType::kUnknown, DType::kUInt32,  DType::kUInt64,     DType::kFloat8E5M2,
    DType::kFloat8E4M3};

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

template <typename T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// One little-endian element of tensor_content.
bool append_raw(DType dtype, const char* bytes, ConstValue* value) {
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
      value->floats.push_back(std::bit_cast<float>(uint32_t{load<uint16_t>(bytes)} << 16));
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

// Lists of values may be shorter than the tensor: the last one is repeated; none means zeros.
template <typename List, typename Convert>
bool append_list(const List& list, size_t count, ConstValue* value, Convert convert) {
  for (size_t i = 0; i < count; ++i) {
    const auto last = static_cast<size_t>(list.size()) - 1;
    const auto element =
        list.empty() ? typename List::value_type{} : list.Get(static_cast<int>(std::min(i, last)));
    if (is_floating(value->dtype)) {
      value->floats.push_back(static_cast<double>(convert(element)));
    } else {
      value->ints.push_back(static_cast<int64_t>(convert(element)));
    }
  }
  return true;
}

bool append_typed(const tf::TensorProto& tensor, size_t count, ConstValue* value) {
  const auto same = [](auto element) { return element; };
  switch (value->dtype) {
    case DType::kFloat32:
      return append_list(tensor.float_val(), count, value, same);
    case DType::kFloat64:
      return append_list(tensor.double_val(), count, value, same);
    case DType::kFloat16:
      return append_list(tensor.half_val(), count, value,
                         [](int32_t bits) { return half_to_double(static_cast<uint16_t>(bits)); });
    case DType::kBFloat16:
      return append_list(tensor.half_val(), count, value, [](int32_t bits) {
        return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
      });
    case DType::kInt64:
      return append_list(tensor.int64_val(), count, value, same);
    case DType::kUInt64:
      return append_list(tensor.uint64_val(), count, value, same);
    case DType::kUInt32:
      return append_list(tensor.uint32_val(), count, value, same);
    case DType::kBool:
      return append_list(tensor.bool_val(), count, value, same);
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUInt16:
    case DType::kUInt8:
      return append_list(tensor.int_val(), count, value, same);
    default:
      return false;
  }
}

}  // namespace

DType dtype_from_tf(int code) {
  const int base = code > kReference ? code - kReference : code;
  if (base == tf::DT_INT4 || base == tf::DT_UINT4) {
    return base == tf::DT_INT4 ? DType::kInt4 : DType::kUInt4;
  }
  return base >= 0 && base < static_cast<int>(kTypes.size()) ? kTypes[static_cast<size_t>(base)]
                                                             : DType::kUnknown;
}

std::optional<Shape> shape_from_tf(const tf::TensorShapeProto& proto) {
  if (proto.unknown_rank()) {
    return Shape();
  }
  if (proto.dim_size() > kMaxRank) {
    return std::nullopt;
  }
  Dims dims;
  for (const auto& dim : proto.dim()) {
    if (dim.size() > kMaxExtent || dim.size() < -1) {
      return std::nullopt;
    }
    dims.push_back(dim.size() < 0 ? Dim::unknown() : Dim(dim.size()));
  }
  return Shape(std::move(dims));
}

std::optional<ConstValue> value_from_tf(const tf::TensorProto& tensor) {
  const auto shape = shape_from_tf(tensor.tensor_shape());
  if (!shape || !shape->is_static()) {
    return std::nullopt;
  }
  ConstValue value{dtype_from_tf(tensor.dtype()), shape->extents(), {}, {}};
  const Count elements = shape->elements();
  const int64_t limit = is_floating(value.dtype) ? kMaxFloatConstElements : kMaxConstElements;
  if (elements.overflowed() || elements.value() > limit) {
    return std::nullopt;
  }
  const auto count = static_cast<size_t>(elements.value());
  if (tensor.tensor_content().empty()) {
    return append_typed(tensor, count, &value) ? std::optional(std::move(value)) : std::nullopt;
  }
  const size_t size = static_cast<size_t>(dtype_bits(value.dtype)) / 8;
  if (size == 0 || tensor.tensor_content().size() != count * size) {
    return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!append_raw(value.dtype, tensor.tensor_content().data() + i * size, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

}  // namespace dfsim
