// The view that shape rules have of their operator, and the two rules that most elementwise
// operators share: same shape as the first operand, and broadcasting. Extents that depend on
// data stay marked downstream, because an extent derived from an upper bound is one, too.
#include "graphs/ops/infer_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline graphs {

const Shape& InferContext::shape(size_t input) const {
  static const Shape kUnknown;
  return has_input(input) ? builder_.tensor(op().inputs[input]).shape : kUnknown;
}

DType InferContext::dtype(size_t input) const {
  return has_input(input) ? builder_.tensor(op().inputs[input]).dtype : DType::kUnknown;
}

const ConstValue* InferContext::value(size_t input) const {
  return has_input(input) ? builder_.constant(op().inputs[input]) : nullptr;
}

std::optional<std::vector<int64_t>> InferContext::ints(size_t input) const {
  const ConstValue* constant = value(input);
  if (constant == nullptr) {
    return std::nullopt;
  }
  std::vector<int64_t> numbers(constant->size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = constant->as_int(i);
  }
  return numbers;
}

std::optional<std::vector<int64_t>> InferContext::ints_from(std::string_view attribute,
                                                            size_t input,
                                                            bool* known_absent) const {
  *known_absent = false;
  if (has_input(input)) {
    return ints(input);
  }
  if (const auto* list = attributes().get_ints(attribute)) {
    return *list;
  }
  *known_absent = true;
  return std::nullopt;
}

void InferContext::set_output(size_t i, DType dtype, Shape shape) {
  if (!has_output(i)) {
    return;
  }
  Tensor& tensor = builder_.tensor(op().outputs[i]);
  if (dtype != DType::kUnknown) {
    tensor.dtype = dtype;
  }
  tensor.shape = std::move(shape);
  // Values that depend on data stay marked downstream: its extents are bounds, too.
  for (const TensorId input : op().inputs) {
    if (input.valid() && builder_.tensor(input).data_dependent) {
      tensor.data_dependent = true;
    }
  }
}

void InferContext::set_sequence(size_t i, DType dtype, Shape element, int64_t length) {
  if (has_output(i)) {
    set_output(i, dtype, std::move(element));
    Tensor& tensor = builder_.tensor(op().outputs[i]);
    tensor.is_sequence = true;
    tensor.sequence_length = length;
  }
}

namespace {

// The smallest shape that holds both.
Shape covering_shape(const Shape& a, const Shape& b) {
  if (!a.is_static() || !b.is_static() || a.rank() != b.rank()) {
    return common_shape(a, b);
  }
  Dims dims;
  for (int i = 0; i < a.rank(); ++i) {
    dims.emplace_back(std::max(a[i].extent(), b[i].extent()));
  }
  return Shape(std::move(dims));
}

}  // namespace

void InferContext::set_list(size_t i, ListElements elements) {
  if (!has_output(i)) {
    return;
  }
  DType dtype = DType::kUnknown;
  Shape shape;
  for (size_t k = 0; k < elements.size(); ++k) {
    dtype = k == 0 ? elements[k].dtype : dtype;
    shape = k == 0 ? elements[k].shape : covering_shape(shape, elements[k].shape);
  }
  set_sequence(i, dtype, std::move(shape), static_cast<int64_t>(elements.size()));
  builder_.set_elements(op().outputs[i], std::move(elements));
}

void InferContext::set_value(size_t i, ConstValue value) {
  if (!has_output(i)) {
    return;
  }
  Tensor& tensor = builder_.tensor(op().outputs[i]);
  tensor.dtype = value.dtype;
  tensor.shape = Shape::of(value.extents);
  if (static_cast<int64_t>(value.size()) <= kMaxConstElements) {
    builder_.set_constant(op().outputs[i], std::move(value));
  }
}

void InferContext::set_exact_value(size_t i, ConstValue value) {
  if (!has_output(i)) {
    return;
  }
  set_value(i, std::move(value));
  builder_.tensor(op().outputs[i]).data_dependent = std::any_of(
      op().inputs.begin(), op().inputs.end(),
      [this](TensorId input) { return input.valid() && builder_.tensor(input).data_dependent; });
}

bool InferContext::is_data_dependent(size_t i) const {
  return has_input(i) && builder_.tensor(op().inputs[i]).data_dependent;
}

void InferContext::mark_data_dependent(size_t i) {
  if (has_output(i)) {
    builder_.tensor(op().outputs[i]).data_dependent = true;
  }
}

const Shape& InferContext::output_shape(size_t i) const {
  static const Shape kUnknown;
  return has_output(i) ? builder_.tensor(op().outputs[i]).shape : kUnknown;
}

DType InferContext::output_dtype(size_t i) const {
  return has_output(i) ? builder_.tensor(op().outputs[i]).dtype : DType::kUnknown;
}

Status InferContext::error(const std::string& message) const {
  return invalid_input(
      fmt::format("{} '{}': {}", printable(op().op_type, 40), printable(op().name), message));
}

StatusOr<int> InferContext::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    return error(fmt::format("axis {} is outside the input's rank {}", axis, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape common_shape(const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) {
    return Shape();
  }
  Dims dims = a.dims();
  for (int i = 0; i < a.rank(); ++i) {
    dims[static_cast<size_t>(i)] = a[i] == b[i] ? a[i] : Dim::unknown();
  }
  return Shape(std::move(dims));
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string* conflict) {
  if (!a.has_rank() || !b.has_rank()) {
    return Shape();
  }
  const int rank = std::max(a.rank(), b.rank());
  Dims dims(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const Dim da = ia < 0 ? Dim(1) : a[ia];
    const Dim db = ib < 0 ? Dim(1) : b[ib];
    Dim& out = dims[static_cast<size_t>(i)];
    if (da == db || db == Dim(1)) {
      out = da;
    } else if (da == Dim(1)) {
      out = db;
    } else if (da.known() && db.known()) {
      *conflict = fmt::format("shapes {} and {} do not broadcast: {} meets {} on axis {}",
                              format_shape(a), format_shape(b), da.extent(), db.extent(), i);
      return Shape();
    } else {
      out = da.known() ? da : db.known() ? db : Dim::unknown();
    }
  }
  return Shape(std::move(dims));
}

Status infer_same_as_first(InferContext& context) {
  if (const auto elements = context.elements(0); elements != nullptr && !elements->empty()) {
    context.set_list(0, *elements);
    return ok_status();
  }
  if (context.is_sequence(0)) {
    context.set_sequence(0, context.dtype(0), context.shape(0), context.sequence_length(0));
    return ok_status();
  }
  context.set_output(0, context.dtype(0), context.shape(0));
  return ok_status();
}

Status infer_broadcast(InferContext& context) {
  if (context.input_count() == 0) {
    return context.error("has no inputs; expected at least one");
  }
  Shape shape = context.shape(0);
  for (size_t i = 1; i < context.input_count(); ++i) {
    if (!context.has_input(i)) {
      continue;
    }
    std::string conflict;
    shape = broadcast_shapes(shape, context.shape(i), &conflict);
    if (!conflict.empty()) {
      return context.error(conflict);
    }
  }
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

}  // namespace dfsim::inline graphs
