// Sequences and optionals. A sequence is a tensor with Tensor::sequence_length: the shape is that
// of its elements, with unknown extents where they differ. An optional is what it holds.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

ListElement element_of(const InferContext& context, size_t input) {
  const ConstValue* value = context.value(input);
  return {context.dtype(input), context.shape(input),
          value != nullptr ? std::make_shared<const ConstValue>(*value) : nullptr};
}

// The position that input `i` names in a list of `length` (+ 1 place at its end for insertions), or
// std::nullopt when its value is not known.
StatusOr<std::optional<size_t>> position_in(const InferContext& context, size_t i, size_t length,
                                            bool behind_last) {
  using Result = std::optional<size_t>;
  if (!context.has_input(i)) {
    return Result(length - (behind_last || length == 0 ? 0 : 1));
  }
  const auto given = context.ints(i);
  if (!given || given->size() != 1) {
    return Result();
  }
  const auto count = static_cast<int64_t>(length);
  const int64_t position = (*given)[0] < 0 ? (*given)[0] + count : (*given)[0];
  if (position < 0 || position >= count + int64_t{behind_last}) {
    return context.error(
        fmt::format("position {} is outside a list of {} elements", (*given)[0], count));
  }
  return Result(static_cast<size_t>(position));
}

Status infer_sequence_construct(InferContext& context) {
  if (context.input_count() == 0) {
    return context.error("has no inputs; expected at least one");
  }
  ListElements elements;
  for (size_t i = 0; i < context.input_count(); ++i) {
    elements.push_back(element_of(context, i));
  }
  context.set_list(0, std::move(elements));
  return ok_status();
}

Status infer_sequence_empty(InferContext& context) {
  context.set_list(0, {});
  const auto code = context.attributes().get_int("dtype");
  context.set_sequence(0, code ? dtype_from_onnx(*code) : DType::kFloat32, Shape::scalar(), 0);
  return ok_status();
}

Status infer_sequence_at(InferContext& context) {
  context.set_output(0, context.dtype(0), context.shape(0));
  const auto elements = context.elements(0);
  if (elements == nullptr) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const auto position, position_in(context, 1, elements->size(), false));
  if (position) {
    const ListElement& element = (*elements)[*position];
    context.set_output(0, element.dtype, element.shape);
    if (element.value != nullptr) {
      context.set_value(0, *element.value);
    }
  } else if (!std::all_of(elements->begin(), elements->end(), [&](const ListElement& element) {
               return element.shape == context.shape(0);
             })) {
    context.mark_data_dependent(0);
  }
  return ok_status();
}

Status infer_sequence_insert(InferContext& context) {
  if (const auto elements = context.elements(0)) {
    DFSIM_ASSIGN_OR_RETURN(const auto position, position_in(context, 2, elements->size(), true));
    if (position) {
      ListElements longer = *elements;
      longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(*position),
                    element_of(context, 1));
      context.set_list(0, std::move(longer));
      return ok_status();
    }
  }
  const int64_t length = context.sequence_length(0);
  Shape shape = length == 0 ? context.shape(1) : common_shape(context.shape(0), context.shape(1));
  const DType dtype = length == 0 ? context.dtype(1) : context.dtype(0);
  context.set_sequence(0, dtype, std::move(shape), length < 0 ? length : length + 1);
  return ok_status();
}

Status infer_sequence_erase(InferContext& context) {
  if (const auto elements = context.elements(0); elements != nullptr && !elements->empty()) {
    DFSIM_ASSIGN_OR_RETURN(const auto position, position_in(context, 1, elements->size(), false));
    if (position) {
      ListElements shorter = *elements;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(*position));
      context.set_list(0, std::move(shorter));
      return ok_status();
    }
  }
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

// The parts of a split along `axis`, each with its extent and, when that is known, its value.
ListElements parts_of(const InferContext& context, int axis, const std::vector<int64_t>& sizes,
                      bool keep_axis) {
  const ConstValue* value = context.value(0);
  const Shape& x = context.shape(0);
  ListElements parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    Dims dims = x.dims();
    dims[static_cast<size_t>(axis)] = Dim(size);
    ListElement part{context.dtype(0), Shape(dims), nullptr};
    if (value != nullptr && part.shape.is_static()) {
      const Extents strides = row_major_strides(value->extents);
      ConstValue own = empty_value(value->dtype, part.shape.extents());
      for (const int64_t position :
           strided_positions(own.extents, strides, start * strides[static_cast<size_t>(axis)])) {
        append_element_of(*value, position, &own);
      }
      part.value = std::make_shared<const ConstValue>(std::move(own));
    }
    if (!keep_axis) {
      dims.erase(dims.begin() + axis);
      part.shape = Shape(std::move(dims));
      if (part.value != nullptr) {
        ConstValue flat = *part.value;
        flat.extents = part.shape.extents();
        part.value = std::make_shared<const ConstValue>(std::move(flat));
      }
    }
    parts.push_back(std::move(part));
    start += size;
  }
  return parts;
}

