// Operators whose result does not depend on activations' values: shapes, ranges, fills, random.
#include <fmt/format.h>

#include <cmath>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// The slice [start, end) of the dimensions, clamped (attributes of Shape from opset 15 on).
std::pair<int, int> shape_range(const InferContext& context, int rank) {
  const auto clamp = [rank](int64_t index) {
    return static_cast<int>(std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank));
  };
  const int start = clamp(context.attributes().int_or("start", 0));
  return {start, std::max(start, clamp(context.attributes().int_or("end", rank)))};
}

Status infer_shape(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    context.set_output(0, DType::kInt64, Shape({Dim::unknown()}));
    return ok_status();
  }
  const auto [start, end] = shape_range(context, x.rank());
  context.set_output(0, DType::kInt64, Shape({Dim(end - start)}));
  ConstValue value{DType::kInt64, {end - start}, {}, {}};
  for (int i = start; i < end; ++i) {
    if (!x[i].known()) {
      return ok_status();
    }
    value.ints.push_back(x[i].extent());
  }
  context.set_value(0, std::move(value));
  return ok_status();
}

Status infer_size(InferContext& context) {
  context.set_output(0, DType::kInt64, Shape::scalar());
  const Shape& x = context.shape(0);
  if (x.is_static() && !x.elements().overflowed()) {
    context.set_value(0, ConstValue{DType::kInt64, {}, {x.elements().value()}, {}});
  }
  return ok_status();
}

// The dtype of ConstantOfShape's one-element `value` attribute.
Status infer_constant_of_shape(InferContext& context) {
  DType dtype = DType::kFloat32;
  const AttrValue* attribute = context.attributes().find("value");
  const auto* fill = attribute != nullptr ? std::get_if<ConstValue>(attribute) : nullptr;
  if (fill != nullptr) {
    dtype = fill->dtype;
  }
  const auto extents = context.ints(0);
  if (!extents) {
    return ok_status();
  }
  for (const int64_t extent : *extents) {
    if (extent < 0) {
      return context.error(fmt::format("the shape has the extent {}", extent));
    }
  }
  const Shape shape = Shape::of(*extents);
  context.set_output(0, dtype, shape);
  const Count elements = shape.elements();
  if (elements.overflowed() || elements.value() > kMaxConstElements) {
    return ok_status();
  }
  ConstValue value{dtype, *extents, {}, {}};
  const auto count = static_cast<size_t>(elements.value());
  if (is_floating(dtype)) {
    value.floats.assign(count, fill != nullptr && fill->size() > 0 ? fill->as_double(0) : 0.0);
  } else {
    value.ints.assign(count, fill != nullptr && fill->size() > 0 ? fill->as_int(0) : 0);
  }
  context.set_value(0, std::move(value));
  return ok_status();
}

Status infer_range(InferContext& context) {
  const ConstValue* start = context.value(0);
  const ConstValue* limit = context.value(1);
  const ConstValue* delta = context.value(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) {
    context.set_output(0, context.dtype(0), Shape({Dim::unknown()}));
    return ok_status();
  }
  if (start->size() != 1 || limit->size() != 1 || delta->size() != 1 || delta->as_double(0) == 0) {
    return context.error("expected scalar start, limit and a delta other than 0");
  }
  const double steps = std::ceil((limit->as_double(0) - start->as_double(0)) / delta->as_double(0));
  if (!(steps <= static_cast<double>(kMaxExtent))) {
    return context.error(
        fmt::format("start, limit and delta give no valid number of elements; "
                    "expected up to {}",
                    kMaxExtent));
  }
  const auto count = static_cast<int64_t>(std::max(steps, 0.0));
  context.set_output(0, context.dtype(0), Shape({Dim(count)}));
  if (count <= kMaxConstElements) {
    ConstValue value{context.dtype(0), {count}, {}, {}};
    for (int64_t i = 0; i < count; ++i) {
      if (is_floating(value.dtype)) {
        value.floats.push_back(start->as_double(0) + static_cast<double>(i) * delta->as_double(0));
      } else {
        const Count element = Count(start->as_int(0)) + Count(i) * Count(delta->as_int(0));
        if (element.overflowed()) {
          return ok_status();
        }
        value.ints.push_back(element.value());
      }
    }
    context.set_value(0, std::move(value));
  }
  return ok_status();
}

DType dtype_attribute(const InferContext& context, DType fallback) {
  const auto code = context.attributes().get_int("dtype");
  return code ? dtype_from_onnx(*code) : fallback;
}

Status infer_random(InferContext& context) {
  const auto* extents = context.attributes().get_ints("shape");
  if (extents == nullptr) {
    return context.error("has no shape");
  }
  for (const int64_t extent : *extents) {
    if (extent < 0) {
      return context.error(fmt::format("the shape has the extent {}", extent));
    }
  }
  context.set_output(0, dtype_attribute(context, DType::kFloat32), Shape::of(*extents));
  return ok_status();
}

Status infer_like(InferContext& context) {
  context.set_output(0, dtype_attribute(context, context.dtype(0)), context.shape(0));
  return ok_status();
}

// clang-format off
constexpr OpDef kConstantOps[] = {
    {.op_type = "Shape", .op_class = OpClass::kConstant, .infer = infer_shape, .work = work_none},
    {.op_type = "Size", .op_class = OpClass::kConstant, .infer = infer_size, .work = work_none},
    {.op_type = "ConstantOfShape", .op_class = OpClass::kConstant,
     .infer = infer_constant_of_shape},
    {.op_type = "Range", .op_class = OpClass::kConstant, .infer = infer_range,
     .work = work_per_element, .flops_per_element = 1, .required_inputs = 3},
    {.op_type = "EyeLike", .op_class = OpClass::kConstant, .infer = infer_like, .fold = fold_eye_like},
    {.op_type = "RandomNormal", .op_class = OpClass::kElementwise, .infer = infer_random,
     .work = work_per_element, .flops_per_element = 10, .required_inputs = 0,
     .factors = factors_random},
    {.op_type = "RandomUniform", .op_class = OpClass::kElementwise, .infer = infer_random,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 0,
     .factors = factors_random},
    {.op_type = "RandomNormalLike", .op_class = OpClass::kElementwise, .infer = infer_like,
     .work = work_per_element, .flops_per_element = 10, .factors = factors_random},
    {.op_type = "RandomUniformLike", .op_class = OpClass::kElementwise, .infer = infer_like,
     .work = work_per_element, .flops_per_element = 3, .factors = factors_random},
    {.op_type = "Bernoulli", .op_class = OpClass::kElementwise, .infer = infer_like,
     .work = work_per_element, .flops_per_element = 3, .factors = factors_random},
};
// clang-format on

}  // namespace

OpFamily constant_op_defs() { return {kConstantOps}; }

}  // namespace dfsim::inline graphs
