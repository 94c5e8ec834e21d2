// Operators that ONNX Runtime's optimiser and exporters emit (com.microsoft): norms, activations,
// products, fused convolutions. The other contrib_*.cc have attention, quantised operators, layouts
// and experts.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

// ---- Norms: the first output, then statistics, and the sum with the skip connection (output 3).

Status infer_skip_norm(InferContext& context) {
  const Shape& x = context.shape(0);
  context.set_output(0, context.dtype(0), x);
  context.set_output(3, context.dtype(0), x);
  if (x.has_rank() && x.rank() > 0) {
    Dims dims = x.dims();
    dims.back() = Dim(1);
    context.set_output(1, DType::kFloat32, Shape(dims));
    context.set_output(2, DType::kFloat32, Shape(std::move(dims)));
  }
  return ok_status();
}

// The norm, then the sum that it normalises.
Status infer_skip_group_norm(InferContext& context) {
  context.set_output(0, context.dtype(0), context.shape(0));
  context.set_output(1, context.dtype(0), context.shape(0));
  return ok_status();
}

// word ids [B, S], segment ids or none, then tables [vocabulary, H] of words, positions and, with
// segment ids, segments: Y, mask [B], sum of embeddings.
Status infer_embed_norm(InferContext& context) {
  if (!context.has_input(2) || !context.has_input(3)) {
    return context.error("input 2 or 3 is missing; expected tables of words and positions");
  }
  const Shape& ids = context.shape(0);
  const Shape& table = context.shape(2);
  if (ids.rank() != 2 || table.rank() != 2) {
    return ok_status();
  }
  const Shape hidden({ids[0], ids[1], table[1]});
  const bool quantised = context.op().op_type == "QEmbedLayerNormalization";
  const DType dtype = quantised ? DType::kFloat32 : context.dtype(2);
  context.set_output(0, dtype, hidden);
  context.set_output(1, DType::kInt32, Shape({ids[0]}));
  context.set_output(2, dtype, hidden);
  return ok_status();
}

// Three rows are looked up and added per position, then normalised.
void work_embed_norm(WorkContext& context) {
  const Count elements = context.first_output().shape.elements();
  context.add_flops(elements, 9);
  for (const size_t table : {2, 3, 4}) {
    if (context.has_input(table)) {
      context.set_input_bytes(table, dtype_bytes(context.input(table).dtype, elements));
    }
  }
}

// ---- Products.

Status infer_fused_matmul(InferContext& context) {
  const auto oriented = [&](size_t input, std::string_view transposed, std::string_view batch) {
    Dims dims = context.shape(input).dims();
    const size_t rank = dims.size();
    if (rank >= 3 && context.attributes().int_or(batch, 0) != 0) {
      // [a, b, ..., m, k] holds its batch in front of the last axis only.
      std::rotate(dims.begin(), dims.begin() + 1, dims.end() - 1);
    }
    if (rank >= 2 && context.attributes().int_or(transposed, 0) != 0) {
      std::swap(dims[rank - 1], dims[rank - 2]);
    }
    return context.shape(input).has_rank() ? Shape(std::move(dims)) : Shape();
  };
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, oriented(0, "transA", "transBatchA"),
                                                   oriented(1, "transB", "transBatchB")));
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

// Attribute `dtype` says what comes out.
Status infer_gemm_float8(InferContext& context) {
  DFSIM_RETURN_IF_ERROR(infer_fused_matmul(context));
  context.set_output(0, dtype_from_onnx(context.attributes().int_or("dtype", 1)),
                     context.output_shape(0));
  return ok_status();
}

void work_fused_matmul(WorkContext& context) {
  const Shape& a = context.input(0).shape;
  const bool transposed = context.op().attributes.int_or("transA", 0) != 0 && a.rank() >= 2;
  // transBatchA moves the first axis in front of the last, and transA contracts what stands there.
  const bool batch_inside = context.op().attributes.int_or("transBatchA", 0) != 0 && a.rank() >= 3;
  const Dim contracted = a[!transposed ? a.rank() - 1 : batch_inside ? 0 : a.rank() - 2];
  context.add_macs(context.output(0).shape.elements() * Count(contracted.extent()));
  context.add_flops(context.output(0).shape.elements(), context.flops_per_element());
  // One of these counts one per element for the activation; a GELU is more.
  const std::string activation = context.op().attributes.string_or("activation", "");
  if (const OpDef* def = find_op_def(kMicrosoft, activation)) {
    context.add_flops(context.output(0).shape.elements(), def->flops_per_element - 1);
  }
  context.set_matrix();
}

// A float result of integer or mixed operands 0 and 1.
Status infer_matmul_to_float(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(Shape shape, matmul_shape(context, context.shape(0), context.shape(1)));
  context.set_output(0, DType::kFloat32, std::move(shape));
  return ok_status();
}

void work_matmul_to_float(WorkContext& context) {
  work_fused_matmul(context);
  context.set_dtype(DType::kInt8);
}

