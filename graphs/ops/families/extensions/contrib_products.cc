// Operators of ONNX Runtime (com.microsoft) for distances, projections fused with norms, biases of
// relative positions, lookups, padding, crops and Fourier transforms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/ops/families/extensions/contrib_ops.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

// ---- Products.

Status infer_int16_product(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, context.shape(0), context.shape(1)));
  context.set_output(0, DType::kInt32, std::move(shape));
  return ok_status();
}

void work_product(WorkContext& context) {
  const Shape& a = context.input(0).shape;
  context.add_macs(context.output(0).shape.elements() * Count(a[a.rank() - 1].extent()));
  context.set_matrix();
}

// A [M, K], B [N, K]: distances [M, N].
Status infer_distances(InferContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  if (!a.has_rank() || !b.has_rank()) {
    return ok_status();
  }
  if (a.rank() != 2 || b.rank() != 2 || (a[1].known() && b[1].known() && a[1] != b[1])) {
    return context.error(fmt::format("inputs {} and {}: expected two matrices of as many columns",
                                     format_shape(a), format_shape(b)));
  }
  context.set_output(0, context.dtype(0), Shape({a[0], b[0]}));
  return ok_status();
}

// A product, the squares of both operands' elements, and two sums per distance, of which Euclid's
// takes the root.
void work_distances(WorkContext& context) {
  work_product(context);
  const bool root = context.op().attributes.string_or("metric", "sqeuclidean") == "euclidean";
  context.add_flops(context.input(0).shape.elements() + context.input(1).shape.elements(), 2);
  context.add_flops(context.output(0).shape.elements(), root ? 3 : 2);
}

// A, scale of A, B, scale of B, scale of Y, bias, C, scale of C.
Status infer_ordered_product(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, context.shape(0), context.shape(2)));
  context.set_output(0, DType::kInt8, std::move(shape));
  return ok_status();
}

void work_ordered_product(WorkContext& context) {
  work_product(context);
  add_bias(context, 5);
  add_bias(context, 6);
  context.add_flops(context.output(0).shape.elements(), 2);  // requantise: scale and round
  context.set_dtype(DType::kInt8);
}

// A [..., K] normalised, then projected by weights of few bits to queries, keys and values, or to a
// gate and what it scales.
Shape with_columns(const Shape& a, int64_t columns) {
  if (!a.has_rank() || a.rank() == 0 || columns < 1) {
    return Shape();
  }
  Dims dims = a.dims();
  dims.back() = Dim(columns);
  return Shape(std::move(dims));
}

Status infer_bits_qkv(InferContext& context) {
  const Shape& a = context.shape(0);
  const Attributes& given = context.attributes();
  context.set_output(0, context.dtype(0), with_columns(a, given.int_or("Nq", 0)));
  for (const size_t i : {1, 2}) {
    context.set_output(i, context.dtype(0), with_columns(a, given.int_or("Nkv", 0)));
  }
  context.set_output(3, context.dtype(0), a);
  return ok_status();
}

Status infer_bits_mlp(InferContext& context) {
  const Shape& a = context.shape(0);
  context.set_output(0, context.dtype(0), with_columns(a, context.attributes().int_or("N", 0)));
  context.set_output(1, context.dtype(0), a);
  return ok_status();
}

void add_bits_work(WorkContext& context, Count columns) {
  const Tensor& a = context.input(0);
  const Count length(a.shape[a.shape.rank() - 1].extent());
  context.add_macs(a.shape.elements() * columns);
  context.add_flops(length * columns, 2);  // unpacks the weights
  if (context.has_input(2)) {
    context.add_flops(a.shape.elements(), context.has_input(1) ? 6 : 4);  // the norm
  }
  context.set_matrix();
  context.set_dtype(a.dtype);
}

void work_bits_qkv(WorkContext& context) {
  const Attributes& given = context.op().attributes;
  add_bits_work(context, Count(std::max<int64_t>(0, given.int_or("Nq", 0))) +
                             Count(2) * Count(std::max<int64_t>(0, given.int_or("Nkv", 0))));
}

void work_bits_mlp(WorkContext& context) {
  const Count columns(std::max<int64_t>(0, context.op().attributes.int_or("N", 0)));
  add_bits_work(context, columns * Count(2));
  context.add_flops(context.output(0).shape.elements(), 6);  // SiLU of the gate, a product
}

