// The backward operators that dfsim's own training graphs consist of: their shapes, work and
// factors, in this order, then the table. Their work follows the forward operator's arithmetic,
// whose attributes they carry; their factors let a training step be split as its forward pass
// is.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

// ---- shapes

// The gradients of input 1 and those behind it.
Status infer_operand_gradients(InferContext& context) {
  for (size_t o = 0; o < context.output_count(); ++o) {
    context.set_output(o, context.dtype(o + 1), context.shape(o + 1));
  }
  return ok_status();
}

// As the operands that the attribute `operands` counts.
Status infer_backward(InferContext& context) {
  const auto* operands = context.attributes().get_ints("operands");
  for (size_t o = 0; operands != nullptr && o < context.output_count(); ++o) {
    const int64_t operand = o < operands->size() ? (*operands)[o] : -1;
    if (operand < 0 || operand >= static_cast<int64_t>(context.input_count())) {
      return context.error(fmt::format("output {} has no operand", o));
    }
    context.set_output(o, context.dtype(static_cast<size_t>(operand)),
                       context.shape(static_cast<size_t>(operand)));
  }
  return ok_status();
}

Status infer_gather_gradient(InferContext& context) {
  const auto* extents = context.attributes().get_ints("shape");
  const bool sound =
      extents != nullptr && std::all_of(extents->begin(), extents->end(),
                                        [](int64_t e) { return e >= 0 && e <= kMaxExtent; });
  if (!sound) {
    return context.error("has no attribute 'shape' with extents");
  }
  context.set_output(0, context.dtype(0), Shape::of(*extents));
  return ok_status();
}

// ---- work

// As many operations per element as the attribute says.
void work_elementwise_gradient(WorkContext& context) {
  const int64_t flops = context.op().attributes.int_or("flops", 1);
  context.add_flops(context.first_output().shape.elements(),
                    static_cast<double>(std::clamp<int64_t>(flops, 0, 1 << 20)));
}

// Per element of the gradient that comes in.
void work_per_gradient_element(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements(), context.flops_per_element());
}

// One kernel makes the gradient of the input, another one those of scale and offset: where there
// are any, gradient and input are read twice. Batch normalisation's kernel may keep a channel on
// the chip and read it once.
void work_norm_gradient(WorkContext& context) {
  work_per_gradient_element(context);
  if (context.op().attributes.string_or("of", "") == "BatchNormalization") {
    return;
  }
  for (size_t i = 0; i < 2 && context.op().outputs.size() > 1; ++i) {
    context.set_input_bytes(i, context.input(i).bytes() * Count(2));
  }
}

// Twice the forward operator's arithmetic: one product for each of two operands.
void work_backward(WorkContext& context) {
  const auto of_forward = [&context](std::string_view name) {
    return Count(std::max<int64_t>(0, context.op().attributes.int_or(name, 0)));
  };
  context.add_macs(of_forward("macs") * Count(2));
  context.add_flops(of_forward("other_flops") * Count(2));
  if (of_forward("macs") != Count(0)) {
    context.set_matrix();
  }
}

// Scores again, then two products for the values and their weights, two for queries and keys.
void work_attention_gradient(WorkContext& context) {
  const Shape& q = context.input(1).shape;
  const Shape& k = context.input(2).shape;
  const Shape& v = context.input(3).shape;
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) {
    return;  // not what graphs/training makes
  }
  const Count scores =
      Count(q[0].extent()) * Count(q[1].extent()) * Count(q[2].extent()) * Count(k[2].extent());
  context.add_macs(scores * (Count(3) * Count(q[3].extent()) + Count(2) * Count(v[3].extent())));
  context.add_flops(scores, 11);  // softmax again, and its gradient
  context.set_matrix();
}

// ---- factors

// Which axes of the input a normalisation takes together, and which axis has a scale each.
struct NormAxes {
  std::vector<bool> whole;
  int scaled_from = 0;  // the scale's last axis belongs to this one
};

NormAxes norm_axes(FactorContext& context) {
  const std::string of = context.attributes().string_or("of", "");
  const int rank = context.input(1).rank();
  NormAxes axes{std::vector<bool>(static_cast<size_t>(rank), false), rank - 1};
  const auto take = [&](int first, int end) {
    for (int axis = std::max(first, 0); axis < std::min(end, rank); ++axis) {
      axes.whole[static_cast<size_t>(axis)] = true;
    }
  };
  if (of == "BatchNormalization") {
    axes.scaled_from = 1;  // statistics are those of the device's part of the batch
  } else if (of == "InstanceNormalization") {
    axes.scaled_from = 1;
    take(2, rank);
  } else if (of == "GroupNormalization") {
    axes.scaled_from = 1;
    take(1, rank);
  } else {
    take(FactorContext::axis(context.attributes().int_or("axis", -1), rank), rank);
  }
  return axes;
}

