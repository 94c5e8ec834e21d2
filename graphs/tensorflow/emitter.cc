// Emits ONNX operators for translated nodes. A value may exist in both layouts, channels last as
// TensorFlow has it and channels first as ONNX wants it; the transposition between them is made
// once and only when somebody asks for the other one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "graphs/ir/moved_axes.h"
#include "graphs/tensorflow/emitter_internal.h"

namespace dfsim::inline graphs {
namespace {

bool is_identity(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) {
      return false;
    }
  }
  return true;
}

std::vector<int64_t> permuted(const std::vector<int64_t>& extents,
                              const std::vector<int64_t>& perm) {
  std::vector<int64_t> result;
  for (const int64_t axis : perm) {
    result.push_back(extents[static_cast<size_t>(axis)]);
  }
  return result;
}

}  // namespace

std::vector<int64_t> to_channels_first(int rank) {
  std::vector<int64_t> perm = {0, rank - 1};
  for (int64_t axis = 1; axis + 1 < rank; ++axis) {
    perm.push_back(axis);
  }
  return perm;
}

std::vector<int64_t> to_channels_last(int rank) {
  std::vector<int64_t> perm = {0};
  for (int64_t axis = 2; axis < rank; ++axis) {
    perm.push_back(axis);
  }
  perm.push_back(1);
  return perm;
}

ValueId Emitter::add(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

Shape Emitter::shape(ValueId id) const {
  if (id == kNoValue) {
    return Shape();
  }
  const Value& value = values_[id];
  if (value.plain.valid()) {
    return builder_.tensor(value.plain).shape;
  }
  if (!value.channels_first.valid()) {
    return Shape();
  }
  const Shape& shape = builder_.tensor(value.channels_first).shape;
  if (shape.rank() < 3) {
    return shape;
  }
  Dims dims;
  for (const int64_t axis : to_channels_last(shape.rank())) {
    dims.push_back(shape[static_cast<int>(axis)]);
  }
  return Shape(std::move(dims));
}

DType Emitter::dtype(ValueId id) const {
  if (id == kNoValue) {
    return DType::kUnknown;
  }
  const Value& value = values_[id];
  const TensorId tensor = value.plain.valid() ? value.plain : value.channels_first;
  return tensor.valid() ? builder_.tensor(tensor).dtype : value.element_dtype;
}

const ConstValue* Emitter::constant(ValueId id) const {
  if (id == kNoValue || !values_[id].plain.valid()) {
    return nullptr;
  }
  return builder_.constant(values_[id].plain);
}

void Emitter::fail(Status status) {
  if (status_.ok()) {
    status_ = std::move(status);
  }
}

std::vector<TensorId> Emitter::emit(Emission emission) {
  std::vector<TensorId> none(emission.outputs);
  if (!status_.ok()) {
    return none;
  }
  Op op;
  op.name = emission.name;
  op.op_type = std::string(emission.type);
  op.domain = std::string(emission.domain);
  op.version = op.domain.empty() ? kEmittedOpset : 1;
  op.inputs = std::move(emission.inputs);
  op.capture_count = emission.captures;
  for (auto& [name, value] : emission.attributes) {
    op.attributes.set(std::move(name), std::move(value));
  }
  for (size_t i = 0; i < emission.outputs; ++i) {
    Tensor tensor;
    tensor.name = i == 0 ? emission.name : fmt::format("{}:{}", emission.name, i);
    op.outputs.push_back(add_tensor(std::move(tensor)));
  }
  const std::vector<TensorId> outputs = op.outputs;
  const bool fixed = !op.inputs.empty() && op.op_type != "Loop" && op.op_type != "If" &&
                     std::all_of(op.inputs.begin(), op.inputs.end(),
                                 [&](TensorId input) { return !input.valid() || is_fixed(input); });
  const auto id = builder_.add_op(std::move(op));
  if (!id.ok()) {
    fail(id.status());
    return none;
  }
  if (fixed) {
    fixed_.insert(outputs.begin(), outputs.end());
  }
  const auto reason = infer_op(builder_, *id, options_);
  if (!reason.ok()) {
    fail(reason.status());
    return none;
  }
  if (!reason->empty() && unresolved_ != nullptr) {
    unresolved_->push_back({builder_.op(*id).name, builder_.op(*id).op_type, *reason});
  }
  return outputs;
}

TensorId Emitter::emit_one(Emission emission) { return emit(std::move(emission)).front(); }

std::vector<TensorId> Emitter::emit_opaque(std::string_view type, const std::string& name,
                                           std::vector<TensorId> inputs,
                                           const std::vector<std::pair<DType, Shape>>& outputs,
                                           const std::string& reason) {
  Op op;
  op.name = name;
  op.op_type = std::string(type);
  op.domain = kTensorFlow;
  op.version = 1;
  op.inputs = std::move(inputs);
  op.op_class = OpClass::kOpaque;
  op.attributes.set(std::string(kUntranslated), int64_t{1});
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor tensor;
    tensor.name = i == 0 ? name : fmt::format("{}:{}", name, i);
    tensor.dtype = outputs[i].first;
    tensor.shape = outputs[i].second;
    op.outputs.push_back(add_tensor(std::move(tensor)));
  }
  const std::vector<TensorId> ids = op.outputs;
  const auto added = builder_.add_op(std::move(op));
  if (!added.ok()) {
    fail(added.status());
  } else if (unresolved_ != nullptr) {
    unresolved_->push_back({name, std::string(type), reason});
  }
  return ids;
}

TensorId Emitter::add_tensor(Tensor tensor) {
  if (const size_t count = names_[tensor.name]++; count > 0) {
    tensor.name = fmt::format("{}_{}", tensor.name, count);
  }
  return builder_.add_tensor(std::move(tensor));
}

