// Quantise and dequantise between floating and integer tensors.
#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

Status infer_quantize(InferContext& context) {
  DType dtype = context.has_input(2) ? context.dtype(2) : DType::kUInt8;
  if (const auto code = context.attributes().get_int("output_dtype"); code && *code != 0) {
    dtype = dtype_from_onnx(*code);
  }
  context.set_output(0, dtype, context.shape(0));
  return ok_status();
}

Status infer_dequantize(InferContext& context) {
  context.set_output(0, context.dtype(1), context.shape(0));
  return ok_status();
}

// y, its scale and its zero point.
Status infer_dynamic_quantize(InferContext& context) {
  context.set_output(0, DType::kUInt8, context.shape(0));
  context.set_output(1, DType::kFloat32, Shape::scalar());
  context.set_output(2, DType::kUInt8, Shape::scalar());
  return ok_status();
}

// clang-format off
constexpr OpDef kQuantizeOps[] = {
    // divide, round, add the zero point, saturate
    {.op_type = "QuantizeLinear", .op_class = OpClass::kQuantize, .infer = infer_quantize,
     .work = work_per_element, .fold = fold_quantize, .flops_per_element = 4, .required_inputs = 2,
     .factors = factors_quantize},
    // subtract the zero point, multiply
    {.op_type = "DequantizeLinear", .op_class = OpClass::kQuantize, .infer = infer_dequantize,
     .work = work_per_element, .fold = fold_dequantize, .flops_per_element = 2, .required_inputs = 2,
     .factors = factors_quantize},
    // ONNX Runtime's, from before ONNX knew types of 16 bits
    {.op_type = "QuantizeLinear", .op_class = OpClass::kQuantize, .infer = infer_quantize,
     .work = work_per_element, .fold = fold_quantize, .flops_per_element = 4, .required_inputs = 2, .domain = kMicrosoft,
     .factors = factors_quantize},
    {.op_type = "DequantizeLinear", .op_class = OpClass::kQuantize, .infer = infer_dequantize,
     .work = work_per_element, .fold = fold_dequantize, .flops_per_element = 2, .required_inputs = 2, .domain = kMicrosoft,
     .factors = factors_quantize},
    // minimum and maximum first
    {.op_type = "DynamicQuantizeLinear", .op_class = OpClass::kQuantize,
     .infer = infer_dynamic_quantize, .work = work_per_element, .fold = fold_dynamic_quantize, .flops_per_element = 6},
};
// clang-format on

}  // namespace

OpFamily quantize_op_defs() { return {kQuantizeOps}; }

}  // namespace dfsim::inline graphs
