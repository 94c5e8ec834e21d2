#include "opmodel/sol.h"

#include <array>
#include <catch2/catch.hpp>

namespace dfsim {
namespace {

DeviceSpec sol_device() {
  DeviceSpec device;
  device.peaks = {{DType::kFloat32, 1e12, 0}, {DType::kFloat16, 2e12, 16e12}};
  device.memory_bytes_per_s = 1e11;
  device.launch_overhead_ns = 3000;
  return device;
}

OpDescriptor op_of(int64_t flops, Bytes bytes, DType dtype, bool matrix) {
  OpDescriptor op;
  op.op_class = OpClass::kMatMul;
  op.work.flops = flops;
  op.work.bytes_read = bytes;
  op.work.dtype = dtype;
  op.work.matrix = matrix;
  return op;
}

TEST_CASE("the bound is the higher arm of the roofline plus the launch floor") {
  const DeviceSpec device = sol_device();
  // 1e9 FLOP at 1e12/s = 1 ms; 1e6 B at 1e11 B/s = 10 us.
  const Sol compute =
      speed_of_light(op_of(1'000'000'000, 1'000'000, DType::kFloat32, true), device);
  CHECK(compute.seconds() == Approx(1.003e-3));
  CHECK(compute.bound() == Bound::kCompute);
  const Sol memory = speed_of_light(op_of(1'000'000, 10'000'000, DType::kFloat32, false), device);
  CHECK(memory.seconds() == Approx(103e-6));
  CHECK(memory.bound() == Bound::kMemory);
  CHECK(speed_of_light(op_of(1000, 1000, DType::kFloat32, false), device).bound() ==
        Bound::kLaunch);
  // Matrix units of fp16: 16e12/s.
  const Sol matrix = speed_of_light(op_of(16'000'000'000, 0, DType::kFloat16, true), device);
  CHECK(matrix.compute_s == Approx(1e-3));
}

TEST_CASE("views cost nothing, not even a launch") {
  OpDescriptor view = op_of(0, 0, DType::kFloat32, false);
  view.op_class = OpClass::kView;
  CHECK(speed_of_light(view, sol_device()).seconds() == 0);
  CHECK(speed_of_light(view, sol_device()).bound() == Bound::kNone);
}

TEST_CASE("the bound model marks every answer bound-only") {
  const std::array ops = {op_of(1'000'000'000, 0, DType::kFloat32, true)};
  std::array<OpCost, 1> costs;
  REQUIRE(make_sol_model()->predict(ops, sol_device(), costs).ok());
  CHECK(costs[0].time_ns == 1'003'000);
  CHECK(costs[0].low_ns == costs[0].time_ns);
  CHECK(costs[0].high_ns > costs[0].time_ns);
  CHECK(costs[0].source == CostSource::kBoundOnly);
}

}  // namespace
}  // namespace dfsim