// A [..., K] times a weight of N columns that is packed into 2 to 8 bits per element.
Status infer_matmul_n_bits(InferContext& context) {
  const Shape& a = context.shape(0);
  const int64_t columns = context.attributes().int_or("N", 0);
  if (!a.has_rank()) {
    return ok_status();
  }
  if (columns < 1 || a.rank() < 1) {
    return context.error(
        fmt::format("N is {} for an input {}; expected 1 or more and rank 1 or "
                    "more",
                    columns, format_shape(a)));
  }
  Dims dims = a.dims();
  dims.back() = Dim(columns);
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// The weight is unpacked (scale and zero point, 2 operations per element) and multiplied.
void work_matmul_n_bits(WorkContext& context) {
  const Shape& a = context.input(0).shape;
  const Count contracted(a[a.rank() - 1].extent());
  context.add_macs(context.output(0).shape.elements() * contracted);
  context.add_flops(contracted * Count(context.op().attributes.int_or("N", 0)), 2);
  context.set_matrix();
  context.set_dtype(context.input(0).dtype);
}

// The weight, and zero points that may be packed as it is.
Count matmul_n_bits_elements(const Op& op, size_t input, const Tensor& operand) {
  constexpr size_t kWeight = 1;
  constexpr size_t kZeroPoints = 3;
  const Count columns(op.attributes.int_or("N", 0));
  const int64_t contracted = op.attributes.int_or("K", 0);
  if (input == kWeight && contracted > 0) {
    return columns * Count(contracted);
  }
  const int64_t block = op.attributes.int_or("block_size", 0);
  if (input == kZeroPoints && op.op_type == "MatMulNBits" && contracted > 0 && block > 0) {
    return columns * Count((contracted - 1) / block + 1);
  }
  return operand.shape.elements();
}

// a, a_scale, a_zero_point, b, b_scale, b_zero_point, c, y_scale, y_zero_point
Status infer_q_gemm(InferContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(3);
  if (a.rank() != 2 || b.rank() != 2) {
    return ok_status();
  }
  const bool trans_a = context.attributes().int_or("transA", 0) != 0;
  const bool trans_b = context.attributes().int_or("transB", 0) != 0;
  // Without a scale of its own the result has the type of the scales.
  const DType dtype = context.dtype(context.has_input(8) ? 8 : 1);
  context.set_output(0, dtype, Shape({a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]}));
  return ok_status();
}

// ---- Convolutions and pools, with the channels last where their name says so.

Status infer_fused_conv(InferContext& context) {
  return infer_conv_like(context, 1, context.dtype(0));
}

void work_fused_conv(WorkContext& context) {
  conv_macs(context, 1);
  add_bias(context, 2);
  add_bias(context, 3);  // the sum with a skip connection
  context.add_flops(context.output(0).shape.elements());
}

// ---- The rest.

// [B, S, 2 H] to [B, S, H]: one half times the GELU of the other.
Status infer_split_gelu(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank() || x.rank() == 0) {
    return ok_status();
  }
  Dims dims = x.dims();
  dims.back() = dims.back().known() ? Dim(dims.back().extent() / 2) : dims.back();
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

constexpr std::string_view kMs = kMicrosoft;
constexpr std::string_view kBlocked = kMicrosoftBlocked;

