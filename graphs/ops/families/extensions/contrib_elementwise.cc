// Operators of ONNX Runtime (com.microsoft) that work element by element or row by row: gates,
// complex numbers, hashes, rotary embeddings of Gemma, quantised rows in cuBLASLt's orders.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/families/extensions/contrib_ops.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

// A, its zero point, B, its zero point.
Status infer_mul_integer(InferContext& context) {
  std::string conflict;
  Shape shape = broadcast_shapes(context.shape(0), context.shape(2), &conflict);
  if (!conflict.empty()) {
    return context.error(conflict);
  }
  context.set_output(0, DType::kInt32, std::move(shape));
  return ok_status();
}

// gate and up, or both side by side in one operand.
Status infer_swiglu(InferContext& context) {
  const Shape& x = context.shape(0);
  if (context.has_input(1) || !x.has_rank() || x.rank() == 0) {
    return infer_same_as_first(context);
  }
  Dims dims = x.dims();
  dims.back() = dims.back().known() ? Dim(dims.back().extent() / 2) : dims.back();
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// a, dt_bias, decay_scale, b: decay as a, beta as b.
Status infer_attention_gate(InferContext& context) {
  context.set_output(0, context.dtype(0), context.shape(0));
  context.set_output(1, context.dtype(3), context.shape(3));
  return ok_status();
}

// Tokens so far, scores.
Status infer_ngram_block(InferContext& context) {
  context.set_output(0, context.dtype(1), context.shape(1));
  return ok_status();
}

Status infer_all_finite(InferContext& context) {
  context.set_output(0, DType::kBool, Shape::scalar());
  return ok_status();
}

void work_all_finite(WorkContext& context) {
  for (size_t i = 0; i < context.op().inputs.size(); ++i) {
    if (context.has_input(i)) {
      context.add_flops(context.input(i).shape.elements());
    }
  }
}

Status infer_hash(InferContext& context) {
  const bool positive = context.attributes().int_or("positive", 1) != 0;
  context.set_output(0, positive ? DType::kUInt32 : DType::kInt32, context.shape(0));
  return ok_status();
}

// emb [B, S, D], q, q_rot, k, k_rot [B, heads, S, D]: rotated q and k.
Status infer_gemma_rotary(InferContext& context) {
  context.set_output(0, context.dtype(1), context.shape(1));
  context.set_output(1, context.dtype(3), context.shape(3));
  return ok_status();
}

// Sine and cosine of each angle; two products and a sum per element of q and k.
void work_gemma_rotary(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements(), 2);
  for (const size_t rotated : {1, 3}) {
    if (context.has_input(rotated)) {
      context.add_flops(context.input(rotated).shape.elements(), 3);
    }
  }
}

Status infer_quantize_order(InferContext& context) {
  context.set_output(0, DType::kInt8, context.shape(0));
  return ok_status();
}

Status infer_dequantize_order(InferContext& context) {
  const DType dtype = dtype_from_onnx(context.attributes().int_or("to", 1));
  context.set_output(0, dtype, context.shape(0));
  return ok_status();
}

// clang-format off
constexpr OpDef kContribElementwiseOps[] = {
    // three operations per number: four products and two sums per pair
    {.op_type = "ComplexMul", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "ComplexMulConj", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kMicrosoft},
    // two zero points, a product
    {.op_type = "MulInteger", .op_class = OpClass::kElementwise, .infer = infer_mul_integer,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 3, .domain = kMicrosoft},
    {.op_type = "GatedAdd", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 3, .domain = kMicrosoft},
    // scale, sigmoid (4), product
    {.op_type = "ScaledSiLU", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 6, .domain = kMicrosoft},
    // clamps (3), scale, sigmoid (4), two products, a sum
    {.op_type = "SwiGLU", .op_class = OpClass::kElementwise, .infer = infer_swiglu,
     .work = work_per_element, .flops_per_element = 11, .domain = kMicrosoft},
    // sum, softplus (3), scale; a sigmoid of the other operand
    {.op_type = "LinearAttentionGate", .op_class = OpClass::kElementwise,
     .infer = infer_attention_gate, .work = work_per_element, .flops_per_element = 9,
     .required_inputs = 3, .domain = kMicrosoft},
    {.op_type = "GatedRMSNorm", .op_class = OpClass::kNorm, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 10, .required_inputs = 3, .domain = kMicrosoft},
    {.op_type = "NGramRepeatBlock", .op_class = OpClass::kDataMovement, .infer = infer_ngram_block,
     .work = work_per_element, .flops_per_element = 1, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "IsAllFinite", .op_class = OpClass::kReduce, .infer = infer_all_finite,
     .work = work_all_finite, .domain = kMicrosoft},
    // a block of four bytes (9) and the final mix (8)
    {.op_type = "MurmurHash3", .op_class = OpClass::kElementwise, .infer = infer_hash,
     .work = work_per_element, .flops_per_element = 17, .domain = kMicrosoft},
    {.op_type = "GemmaRotaryEmbedding", .op_class = OpClass::kElementwise,
     .infer = infer_gemma_rotary, .work = work_gemma_rotary, .required_inputs = 5,
     .domain = kMicrosoft},
    {.op_type = "QuantizeWithOrder", .op_class = OpClass::kQuantize, .infer = infer_quantize_order,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "DequantizeWithOrder", .op_class = OpClass::kQuantize,
     .infer = infer_dequantize_order, .work = work_per_element, .flops_per_element = 1,
     .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "QOrderedGelu", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 8, .required_inputs = 3, .domain = kMicrosoft},
    {.op_type = "QOrderedLayerNormalization", .op_class = OpClass::kNorm,
     .infer = infer_same_as_first, .work = work_per_element, .flops_per_element = 10,
     .required_inputs = 3, .domain = kMicrosoft},
};
// clang-format on

constexpr WorkNote kContribElementwiseNotes[] = {
    {work_all_finite, "1 per input element"},
    {work_gemma_rotary, "2 per angle, 3 per rotated element"},
};

}  // namespace

OpFamily contrib_elementwise_op_defs() {
  return {kContribElementwiseOps, kContribElementwiseNotes};
}

}  // namespace dfsim::inline graphs
