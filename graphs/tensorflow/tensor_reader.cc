// Element types, shapes and small constants of TensorFlow's files.
#include <array>

#include "graphs/ops/values/stored_constant.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kReference = 100;  // DT_FLOAT_REF = DT_FLOAT + 100

constexpr std::array kTypes = {
    DType::kUnknown,   DType::kFloat32, DType::kFloat64, DType::kInt32,      DType::kUInt8,
    DType::kInt16,     DType::kInt8,    DType::kString,  DType::kComplex64,  DType::kInt64,
    DType::kBool,      DType::kInt8,    DType::kUInt8,   DType::kInt32,      DType::kBFloat16,
    DType::kInt16,     DType::kUInt16,  DType::kUInt16,  DType::kComplex128, DType::kFloat16,
    DType::kUnknown,   DType::kUnknown, DType::kUInt32,  DType::kUInt64,     DType::kFloat8E5M2,
    DType::kFloat8E4M3};

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
        return bfloat_to_double(static_cast<uint16_t>(bits));
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
  if (!keeps_value(value.dtype, shape->elements())) {
    return std::nullopt;
  }
  const auto count = static_cast<size_t>(shape->elements().value());
  const bool complete = tensor.tensor_content().empty()
                            ? append_typed(tensor, count, &value)
                            : append_raw(tensor.tensor_content(), count, &value);
  return complete ? std::optional(std::move(value)) : std::nullopt;
}

}  // namespace dfsim::inline graphs
