// Sequences and optionals. A sequence is a tensor with Tensor::sequence_length: the shape is that
// of its elements, with unknown extents where they differ. An optional is what it holds.
#include <fmt/format.h>

#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

Status infer_sequence_construct(InferContext& context) {
  if (context.input_count() == 0) {
    return context.error("has no inputs; expected at least one");
  }
  Shape shape = context.shape(0);
  for (size_t i = 1; i < context.input_count(); ++i) {
    shape = common_shape(shape, context.shape(i));
  }
  context.set_sequence(0, context.dtype(0), std::move(shape),
                       static_cast<int64_t>(context.input_count()));
  return ok_status();
}

Status infer_sequence_empty(InferContext& context) {
  context.set_sequence(0, DType::kFloat32, Shape::scalar(), 0);
  return ok_status();
}

Status infer_sequence_at(InferContext& context) {
  context.set_output(0, context.dtype(0), context.shape(0));
  return ok_status();
}

Status infer_sequence_insert(InferContext& context) {
  const int64_t length = context.sequence_length(0);
  Shape shape = length == 0 ? context.shape(1) : common_shape(context.shape(0), context.shape(1));
  const DType dtype = length == 0 ? context.dtype(1) : context.dtype(0);
  context.set_sequence(0, dtype, std::move(shape), length < 0 ? length : length + 1);
  return ok_status();
}

Status infer_sequence_erase(InferContext& context) {
  const int64_t length = context.sequence_length(0);
  context.set_sequence(0, context.dtype(0), context.shape(0), length > 0 ? length - 1 : length);
  return ok_status();
}

Status infer_sequence_length(InferContext& context) {
  context.set_output(0, DType::kInt64, Shape::scalar());
  if (context.sequence_length(0) >= 0) {
    context.set_value(0, ConstValue{DType::kInt64, {}, {context.sequence_length(0)}, {}});
  }
  return ok_status();
}

// Into parts of one size, or of the sizes listed; without a size into slices of 1.
Status infer_split_to_sequence(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", 0), x.rank()));
  Dims dims = x.dims();
  Dim& extent = dims[static_cast<size_t>(axis)];
  int64_t length = -1;
  if (!context.has_input(1)) {
    length = extent.known() ? extent.extent() : -1;
    if (context.attributes().int_or("keepdims", 1) == 0) {
      dims.erase(dims.begin() + axis);
    } else {
      extent = Dim(1);
    }
  } else if (const auto sizes = context.ints(1); sizes && !sizes->empty()) {
    const int64_t size = (*sizes)[0];
    const bool one_size = context.shape(1).rank() == 0;
    if (size < (one_size ? 1 : 0)) {
      return context.error(
          fmt::format("a part has the size {}; expected {} or more", size, one_size ? 1 : 0));
    }
    bool even = one_size ? extent.known() && extent.extent() % size == 0 : true;
    for (const int64_t other : *sizes) {
      even = even && other == size;
    }
    length = !one_size        ? static_cast<int64_t>(sizes->size())
             : extent.known() ? (extent.extent() + size - 1) / size
                              : -1;
    extent = even ? Dim(size) : Dim::unknown();
  } else {
    extent = Dim::unknown();
  }
  context.set_sequence(0, context.dtype(0), Shape(std::move(dims)), length);
  return ok_status();
}

Status infer_concat_from_sequence(InferContext& context) {
  const Shape& x = context.shape(0);
  const int64_t length = context.sequence_length(0);
  if (!x.has_rank() || length < 0) {
    return ok_status();
  }
  const bool new_axis = context.attributes().int_or("new_axis", 0) != 0;
  DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(context.attributes().int_or("axis", 0),
                                                      x.rank() + (new_axis ? 1 : 0)));
  Dims dims = x.dims();
  if (new_axis) {
    dims.insert(dims.begin() + axis, Dim(length));
  } else if (x[axis].known()) {
    dims[static_cast<size_t>(axis)] = Dim((Count(x[axis].extent()) * Count(length)).value());
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// Optional, OptionalGetElement: what is inside.
Status infer_optional(InferContext& context) {
  if (context.has_input(0)) {
    if (context.is_sequence(0)) {
      context.set_sequence(0, context.dtype(0), context.shape(0), context.sequence_length(0));
    } else {
      context.set_output(0, context.dtype(0), context.shape(0));
    }
  }
  return ok_status();
}

Status infer_optional_has_element(InferContext& context) {
  context.set_output(0, DType::kBool, Shape::scalar());
  return ok_status();
}

// clang-format off
constexpr OpDef kSequenceOps[] = {
    // Lists of tensors hold references: making and changing them moves no elements.
    {.op_type = "SequenceConstruct", .op_class = OpClass::kView, .infer = infer_sequence_construct,
     .work = work_none},
    {.op_type = "SequenceEmpty", .op_class = OpClass::kConstant, .infer = infer_sequence_empty,
     .work = work_none, .required_inputs = 0},
    {.op_type = "SequenceAt", .op_class = OpClass::kView, .infer = infer_sequence_at,
     .work = work_none, .required_inputs = 2},
    {.op_type = "SequenceInsert", .op_class = OpClass::kView, .infer = infer_sequence_insert,
     .work = work_none, .required_inputs = 2},
    {.op_type = "SequenceErase", .op_class = OpClass::kView, .infer = infer_sequence_erase,
     .work = work_none},
    {.op_type = "SequenceLength", .op_class = OpClass::kConstant, .infer = infer_sequence_length,
     .work = work_none},
    {.op_type = "SplitToSequence", .op_class = OpClass::kDataMovement,
     .infer = infer_split_to_sequence},
    {.op_type = "ConcatFromSequence", .op_class = OpClass::kDataMovement,
     .infer = infer_concat_from_sequence},
    {.op_type = "Optional", .op_class = OpClass::kView, .infer = infer_optional, .work = work_none,
     .required_inputs = 0},
    {.op_type = "OptionalGetElement", .op_class = OpClass::kView, .infer = infer_optional,
     .work = work_none},
    {.op_type = "OptionalHasElement", .op_class = OpClass::kConstant,
     .infer = infer_optional_has_element, .work = work_none, .required_inputs = 0},
};
// clang-format on

}  // namespace

OpFamily sequence_op_defs() { return {kSequenceOps}; }

}  // namespace dfsim::inline graphs
