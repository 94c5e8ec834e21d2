// The time that 16-bit convolutions spend on channels first, counted by hand.
#include "opmodel/model/laws/layout_time.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

OpDescriptor conv(const std::string& type, DType dtype, int64_t kernel, const std::string& group) {
  OpDescriptor op;
  op.op_type = type;
  op.op_class = OpClass::kConv;
  op.dtype = dtype;
  op.attributes = "group=" + group + ";strides=1,1";
  op.input_extents = {{2, 64, 10, 10}, {32, group == "1" ? 64 : 1, kernel, kernel}};
  op.input_dtypes = {dtype, dtype};
  op.output_extents = {{2, group == "1" ? 32 : 64, 10, 10}};
  op.output_dtypes = {dtype};
  return op;
}

double layout_us(const OpDescriptor& op) {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.memory_bytes_per_s = 1e9;
  gpu.sustained_memory_bytes_per_s = 8e8;
  return layout_conversion_us(op, geometry_of(op), gpu);
}

TEST_CASE("LayoutTime: image and result pass memory once more, in and out") {
  // 2 x (64 + 32) x 100 elements of 2 bytes, read and written at 800 bytes a microsecond.
  const double pass_us = 2.0 * 2 * (64 + 32) * 100 * 2 / 800;
  CHECK(layout_us(conv("Conv", DType::kFloat16, 3, "1")) == Approx(0.8 * pass_us));
  CHECK(layout_us(conv("Conv", DType::kBFloat16, 1, "1")) == Approx(0.25 * pass_us));
  CHECK(layout_us(conv("Conv", DType::kTFloat32, 3, "1")) == Approx(0.8 * 2 * pass_us));
}

TEST_CASE("LayoutTime: a gradient converts the rest of both") {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.memory_bytes_per_s = 1e9;
  gpu.sustained_memory_bytes_per_s = 8e8;
  const double pass_us = 2.0 * 2 * (64 + 32) * 100 * 2 / 800;
  OpDescriptor op = conv("Conv", DType::kFloat16, 1, "1");
  CHECK(gradient_conversion_us(op, geometry_of(op), gpu) == Approx(0.75 * pass_us));
  op.attributes = "channels_last=1;" + op.attributes;
  CHECK(gradient_conversion_us(op, geometry_of(op), gpu) == 0);
}

TEST_CASE("LayoutTime: fp32, depthwise and fused convolutions keep their layout") {
  CHECK(layout_us(conv("Conv", DType::kFloat32, 3, "1")) == 0);
  CHECK(layout_us(conv("Conv", DType::kFloat16, 3, "64")) == 0);
  CHECK(layout_us(conv("FusedConv", DType::kFloat16, 3, "1")) == 0);
}

TEST_CASE("LayoutTime: a time measured with channels first loses its conversions") {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.memory_bytes_per_s = 1e9;
  gpu.sustained_memory_bytes_per_s = 8e8;
  OpDescriptor op = conv("Conv", DType::kFloat16, 3, "1");
  OpCost cost;
  cost.time_ns = cost.low_ns = cost.high_ns = 200'000;
  cost.source = CostSource::kMeasured;
  const auto left = [&] {
    OpCost changed = cost;
    leave_out_conversions(op, geometry_of(op), gpu, &changed);
    return changed;
  };
  CHECK(left().time_ns == 200'000);
  CHECK(left().source == CostSource::kMeasured);
  op.attributes = "channels_last=1;" + op.attributes;
  // 0.8 of a pass of 96 us, and two kernels of 2 us.
  CHECK(left().time_ns == 200'000 - 80'800);
  CHECK(left().source == CostSource::kExtrapolated);
  CHECK(left().low_ns < left().time_ns);
  CHECK(left().high_ns > left().time_ns);
  cost.time_ns = 100'000;  // the kernel keeps 45 % of its time
  CHECK(left().time_ns == 45'000);
}

}  // namespace
}  // namespace dfsim