std::string Emitter::place_name(TensorId tensor, std::string_view what) const {
  return fmt::format("{}/{}", builder_.tensor(tensor).name, what);
}

TensorId Emitter::plain(ValueId id) {
  if (id == kNoValue || !status_.ok()) {
    return TensorId();
  }
  if (!values_[id].plain.valid() && values_[id].channels_first.valid()) {
    const TensorId source = values_[id].channels_first;
    const int rank = builder_.tensor(source).shape.rank();
    values_[id].plain = rank < 3 ? source : transposed(source, to_channels_last(rank));
  }
  return values_[id].plain;
}

TensorId Emitter::channels_first(ValueId id) {
  if (id == kNoValue || !status_.ok()) {
    return TensorId();
  }
  if (!values_[id].channels_first.valid() && values_[id].plain.valid()) {
    const TensorId source = values_[id].plain;
    const int rank = builder_.tensor(source).shape.rank();
    values_[id].channels_first = rank < 3 ? source : transposed(source, to_channels_first(rank));
  }
  return values_[id].channels_first;
}

TensorId Emitter::transposed(TensorId tensor, const std::vector<int64_t>& perm) {
  if (!tensor.valid() || is_identity(perm)) {
    return tensor;
  }
  const Shape& shape = builder_.tensor(tensor).shape;
  const bool fits = shape.is_static() && shape.rank() == static_cast<int>(perm.size());
  const std::vector<int64_t> extents = fits ? shape.extents() : std::vector<int64_t>();
  if (fits && is_parameter(tensor) && builder_.constant(tensor) == nullptr) {
    return relaid(tensor, perm, permuted(extents, perm));
  }
  if (fits && moves_only_single_elements(perm, extents)) {
    return reshaped(tensor, permuted(extents, perm));
  }
  // Two in a row are one.
  const OpId producer = builder_.tensor(tensor).producer;
  if (producer.valid() && builder_.op(producer).op_type == "Transpose") {
    const Op& first = builder_.op(producer);
    const auto* before = first.attributes.get_ints("perm");
    if (before != nullptr && before->size() == perm.size()) {
      return transposed(first.inputs[0], permuted(*before, perm));
    }
  }
  return emit_one({"Transpose", "", place_name(tensor, "Transpose"), {tensor}, {{"perm", perm}}});
}

TensorId Emitter::reshaped(TensorId tensor, const std::vector<int64_t>& extents) {
  if (!tensor.valid() || !status_.ok()) {
    return tensor;
  }
  const Shape& shape = builder_.tensor(tensor).shape;
  if (shape.is_static() && shape.extents() == extents) {
    return tensor;
  }
  const bool whole = std::none_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; });
  if (whole && shape.is_static() && is_parameter(tensor) &&
      shape.elements() == Shape::of(extents).elements()) {
    std::vector<int64_t> order(static_cast<size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
    return relaid(tensor, order, extents);
  }
  return emit_one({"Reshape",
                   "",
                   place_name(tensor, "Reshape"),
                   {tensor, add_ints(extents)},
                   {{"allowzero", int64_t{1}}}});
}

TensorId Emitter::relaid(TensorId parameter, const std::vector<int64_t>& perm,
                         const std::vector<int64_t>& extents) {
  const std::string key =
      fmt::format("{}|{}|{}", parameter.value(), fmt::join(perm, ","), fmt::join(extents, ","));
  const auto [it, inserted] = relaid_.try_emplace(key);
  if (!inserted) {
    return it->second;
  }
  Tensor tensor = builder_.tensor(parameter);
  // Two tensors of one key are the same bytes; key numbers are those of prune(): id + 1.
  tensor.storage_key = tensor.storage_key != 0 ? tensor.storage_key : parameter.value() + 1;
  builder_.tensor(parameter).storage_key = tensor.storage_key;
  tensor.is_input = false;
  tensor.is_output = false;
  tensor.shape = Shape::of(extents);
  const ConstValue* value = builder_.constant(parameter);
  std::optional<ConstValue> copy;
  if (value != nullptr && is_identity(perm)) {
    copy = *value;
    copy->extents = extents;
  }
  it->second = add_tensor(std::move(tensor));
  if (copy) {
    builder_.set_constant(it->second, std::move(*copy));
  }
  return it->second;
}

TensorId Emitter::add_constant(ConstValue value, const std::string& name) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = value.dtype;
  tensor.role = TensorRole::kConstant;
  tensor.shape = Shape::of(value.extents);
  const TensorId id = add_tensor(std::move(tensor));
  builder_.set_constant(id, std::move(value));
  return id;
}

TensorId Emitter::add_ints(const std::vector<int64_t>& values) {
  const std::string name = fmt::format("[{}]", fmt::join(values, ","));
  // Equal lists share one tensor.
  const auto [it, inserted] = relaid_.try_emplace("ints " + name);
  if (inserted) {
    it->second = add_constant({DType::kInt64, {static_cast<int64_t>(values.size())}, values, {}},
                              "ints" + name);
  }
  return it->second;
}

TensorId Emitter::add_int(int64_t value) {
  return add_constant({DType::kInt64, {}, {value}, {}}, fmt::format("int[{}]", value));
}

TensorId Emitter::add_float(double value, DType dtype) {
  const auto [it, inserted] =
      relaid_.try_emplace(fmt::format("float {} {}", value, dtype_name(dtype)));
  if (inserted) {
    it->second = add_constant({dtype, {}, {}, {value}}, fmt::format("float[{}]", value));
  }
  return it->second;
}

}  // namespace dfsim::inline graphs
