// Gradients of operators that move, rename or pick elements.
#include <algorithm>

#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/training/gradient_context.h"

namespace dfsim::inline graphs {
namespace {

void gradient_of_transpose(GradientContext& context) {
  const int rank = context.shape(0).rank();
  const auto* perm = context.attributes().get_ints("perm");
  std::vector<int64_t> inverse(static_cast<size_t>(rank));
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t from = perm != nullptr ? (*perm)[static_cast<size_t>(axis)] : rank - 1 - axis;
    inverse[static_cast<size_t>(from < 0 ? from + rank : from)] = axis;
  }
  const bool view = context.op().op_class == OpClass::kView;
  context.set(0, context.transpose(context.gradient(), inverse, view));
}

void gradient_of_reshape(GradientContext& context) {
  context.set(0, context.reshape(context.gradient(), context.shape(0)));
}

int64_t axis_of(const GradientContext& context, const Shape& shape) {
  const int64_t axis = context.attributes().int_or("axis", 0);
  return axis < 0 ? axis + shape.rank() : axis;
}

// Each part its run of the gradient.
void gradient_of_concat(GradientContext& context) {
  const int64_t axis = axis_of(context, context.output(0).shape);
  std::vector<Shape> shapes;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < context.input_count(); ++i) {
    shapes.push_back(context.shape(i));
    sizes.push_back(context.shape(i)[static_cast<int>(axis)].extent());
  }
  const auto parts = context.emit_many("", "Split", {context.gradient(), context.ints(sizes)},
                                       shapes, {{"axis", axis}});
  for (size_t i = 0; i < parts.size(); ++i) {
    context.set(i, parts[i]);
  }
}

TensorId into_zeros(GradientContext& context, TensorId gradient) {
  return context.emit(kTensorFlow, "SliceGrad", {gradient}, context.shape(0),
                      {{"shape", context.shape(0).extents()}});
}

// Unused parts have no gradient: then zeros surround the others.
void gradient_of_split(GradientContext& context) {
  std::vector<TensorId> parts;
  for (size_t o = 0; o < context.op().outputs.size(); ++o) {
    if (context.gradient(o).valid()) {
      parts.push_back(context.gradient(o));
    }
  }
  if (parts.size() == context.op().outputs.size()) {
    context.set(0, context.emit("", "Concat", std::move(parts), context.shape(0),
                                {{"axis", axis_of(context, context.shape(0))}}));
    return;
  }
  TensorId sum;
  for (const TensorId part : parts) {
    const TensorId whole = into_zeros(context, part);
    sum = sum.valid() ? context.emit("", "Add", {sum, whole}, context.shape(0)) : whole;
  }
  context.set(0, sum);
}

void gradient_of_slice(GradientContext& context) {
  context.set(0, into_zeros(context, context.gradient()));
}

void gradient_of_resize(GradientContext& context) {
  context.set(0, context.emit(kTensorFlow, "ResizeGrad", {context.gradient()}, context.shape(0),
                              {{"shape", context.shape(0).extents()}}));
}

void gradient_of_gather(GradientContext& context) {
  if (context.wanted(0)) {
    context.set(0, context.emit(kTrainingDomain, "GatherGrad",
                                {context.gradient(), context.value(1)}, context.shape(0),
                                {{"axis", axis_of(context, context.shape(0))},
                                 {"shape", context.shape(0).extents()}}));
  }
}

// The mask says which values were dropped.
void gradient_of_dropout(GradientContext& context) {
  const bool drops = context.op().op_class != OpClass::kView && context.op().outputs.size() > 1 &&
                     context.op().outputs[1].valid();
  if (!drops) {
    gradient_of_reshape(context);
    return;
  }
  const TensorId gradient = context.gradient();
  context.set(0, context.emit(kTrainingDomain, "ElementwiseGrad", {gradient, context.result(1)},
                              context.shape_of(gradient),
                              {{"of", std::string("Dropout")}, {"flops", int64_t{2}}}));
}

void gradient_of_expand(GradientContext& context) {
  context.set(0, context.sum_to(context.gradient(), context.shape(0)));
}

void gradient_of_cast(GradientContext& context) {
  const DType dtype = context.input(0).dtype;
  context.set(0, context.emit_as(dtype, "", "Cast", {context.gradient()}, context.shape(0),
                                 {{"to", int64_t{dtype_to_onnx(dtype)}}}));
}

// Only which side was taken matters.
void gradient_of_where(GradientContext& context) {
  for (size_t i = 1; i < 3; ++i) {
    if (context.wanted(i)) {
      const TensorId gradient = context.gradient();
      const TensorId taken = context.emit(kTrainingDomain, "ElementwiseGrad",
                                          {gradient, context.value(0)}, context.shape_of(gradient),
                                          {{"of", std::string("Where")}, {"flops", int64_t{1}}});
      context.set(i, context.sum_to(taken, context.shape(i)));
    }
  }
}

}  // namespace

std::vector<GradientEntry> layout_gradients() {
  return {{"Transpose", gradient_of_transpose}, {"Reshape", gradient_of_reshape},
          {"Flatten", gradient_of_reshape},     {"Squeeze", gradient_of_reshape},
          {"Unsqueeze", gradient_of_reshape},   {"Identity", gradient_of_reshape},
          {"Dropout", gradient_of_dropout},     {"Concat", gradient_of_concat},
          {"Split", gradient_of_split},         {"Slice", gradient_of_slice},
          {"Resize", gradient_of_resize},       {"Upsample", gradient_of_resize},
          {"Gather", gradient_of_gather},       {"Expand", gradient_of_expand},
          {"Cast", gradient_of_cast},           {"Where", gradient_of_where}};
}

}  // namespace dfsim::inline graphs
