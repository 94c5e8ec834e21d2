// PyTorch's kernels of depthwise convolutions on a board made by hand: 100 units at 1 GHz, launches
// of 2 us.
#include "opmodel/model/laws/torch/depthwise_kernels.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

DeviceSpec depthwise_board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.vendor = "NVIDIA";
  gpu.launch_overhead_ns = 2000;
  gpu.compute_units = 100;
  gpu.clock_hz = 1e9;
  return gpu;
}

// 32 images of 100 channels, 40 x 40 pixels, on windows of `side`.
OpDescriptor depthwise(int64_t side, DType dtype = DType::kFloat32) {
  const std::string window = std::to_string(side) + "," + std::to_string(side);
  OpDescriptor op;
  op.op_type = "Conv";
  op.op_class = OpClass::kConv;
  op.dtype = dtype;
  op.attributes = "dilations=1,1;group=100;kernel_shape=" + window + ";strides=1,1";
  op.input_extents = {{32, 100, 40, 40}, {100, 1, side, side}};
  op.output_extents = {{32, 100, 40, 40}};
  op.input_dtypes = {dtype, dtype};
  op.output_dtypes = {dtype};
  return op;
}

OpDescriptor filter_gradient(int64_t side, DType dtype = DType::kFloat32) {
  OpDescriptor op = depthwise(side, dtype);
  op.op_type = "tensorflow.ConvFilterGrad";
  std::swap(op.input_extents[1], op.output_extents[0]);
  return op;
}

double us(const OpDescriptor& op) { return depthwise_kernel_us(op, depthwise_board()); }

// 2 us launch, 1 us, and so many multiply-adds per cycle and unit.
double at_rate(double side, double rate) {
  return 3 + 32.0 * 100 * 40 * 40 * side * side / rate / 100 / 1e3;
}

TEST_CASE("Depthwise kernels: a window has a rate, whatever the board's peak") {
  CHECK(us(depthwise(3)) == Approx(at_rate(3, 3.6)));
  CHECK(us(depthwise(5)) == Approx(at_rate(5, 5.8)));
  CHECK(us(depthwise(7)) == Approx(at_rate(7, 6.1)));
  CHECK(us(depthwise(9, DType::kFloat16)) == Approx(at_rate(9, 4.6)));
}

TEST_CASE("Depthwise kernels: small windows in fp16 are cuDNN's, in bf16 they are not") {
  CHECK(us(depthwise(3, DType::kFloat16)) == 0);
  CHECK(us(depthwise(3, DType::kBFloat16)) == Approx(at_rate(3, 3.6)));
  CHECK(us(filter_gradient(3, DType::kFloat16)) == Approx(at_rate(3, 5)));
  CHECK(us(filter_gradient(5, DType::kFloat16)) == Approx(at_rate(5, 12)));
}

TEST_CASE(
    "Depthwise kernels: a filter's gradient is a block per weight that walks through images") {
  // 900 blocks of 32 images, each 50 steps of a warp and 2.5 more, at 12 cycles.
  CHECK(us(filter_gradient(3)) == Approx(3 + 900 * 32 * 52.5 * 12 / 100 / 1e3));
  // One weight: two images for each warp, at the latency of a step.
  OpDescriptor lone = filter_gradient(1);
  lone.input_extents = {{32, 2, 40, 40}, {32, 2, 40, 40}};
  lone.output_extents = {{2, 1, 1, 1}};
  lone.attributes = "dilations=1,1;group=2;kernel_shape=1,1;strides=1,1";
  CHECK(us(lone) == Approx(3 + 2 * 52.5 * 550 / 1e3));
}

TEST_CASE("Depthwise kernels: other layouts, boards and convolutions have other kernels") {
  OpDescriptor last = depthwise(3);
  last.attributes = "channels_last=1;" + last.attributes;
  CHECK(us(last) == 0);
  OpDescriptor dense = depthwise(3);
  dense.attributes = "group=1;kernel_shape=3,3;strides=1,1";
  dense.input_extents[1] = {100, 100, 3, 3};
  CHECK(us(dense) == 0);
  DeviceSpec other = depthwise_board();
  other.vendor = "AMD";
  CHECK(depthwise_kernel_us(depthwise(3), other) == 0);
  DeviceSpec unknown = depthwise_board();
  unknown.clock_hz = 0;
  CHECK(depthwise_kernel_us(depthwise(3), unknown) == 0);
}

TEST_CASE("Depthwise kernels: a limit for answers that no row is about") {
  const auto limited = [](CostSource source, TimeNs time_ns) {
    OpCost cost;
    cost.time_ns = cost.low_ns = cost.high_ns = time_ns;
    cost.source = source;
    limit_depthwise(depthwise(3), depthwise_board(), &cost);
    return cost;
  };
  const double limit_us = at_rate(3, 3.6);
  const OpCost lifted = limited(CostSource::kPrior, 1'000);
  CHECK(static_cast<double>(lifted.time_ns) == Approx(limit_us * 1e3).margin(1));
  CHECK(lifted.low_ns == 1'000);
  CHECK(lifted.high_ns > lifted.time_ns);
  CHECK(limited(CostSource::kExtrapolated, 1'000).source == CostSource::kPrior);
  CHECK(limited(CostSource::kPredicted, 1'000).time_ns == 1'000);
  CHECK(limited(CostSource::kPrior, 1'000'000).time_ns == 1'000'000);
}

}  // namespace
}  // namespace dfsim