// ---- Biases of relative positions.

// Table [buckets, heads], numbers of queries and keys: [1, heads, queries, keys].
Status infer_position_bias(InferContext& context) {
  const Shape& table = context.shape(0);
  const auto queries = context.ints(1);
  const auto keys = context.ints(2);
  const auto extent = [](const auto& list) {
    return list && list->size() == 1 && (*list)[0] >= 0 ? Dim((*list)[0]) : Dim::unknown();
  };
  if (table.rank() == 2) {
    context.set_output(0, context.dtype(0),
                       Shape({Dim(1), table[1], extent(queries), extent(keys)}));
  }
  return ok_status();
}

// query_layer [B, S, heads x size], query_bias, rel_pos [1, heads, S, S], weight [size, D], ...
Status infer_gated_position_bias(InferContext& context) {
  const Shape& rel_pos = context.shape(2);
  const Shape& query = context.shape(0);
  if (rel_pos.rank() == 4 && query.rank() == 3) {
    context.set_output(0, context.dtype(0), Shape({query[0], rel_pos[1], rel_pos[2], rel_pos[3]}));
  }
  return ok_status();
}

// Each query of each head meets the gate's weight; three operations per bias.
void work_gated_position_bias(WorkContext& context) {
  const Shape& weight = context.input(3).shape;
  if (weight.rank() == 2) {
    context.add_macs(context.input(0).shape.elements() * Count(weight[1].extent()));
  }
  context.add_flops(context.output(0).shape.elements(), 3);
}

// ---- Lookups, padding, slices, crops.

Status infer_embedding(InferContext& context) {
  const Shape& table = context.shape(0);
  const Shape& rows = context.shape(1);
  if (table.rank() != 2 || !rows.has_rank()) {
    return ok_status();
  }
  Dims dims = rows.dims();
  dims.push_back(table[1]);
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// [B, S, H] to [tokens, H], at most all; the places of the tokens, their running sums, the longest.
Status infer_remove_padding(InferContext& context) {
  const Shape& x = context.shape(0);
  if (x.rank() != 3 || !x.is_static()) {
    return ok_status();
  }
  const Count tokens = Count(x[0].extent()) * Count(x[1].extent());
  context.set_output(0, context.dtype(0), Shape({Dim(tokens.value()), x[2]}));
  context.mark_data_dependent(0);
  context.set_output(1, DType::kInt32, Shape({x[0], x[1]}));
  context.set_output(2, DType::kInt32, Shape({Dim(x[0].extent() + 1)}));
  context.set_output(3, DType::kInt32, Shape({Dim(1)}));
  return ok_status();
}

// [tokens, H], places [B, S]: [B, S, H].
Status infer_restore_padding(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& places = context.shape(1);
  if (x.rank() == 2 && places.rank() == 2) {
    context.set_output(0, context.dtype(0), Shape({places[0], places[1], x[1]}));
  }
  return ok_status();
}

// All slices of `size` along `dim`, which become an axis of their own.
Status infer_unfold(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  const int64_t size = context.attributes().int_or("size", 1);
  const int64_t step = context.attributes().int_or("step", 1);
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("dim", -1), x.rank()));
  Dims dims = x.dims();
  Dim& dim = dims[static_cast<size_t>(axis)];
  if (size < 1 || step < 1 || (dim.known() && dim.extent() < size)) {
    return context.error(fmt::format("slices of {} in steps of {} of {}: expected some that fit",
                                     size, step, format_shape(x)));
  }
  dim = dim.known() ? Dim((dim.extent() - size) / step + 1) : dim;
  dims.emplace_back(size);
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// X [N, C, H, W], regions [R, 4], their images, extents of a crop: [R, C, height, width].
Status infer_crops(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& regions = context.shape(1);
  const auto size = context.ints(3);
  if (x.rank() == 4 && regions.rank() == 2 && size && size->size() == 2) {
    context.set_output(0, context.dtype(0),
                       Shape({regions[0], x[1], Dim((*size)[0]), Dim((*size)[1])}));
  }
  return ok_status();
}

// ---- Fourier transforms of real signals, halved: [..., n] and [..., n / 2 + 1, 2].