// Axes that are not normalised: parallel for the input's gradient, summed up for those of scale and
// offset where these lack them.
void factors_norm_gradient(FactorContext& context) {
  const Shape& x = context.input(1);
  const NormAxes axes = norm_axes(context);
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axes.whole[static_cast<size_t>(axis)]) {
      continue;
    }
    const int factor =
        context.add(fmt::format("dim{}", axis), context.in_extent(1, axis), Reduction::kSum);
    context.carry_in(0, axis, factor);
    context.carry_in(1, axis, factor);
    context.carry_out(0, axis, factor);
    for (size_t i = 2; i < context.input_count(); ++i) {
      const int dim = axis - (axes.scaled_from - (context.input(i).rank() - 1));
      if (dim >= 0 && dim < context.input(i).rank() && context.in_extent(i, dim) != 1) {
        context.carry_in(i, dim, factor);
        context.carry_out(i - 1, dim, factor);
      }
    }
  }
}

// Rows are added where indices say: parts of the indices make partial sums, and a device with some
// of the rows adds what belongs to those.
void factors_gather_gradient(FactorContext& context) {
  const int rank = context.output(0).rank();
  const int picked = context.input(1).rank();
  const int axis = FactorContext::axis(context.attributes().int_or("axis", 0), rank);
  for (int dim = 0; dim < rank; ++dim) {
    if (dim != axis) {
      const int factor = context.add(fmt::format("dim{}", dim), context.out_extent(0, dim));
      context.carry_in(0, dim < axis ? dim : dim - 1 + picked, factor);
      context.carry_out(0, dim, factor);
    }
  }
  for (int dim = 0; dim < picked; ++dim) {
    const int factor =
        context.add(fmt::format("index{}", dim), context.in_extent(1, dim), Reduction::kSum);
    context.carry_in(0, axis + dim, factor);
    context.carry_in(1, dim, factor);
  }
  context.carry_out(0, axis, context.add("rows", context.out_extent(0, axis)));
  context.map().shape_attribute = "shape";
}

void factors_softmax_gradient(FactorContext& context) {
  factors_softmax(context);
  if (context.input(1).rank() != context.input(0).rank()) {
    context.set_unsplittable("its operands have different ranks");
    return;
  }
  for (int dim = 0; dim < context.input(1).rank(); ++dim) {
    const FactorDim& carried = context.map().inputs[0][static_cast<size_t>(dim)];
    context.carry_in(1, dim, carried.factor, carried.block);
  }
}

void factors_sgd(FactorContext& context) {
  for (int axis = 0; axis < context.input(0).rank(); ++axis) {
    const int factor = context.add(fmt::format("dim{}", axis), context.in_extent(0, axis));
    context.carry_in(0, axis, factor);
    context.carry_in(1, axis, factor);
    context.carry_out(0, axis, factor);
  }
}

// Batch and heads; with fewer heads of keys than of queries the heads stay whole.
void factors_attention_gradient(FactorContext& context) {
  for (int dim = 0; dim < 2; ++dim) {
    if (context.in_extent(1, dim) != context.in_extent(2, dim)) {
      continue;
    }
    const int factor = context.add(dim == 0 ? "batch" : "heads", context.in_extent(1, dim));
    for (size_t i = 0; i < context.input_count(); ++i) {
      if (dim < context.input(i).rank() && context.in_extent(i, dim) != 1) {
        context.carry_in(i, dim, factor);
      }
    }
    for (size_t o = 0; o < context.output_count(); ++o) {
      context.carry_out(o, dim, factor);
    }
  }
}

// Weights change in place; the result stands for "done".
Status infer_list_update(InferContext& context) {
  context.set_output(0, context.dtype(0), Shape::scalar());
  return ok_status();
}

void work_list_update(WorkContext& context) {
  const Attributes& attributes = context.op().attributes;
  const Count given(std::max<int64_t>(0, attributes.int_or("elements", 0)));
  const Count elements = given.value() > 0 ? given : context.input(0).shape.elements();
  const auto bytes = [&](std::string_view name) {
    return dtype_bytes(context.first_output().dtype, elements) *
           Count(std::max<int64_t>(0, attributes.int_or(name, 1)));
  };
  context.set_no_traffic();
  context.set_input_bytes(0, bytes("reads"));
  context.set_written_bytes(bytes("writes"));
  context.add_flops(elements, static_cast<double>(attributes.int_or("flops", 1)));
}

