// Reads values and types out of ONNX's protos. A tensor stores its elements in one of several
// typed lists or as raw bytes; only small ones are read, because dfsim needs the values of
// shapes and never those of weights.
#include "graphs/onnx/tensor_reader_internal.h"

#include <fmt/format.h>

#include "base/text.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/values/stored_constant.h"

namespace dfsim::inline graphs {
namespace {

template <typename List, typename Convert>
bool read_list(const List& list, size_t count, ConstValue* value, Convert convert) {
  if (static_cast<size_t>(list.size()) != count) {
    return false;
  }
  for (const auto element : list) {
    if (is_floating(value->dtype)) {
      value->floats.push_back(static_cast<double>(convert(element)));
    } else {
      value->ints.push_back(static_cast<int64_t>(convert(element)));
    }
  }
  return true;
}

bool read_typed(const onnx::TensorProto& tensor, size_t count, ConstValue* value) {
  const auto same = [](auto element) { return element; };
  switch (value->dtype) {
    case DType::kFloat32:
      return read_list(tensor.float_data(), count, value, same);
    case DType::kFloat64:
      return read_list(tensor.double_data(), count, value, same);
    case DType::kFloat16:
      return read_list(tensor.int32_data(), count, value,
                       [](int32_t bits) { return half_to_double(static_cast<uint16_t>(bits)); });
    case DType::kInt64:
      return read_list(tensor.int64_data(), count, value, same);
    case DType::kUInt64:
    case DType::kUInt32:
      return read_list(tensor.uint64_data(), count, value, same);
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUInt16:
    case DType::kUInt8:
    case DType::kBool:
      return read_list(tensor.int32_data(), count, value, same);
    default:
      return false;
  }
}

std::optional<AttrValue> read_attribute(const onnx::AttributeProto& attribute) {
  using A = onnx::AttributeProto;
  // Files of IR version 1 leave the type out: then the field that is there tells it.
  const auto type = attribute.type();
  const bool untyped = type == A::UNDEFINED;
  if (type == A::TENSOR || (untyped && attribute.has_t())) {
    auto value = read_value(attribute.t());
    const auto shape = read_dims(attribute.t());
    if (!value && shape.ok()) {
      value = ConstValue{dtype_from_onnx(attribute.t().data_type()), shape->extents(), {}, {}};
    }
    return value ? std::optional<AttrValue>(std::move(*value)) : std::nullopt;
  }
  if (type == A::FLOAT || (untyped && attribute.has_f())) {
    return AttrValue(static_cast<double>(attribute.f()));
  }
  if (type == A::INT || (untyped && attribute.has_i())) {
    return AttrValue(attribute.i());
  }
  if (type == A::STRING || (untyped && attribute.has_s())) {
    return AttrValue(attribute.s());
  }
  if (type == A::FLOATS || (untyped && attribute.floats_size() > 0)) {
    return AttrValue(std::vector<double>(attribute.floats().begin(), attribute.floats().end()));
  }
  if (type == A::INTS || (untyped && attribute.ints_size() > 0)) {
    return AttrValue(std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
  }
  if (type == A::STRINGS || (untyped && attribute.strings_size() > 0)) {
    return AttrValue(
        std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
  }
  return std::nullopt;
}

}  // namespace

StatusOr<Shape> read_dims(const onnx::TensorProto& tensor) {
  if (tensor.dims_size() > kMaxRank) {
    return invalid_input(fmt::format("tensor '{}' has {} dimensions; expected at most {}",
                                     printable(tensor.name()), tensor.dims_size(), kMaxRank));
  }
  Dims dims;
  dims.reserve(static_cast<size_t>(tensor.dims_size()));
  for (const int64_t extent : tensor.dims()) {
    if (extent < 0 || extent > kMaxExtent) {
      return invalid_input(fmt::format("tensor '{}' has the extent {}; expected 0 to {}",
                                       printable(tensor.name()), extent, kMaxExtent));
    }
    dims.emplace_back(extent);
  }
  return Shape(std::move(dims));
}

std::optional<ConstValue> read_value(const onnx::TensorProto& tensor) {
  const auto shape = read_dims(tensor);
  if (!shape.ok() || tensor.data_location() == onnx::TensorProto::EXTERNAL ||
      tensor.has_segment()) {
    return std::nullopt;
  }
  ConstValue value{dtype_from_onnx(tensor.data_type()), shape->extents(), {}, {}};
  if (!keeps_value(value.dtype, shape->elements())) {
    return std::nullopt;
  }
  const auto count = static_cast<size_t>(shape->elements().value());
  const bool complete = tensor.has_raw_data() ? append_raw(tensor.raw_data(), count, &value)
                                              : read_typed(tensor, count, &value);
  return complete ? std::optional(std::move(value)) : std::nullopt;
}

StatusOr<DeclaredType> read_type(const onnx::TypeProto& type, GraphBuilder* builder) {
  DeclaredType declared;
  if (type.has_optional_type()) {
    return read_type(type.optional_type().elem_type(), builder);
  }
  if (type.has_sequence_type()) {
    DFSIM_ASSIGN_OR_RETURN(declared, read_type(type.sequence_type().elem_type(), builder));
    declared.is_sequence = true;
    return declared;
  }
  if (!type.has_tensor_type()) {
    return declared;
  }
  const auto& tensor = type.tensor_type();
  declared.dtype = dtype_from_onnx(tensor.elem_type());
  if (!tensor.has_shape()) {
    return declared;
  }
  if (tensor.shape().dim_size() > kMaxRank) {
    return invalid_input(fmt::format("{} dimensions are declared; expected at most {}",
                                     tensor.shape().dim_size(), kMaxRank));
  }
  Dims dims;
  for (const auto& dim : tensor.shape().dim()) {
    if (dim.has_dim_value() && (dim.dim_value() < -1 || dim.dim_value() > kMaxExtent)) {
      return invalid_input(
          fmt::format("a declared extent is {}; expected 0 to {}", dim.dim_value(), kMaxExtent));
    }
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      dims.emplace_back(dim.dim_value());
    } else if (!dim.dim_param().empty()) {
      dims.push_back(Dim::symbol(builder->symbol(dim.dim_param())));
    } else {
      dims.push_back(Dim::unknown());
    }
  }
  declared.shape = Shape(std::move(dims));
  return declared;
}

StatusOr<Attributes> read_attributes(const onnx::NodeProto& node) {
  constexpr int kMaxAttributes = 1000;  // attributes are searched linearly
  if (node.attribute_size() > kMaxAttributes) {
    return invalid_input(fmt::format("{} '{}' has {} attributes; expected at most {}",
                                     printable(node.op_type(), 40), printable(node.name()),
                                     node.attribute_size(), kMaxAttributes));
  }
  Attributes attributes;
  for (const auto& attribute : node.attribute()) {
    if (auto value = read_attribute(attribute)) {
      attributes.set(attribute.name(), std::move(*value));
    }
  }
  return attributes;
}

}  // namespace dfsim::inline graphs
