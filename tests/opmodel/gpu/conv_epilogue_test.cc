// Bias, activation and skip connection of a convolution's kernel, counted by hand.
#include "opmodel/model/laws/conv_epilogue.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

OpDescriptor fused_conv(bool residual) {
  OpDescriptor op;
  op.op_type = "com.microsoft.FusedConv";
  op.op_class = OpClass::kConv;
  op.dtype = DType::kFloat16;
  op.attributes = "activation=Relu;bias_in_kernel=1;dilations=1,1;group=1";
  op.input_extents = {{1, 16, 8, 8}, {16, 16, 1, 1}, {16}};
  if (residual) {
    op.input_extents.push_back({1, 16, 8, 8});
  }
  op.input_dtypes.assign(op.input_extents.size(), DType::kFloat16);
  return op;
}

TEST_CASE("ConvEpilogue: the convolution alone has image and filter") {
  const OpDescriptor alone = without_conv_epilogue(fused_conv(true));
  CHECK(alone.op_type == "Conv");
  CHECK(alone.attributes == "dilations=1,1;group=1");
  CHECK(alone.input_extents.size() == 2);
  CHECK(alone.input_dtypes.size() == 2);
  CHECK_FALSE(has_conv_epilogue(alone));
}

TEST_CASE("ConvEpilogue: a Conv has one where its runtime marked the bias") {
  OpDescriptor op = fused_conv(false);
  CHECK(has_conv_epilogue(op));
  op.op_type = "Conv";
  op.attributes = "bias_in_kernel=1";
  CHECK(has_conv_epilogue(op));
  CHECK(without_conv_epilogue(op).attributes.empty());
  op.attributes = "dilations=1,1;group=1";
  CHECK_FALSE(has_conv_epilogue(op));
}

TEST_CASE("ConvEpilogue: reading the skip connection adds its bytes at the sustained rate") {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.memory_bytes_per_s = 1e9;
  gpu.sustained_memory_bytes_per_s = 8e8;
  OpCost cost;
  cost.time_ns = cost.low_ns = cost.high_ns = 1'000;
  add_residual_read(fused_conv(false), gpu, &cost);
  CHECK(cost.time_ns == 1'000);
  add_residual_read(fused_conv(true), gpu, &cost);
  CHECK(cost.time_ns == 1'000 + 2'560);  // 1,024 elements of 2 bytes at 0.8 bytes a nanosecond
  CHECK(cost.high_ns == 3'560);
  gpu.type = DeviceType::kCpu;
  add_residual_read(fused_conv(true), gpu, &cost);
  CHECK(cost.time_ns == 3'560);
}

}  // namespace
}  // namespace dfsim