// clang-format off
constexpr OpDef kGradientOps[] = {
    {.op_type = "AttentionGrad", .op_class = OpClass::kAttention, .infer = infer_operand_gradients,
     .work = work_attention_gradient, .required_inputs = 4, .domain = kTrainingDomain,
     .factors = factors_attention_gradient},
    {.op_type = "Backward", .infer = infer_backward, .work = work_backward,
     .domain = kTrainingDomain},
    {.op_type = "ElementwiseGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_elementwise_gradient, .domain = kTrainingDomain},
    {.op_type = "GatherGrad", .op_class = OpClass::kGather, .infer = infer_gather_gradient,
     .work = work_per_gradient_element, .flops_per_element = 1, .required_inputs = 2,
     .domain = kTrainingDomain, .factors = factors_gather_gradient},
    // difference to a target, scaled by the number of elements
    {.op_type = "LossGrad", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .domain = kTrainingDomain},
    {.op_type = "ListUpdate", .op_class = OpClass::kOptimizer, .infer = infer_list_update,
     .work = work_list_update, .domain = kTrainingDomain},
    // sums of the gradient and of its product with the input, then the input's gradient
    {.op_type = "NormGrad", .op_class = OpClass::kNorm, .infer = infer_operand_gradients,
     .work = work_norm_gradient, .flops_per_element = 11, .required_inputs = 2,
     .domain = kTrainingDomain, .factors = factors_norm_gradient},
    {.op_type = "SgdUpdate", .op_class = OpClass::kOptimizer, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2,
     .domain = kTrainingDomain, .factors = factors_sgd},
    // sum of what comes in, its product with the result, difference
    {.op_type = "SoftmaxGrad", .op_class = OpClass::kSoftmax, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 4, .required_inputs = 2,
     .domain = kTrainingDomain, .factors = factors_softmax_gradient},
};
// clang-format on

constexpr WorkNote kGradientNotes[] = {
    {work_elementwise_gradient, "one more per element than the forward operator"},
    {work_per_gradient_element, "{} per element of the gradient"},
    {work_norm_gradient,
     "{} per element of the gradient; gradient and input are read twice for scale and offset, "
     "except by batch normalisation"},
    {work_attention_gradient,
     "MACs = scores x (3 x size of a head + 2 x size of a value); 11 per score for the softmax"},
    {work_list_update, "one operation of an optimiser on a list of weights, in place"},
    {work_backward, "twice the forward operator's MACs and FLOPs"},
};

}  // namespace

OpFamily gradient_op_defs() { return {kGradientOps, kGradientNotes}; }

// x [N, C, ...], gradient [N, M, ...]: the filter [M, C / group, kernel...].
void factors_filter_gradient(FactorContext& context) {
  const int64_t group = std::max<int64_t>(1, context.attributes().int_or("group", 1));
  const int batch = context.add("batch", context.in_extent(0, 0), Reduction::kSum);
  context.carry_in(0, 0, batch);
  context.carry_in(1, 0, batch);
  if (group == 1) {
    const int out = context.add("channels_out", context.out_extent(0, 0));
    context.carry_in(1, 1, out);
    context.carry_out(0, 0, out);
    const int in = context.add("channels_in", context.in_extent(0, 1));
    context.carry_in(0, 1, in);
    context.carry_out(0, 1, in);
  } else {
    const int groups = context.add("group", group);
    context.carry_in(0, 1, groups, context.in_extent(0, 1) / group);
    context.carry_in(1, 1, groups, context.in_extent(1, 1) / group);
    context.carry_out(0, 0, groups, context.out_extent(0, 0) / group);
    context.map().divided_attributes.emplace_back("group", groups);
  }
  context.map().shape_attribute = "shape";
}

// Batch and channels of gradient, input and result.
void factors_pool_gradient(FactorContext& context) {
  for (int dim = 0; dim < 2; ++dim) {
    const int factor = context.add(dim == 0 ? "batch" : "channels", context.out_extent(0, dim));
    for (size_t i = 0; i < context.input_count(); ++i) {
      context.carry_in(i, dim, factor);
    }
    context.carry_out(0, dim, factor);
  }
  context.map().shape_attribute = "shape";
}

// Axes that the slice or the resizing left as they were.
void factors_slice_gradient(FactorContext& context) {
  if (context.input(0).rank() != context.output(0).rank()) {
    context.set_unsplittable("its gradient has another number of axes than its input");
    return;
  }
  for (int dim = 0; dim < context.output(0).rank(); ++dim) {
    if (context.in_extent(0, dim) == context.out_extent(0, dim)) {
      const int factor = context.add(fmt::format("dim{}", dim), context.out_extent(0, dim));
      context.carry_in(0, dim, factor);
      context.carry_out(0, dim, factor);
    }
  }
  context.map().shape_attribute = "shape";
}

}  // namespace dfsim::inline graphs
