// Quantise and dequantise between floating and integer tensors.
#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_def.h"
#include "graphs/ops/rules.h"

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

constexpr OpClass kQ = OpClass::kQuantize;

constexpr OpDef kOps[] = {
    // divide, round, add the zero point, saturate
    {"QuantizeLinear", kQ, infer_quantize, work_per_element, nullptr, 4, 2, "", factors_quantize},
    // subtract the zero point, multiply
    {"DequantizeLinear", kQ, infer_dequantize, work_per_element, nullptr, 2, 2, "",
     factors_quantize},
    // ONNX Runtime's, from before ONNX knew types of 16 bits
    {"QuantizeLinear", kQ, infer_quantize, work_per_element, nullptr, 4, 2, kMicrosoft,
     factors_quantize},
    {"DequantizeLinear", kQ, infer_dequantize, work_per_element, nullptr, 2, 2, kMicrosoft,
     factors_quantize},
    // minimum and maximum first
    {"DynamicQuantizeLinear", kQ, infer_dynamic_quantize, work_per_element, nullptr, 6},
};

}  // namespace

OpFamily quantize_op_defs() { return {kOps}; }

}  // namespace dfsim::inline graphs