// clang-format off
constexpr OpDef kContribOps[] = {
    {.op_type = "SkipLayerNormalization", .op_class = OpClass::kNorm, .infer = infer_skip_norm,
     .work = work_per_element, .flops_per_element = 9, .required_inputs = 3, .domain = kMs,
     .factors = factors_skip_norm},
    {.op_type = "SkipSimplifiedLayerNormalization", .op_class = OpClass::kNorm,
     .infer = infer_skip_norm, .work = work_per_element, .flops_per_element = 6,
     .required_inputs = 3, .domain = kMs, .factors = factors_skip_norm},
    {.op_type = "SimplifiedLayerNormalization", .op_class = OpClass::kNorm,
     .infer = infer_skip_norm, .work = work_per_element, .flops_per_element = 4,
     .required_inputs = 2, .domain = kMs, .factors = factors_skip_norm},
    {.op_type = "SimplifiedLayerNormalization", .op_class = OpClass::kNorm,
     .infer = infer_skip_norm, .work = work_per_element, .flops_per_element = 4,
     .required_inputs = 2, .factors = factors_skip_norm},
    {.op_type = "EmbedLayerNormalization", .op_class = OpClass::kNorm, .infer = infer_embed_norm,
     .work = work_embed_norm, .domain = kMs},
    {.op_type = "QEmbedLayerNormalization", .op_class = OpClass::kNorm, .infer = infer_embed_norm,
     .work = work_embed_norm, .domain = kMs},
    {.op_type = "GroupNorm", .op_class = OpClass::kNorm, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 7, .required_inputs = 3, .domain = kMs,
     .factors = factors_group_norm},
    {.op_type = "SkipGroupNorm", .op_class = OpClass::kNorm, .infer = infer_skip_group_norm,
     .work = work_per_element, .flops_per_element = 9, .required_inputs = 4, .domain = kMs},
    {.op_type = "BiasSoftmax", .op_class = OpClass::kSoftmax, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 6, .required_inputs = 2, .domain = kMs},
    // tanh approximation: cube, scale, add, scale, tanh, add, scale, multiply
    {.op_type = "FastGelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 8, .domain = kMs},
    {.op_type = "Gelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 5, .domain = kMs},
    {.op_type = "QuickGelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 6, .domain = kMs},
    {.op_type = "BiasGelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 6, .required_inputs = 2, .domain = kMs},
    {.op_type = "BiasAdd", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2, .domain = kMs},
    {.op_type = "BiasSplitGelu", .op_class = OpClass::kElementwise, .infer = infer_split_gelu,
     .work = work_per_element, .flops_per_element = 8, .required_inputs = 2, .domain = kMs},
    {.op_type = "BiasDropout", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 1, .required_inputs = 2, .domain = kMs},
    {.op_type = "FusedMatMul", .op_class = OpClass::kMatMul, .infer = infer_fused_matmul,
     .work = work_fused_matmul, .required_inputs = 2, .domain = kMs, .factors = factors_fused_matmul},
    {.op_type = "FusedMatMulActivation", .op_class = OpClass::kMatMul, .infer = infer_fused_matmul,
     .work = work_fused_matmul, .flops_per_element = 4, .required_inputs = 2, .domain = kMs},
    {.op_type = "GemmFloat8", .op_class = OpClass::kMatMul, .infer = infer_gemm_float8,
     .work = work_fused_matmul, .flops_per_element = 1, .required_inputs = 2, .domain = kMs},
    {.op_type = "TransposeMatMul", .op_class = OpClass::kMatMul, .infer = infer_fused_matmul,
     .work = work_fused_matmul, .required_inputs = 2, .domain = kMs, .factors = factors_fused_matmul},
    {.op_type = "FusedGemm", .op_class = OpClass::kMatMul, .infer = infer_fused_matmul,
     .work = work_fused_matmul, .flops_per_element = 2, .required_inputs = 2, .domain = kMs,
     .factors = factors_gemm},
    {.op_type = "GemmFastGelu", .op_class = OpClass::kMatMul, .infer = infer_fused_matmul,
     .work = work_fused_matmul, .flops_per_element = 9, .required_inputs = 2, .domain = kMs},
    {.op_type = "MatMulNBits", .op_class = OpClass::kMatMul, .infer = infer_matmul_n_bits,
     .work = work_matmul_n_bits, .required_inputs = 3, .domain = kMs,
     .factors = factors_packed_matmul, .stored_elements = matmul_n_bits_elements},
    {.op_type = "MatMulBnb4", .op_class = OpClass::kMatMul, .infer = infer_matmul_n_bits,
     .work = work_matmul_n_bits, .required_inputs = 3, .domain = kMs,
     .stored_elements = matmul_n_bits_elements},
    {.op_type = "DynamicQuantizeMatMul", .op_class = OpClass::kMatMul,
     .infer = infer_matmul_to_float, .work = work_matmul_to_float, .flops_per_element = 2,
     .required_inputs = 3, .domain = kMs, .factors = factors_dynamic_matmul},
    {.op_type = "MatMulIntegerToFloat", .op_class = OpClass::kMatMul,
     .infer = infer_matmul_to_float, .work = work_matmul_to_float, .flops_per_element = 2,
     .required_inputs = 4, .domain = kMs, .factors = factors_matmul_to_float},
    {.op_type = "QGemm", .op_class = OpClass::kMatMul, .infer = infer_q_gemm,
     .work = work_matmul_to_float, .flops_per_element = 2, .required_inputs = 6, .domain = kMs, .factors = factors_gemm},
    {.op_type = "FusedConv", .op_class = OpClass::kConv, .infer = infer_fused_conv,
     .work = work_fused_conv, .required_inputs = 2, .domain = kMs, .factors = factors_conv},
    {.op_type = "Conv", .op_class = OpClass::kConv, .infer = infer_fused_conv,
     .work = work_fused_conv, .required_inputs = 2, .domain = kBlocked, .factors = factors_conv},
};
// clang-format on

constexpr WorkNote kContribNotes[] = {
    {work_embed_norm, "9 per output element; reads the rows of the tables that it returns"},
    {work_fused_matmul, "MACs = output elements x contracted length"},
    {work_matmul_to_float, "MACs = output elements x contracted length, on 8-bit integers"},
    {work_matmul_n_bits,
     "MACs = output elements x contracted length; 2 per weight element to unpack it"},
    {work_fused_conv,
     "as Conv; 1 per output element for the activation, 1 for a sum with a skip connection"},
};

}  // namespace

OpFamily contrib_op_defs() { return {kContribOps, kContribNotes}; }

}  // namespace dfsim::inline graphs