Status infer_rfft(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank() || x.rank() == 0) {
    return ok_status();
  }
  Dims dims = x.dims();
  dims.back() = dims.back().known() ? Dim(dims.back().extent() / 2 + 1) : dims.back();
  dims.emplace_back(2);
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_irfft(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank() || x.rank() < 2) {
    return ok_status();
  }
  Dims dims(x.dims().begin(), x.dims().end() - 1);
  dims.back() = dims.back().known() && dims.back().extent() > 0
                    ? Dim(2 * (dims.back().extent() - 1))
                    : dims.back();
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// 2.5 n log2 n of each real signal of n numbers, half of a complex one.
void work_rfft(WorkContext& context) {
  const bool forward = context.op().op_type == "Rfft";
  const Shape& real = forward ? context.input(0).shape : context.output(0).shape;
  const int64_t axes =
      std::clamp<int64_t>(context.op().attributes.int_or("signal_ndim", 1), 1, real.rank());
  double points = 1;
  for (int64_t axis = real.rank() - axes; axis < real.rank(); ++axis) {
    points *= static_cast<double>(real[static_cast<int>(axis)].extent());
  }
  context.add_flops(real.elements(), 2.5 * std::log2(std::max(points, 1.0)));
}

// clang-format off
constexpr OpDef kContribProductOps[] = {
    {.op_type = "MatMulInteger16", .op_class = OpClass::kMatMul, .infer = infer_int16_product,
     .work = work_product, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "CDist", .op_class = OpClass::kMatMul, .infer = infer_distances,
     .work = work_distances, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "QOrderedMatMul", .op_class = OpClass::kMatMul, .infer = infer_ordered_product,
     .work = work_ordered_product, .required_inputs = 5, .domain = kMicrosoft},
    {.op_type = "MatMulNBitsQkv", .op_class = OpClass::kMatMul, .infer = infer_bits_qkv,
     .work = work_bits_qkv, .domain = kMicrosoft},
    {.op_type = "MatMulNBitsMlp", .op_class = OpClass::kMatMul, .infer = infer_bits_mlp,
     .work = work_bits_mlp, .domain = kMicrosoft},
    // the bucket of a distance: a comparison, a logarithm and its scale
    {.op_type = "RelativePositionBias", .op_class = OpClass::kGather, .infer = infer_position_bias,
     .work = work_per_element, .flops_per_element = 5, .required_inputs = 3, .domain = kMicrosoft},
    {.op_type = "GatedRelativePositionBias", .op_class = OpClass::kMatMul,
     .infer = infer_gated_position_bias, .work = work_gated_position_bias, .required_inputs = 6,
     .domain = kMicrosoft},
    {.op_type = "TorchEmbedding", .op_class = OpClass::kGather, .infer = infer_embedding,
     .work = work_copy, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "RemovePadding", .op_class = OpClass::kDataMovement, .infer = infer_remove_padding,
     .work = work_copy, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "RestorePadding", .op_class = OpClass::kDataMovement,
     .infer = infer_restore_padding, .work = work_copy, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "UnfoldTensor", .op_class = OpClass::kDataMovement, .infer = infer_unfold,
     .work = work_copy, .domain = kMicrosoft},
    // bilinear: three mixes of two products and a sum
    {.op_type = "CropAndResize", .op_class = OpClass::kDataMovement, .infer = infer_crops,
     .work = work_per_element, .flops_per_element = 9, .required_inputs = 4, .domain = kMicrosoft},
    {.op_type = "Rfft", .infer = infer_rfft, .work = work_rfft, .domain = kMicrosoft},
    {.op_type = "Irfft", .infer = infer_irfft, .work = work_rfft, .domain = kMicrosoft},
};
// clang-format on

constexpr WorkNote kContribProductNotes[] = {
    {work_product, "MACs = output elements x contracted length"},
    {work_distances, "as a product; 2 per element of both operands, 2 or 3 per distance"},
    {work_ordered_product, "as a product on 8-bit integers; 2 per output element to requantise"},
    {work_bits_qkv, "MACs = rows x K x columns; 2 per weight element to unpack it, 4 for the norm"},
    {work_bits_mlp,
     "MACs = rows x K x 2 N; 2 per weight element to unpack it, 6 per output element, the norm"},
    {work_gated_position_bias, "MACs = query elements x columns of the gate; 3 per bias"},
    {work_rfft, "2.5 log2(points) per real number"},
};

}  // namespace

OpFamily contrib_products_op_defs() { return {kContribProductOps, kContribProductNotes}; }

}  // namespace dfsim::inline graphs