// The sizes of all parts of SplitToSequence when they are known and not too many.
StatusOr<std::optional<std::vector<int64_t>>> sizes_of_split(const InferContext& context,
                                                             Dim extent) {
  using Result = std::optional<std::vector<int64_t>>;
  constexpr auto kMost = static_cast<int64_t>(kMaxListElements);
  if (!extent.known()) {
    return Result();
  }
  int64_t size = 1;
  if (context.has_input(1)) {
    const auto given = context.ints(1);
    if (!given || given->empty()) {
      return Result();
    }
    if (context.shape(1).rank() != 0) {
      Count sum(0);
      for (const int64_t part : *given) {
        if (part < 0) {
          return context.error(fmt::format("a part has the size {}; expected 0 or more", part));
        }
        sum += Count(part);
      }
      if (sum != Count(extent.extent())) {
        return context.error(
            fmt::format("the parts add up to {}, the axis has {}", sum.value(), extent.extent()));
      }
      return Result(*given);
    }
    size = (*given)[0];
    if (size < 1) {
      return context.error(fmt::format("a part has the size {}; expected 1 or more", size));
    }
  }
  if ((extent.extent() + size - 1) / size > kMost) {
    return Result();
  }
  std::vector<int64_t> sizes;
  for (int64_t rest = extent.extent(); rest > 0; rest -= size) {
    sizes.push_back(std::min(size, rest));
  }
  return Result(std::move(sizes));
}

// Into parts of one size, or of the sizes listed; without a size into slices of 1.
Status infer_split_to_sequence(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", 0), x.rank()));
  DFSIM_ASSIGN_OR_RETURN(const auto sizes_of_parts, sizes_of_split(context, x[axis]));
  if (sizes_of_parts) {
    const bool keep = context.has_input(1) || context.attributes().int_or("keepdims", 1) != 0;
    context.set_list(0, parts_of(context, axis, *sizes_of_parts, keep));
    return ok_status();
  }
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

// The joined value of elements that all have one. The output is a row of blocks, one per element,
// for each index of the axes in front of the joined (or new) one.
void join_values(InferContext& context, const ListElements& elements, int axis) {
  const Extents extents = context.output_shape(0).extents();
  const auto all_known =
      std::all_of(elements.begin(), elements.end(),
                  [](const ListElement& element) { return element.value != nullptr; });
  if (!all_known || elements.empty() || small_product(extents) > kMaxConstElements) {
    return;
  }
  size_t rows = 1;
  for (int i = 0; i < axis; ++i) {
    rows *= static_cast<size_t>(extents[static_cast<size_t>(i)]);
  }
  ConstValue out = empty_value(elements[0].dtype, extents);
  for (size_t row = 0; row < rows; ++row) {
    for (const ListElement& element : elements) {
      const size_t block = element.value->size() / rows;
      for (size_t k = row * block; k < (row + 1) * block; ++k) {
        append_element_of(*element.value, static_cast<int64_t>(k), &out);
      }
    }
  }
  if (static_cast<int64_t>(out.size()) == small_product(extents)) {
    context.set_value(0, std::move(out));
  }
}

Status infer_concat_from_sequence(InferContext& context) {
  const Shape& x = context.shape(0);
  const int64_t length = context.sequence_length(0);
  if (!x.has_rank() || length < 0) {
    return ok_status();
  }
  const bool new_axis = context.attributes().int_or("new_axis", 0) != 0;
  const auto elements = context.elements(0);
  DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(context.attributes().int_or("axis", 0),
                                                      x.rank() + (new_axis ? 1 : 0)));
  Dims dims = x.dims();
  if (new_axis) {
    dims.insert(dims.begin() + axis, Dim(length));
  } else if (elements != nullptr) {
    Count sum(0);
    bool known = true;
    for (const ListElement& element : *elements) {
      known = known && axis < element.shape.rank() && element.shape[axis].known();
      sum += known ? Count(element.shape[axis].extent()) : Count(0);
    }
    dims[static_cast<size_t>(axis)] = known && !sum.overflowed() ? Dim(sum.value()) : Dim();
  } else if (x[axis].known()) {
    dims[static_cast<size_t>(axis)] = Dim((Count(x[axis].extent()) * Count(length)).value());
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  if (elements != nullptr && context.output_shape(0).is_static()) {
    join_values(context, *elements, axis);
  }
  return ok_status();
}

// Optional, OptionalGetElement: what is inside.
Status infer_optional(InferContext& context) {
  if (!context.has_input(0)) {
    return ok_status();
  }
  if (const auto elements = context.elements(0)) {
    context.set_list(0, *elements);
  } else if (context.is_sequence(0)) {
    context.set_sequence(0, context.dtype(0), context.shape(0), context.sequence_length(0));
  } else {
    context.set_output(0, context.dtype(0), context.shape(0));
  }
  return ok_status();
}

Status infer_optional_has_element(InferContext& context) {
  context.set_output(0, DType::kBool, Shape::scalar());
  // An optional without an input is empty; a constant is there.
  if (!context.has_input(0) || context.value(0) != nullptr) {
    context.set_value(0, ConstValue{DType::kBool, {}, {int64_t{context.has_input(0)}}, {}});
  }
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
     .work = work_none, .fold = fold_reshape},
    {.op_type = "OptionalHasElement", .op_class = OpClass::kConstant,
     .infer = infer_optional_has_element, .work = work_none, .required_inputs = 0},
};
// clang-format on

}  // namespace

OpFamily sequence_op_defs() { return {kSequenceOps}; }

}  // namespace dfsim::inline graphs
