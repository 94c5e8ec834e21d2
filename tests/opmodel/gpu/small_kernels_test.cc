// Small kernels on a board of other clocks, counted by hand, and with the models that ship.
#include "opmodel/model/laws/small_kernels.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"

namespace dfsim {
namespace {

DeviceSpec gpu_of(double clock_ghz, int units) {
  DeviceSpec device;
  device.type = DeviceType::kGpu;
  device.peaks = {{DType::kFloat32, 10e12, 0}};
  device.memory_bytes_per_s = 1e12;
  device.sustained_memory_bytes_per_s = 1e12;
  device.clock_hz = clock_ghz * 1e9;
  device.compute_units = units;
  return device;
}

OpDescriptor relu_of(std::vector<int64_t> shape) {
  OpDescriptor op;
  op.op_type = "Relu";
  op.op_class = OpClass::kElementwise;
  op.dtype = DType::kFloat32;
  op.input_extents = {shape};
  op.input_dtypes = {op.dtype};
  op.output_extents = {std::move(shape)};
  op.output_dtypes = {op.dtype};
  op.work.dtype = op.dtype;
  int64_t elements = 1;
  for (const int64_t extent : op.output_extents[0]) {
    elements *= extent;
  }
  op.work.bytes_read = op.work.bytes_written = 4 * elements;
  return op;
}

OpCost cost_of(TimeNs low, TimeNs time, TimeNs high, CostSource source) {
  OpCost cost;
  cost.time_ns = time;
  cost.low_ns = low;
  cost.high_ns = high;
  cost.source = source;
  return cost;
}

TEST_CASE("SmallKernels: latency takes as many cycles, and more rounds on fewer units") {
  const OpCost known = cost_of(4'500, 5'000, 5'500, CostSource::kMeasured);
  const OpGeometry tiny = geometry_of(relu_of({1}));
  CHECK(small_kernel_us(known, tiny, gpu_of(1.5, 100), gpu_of(1.0, 100)) ==
        Approx(7.5).epsilon(1e-3));
  CHECK(small_kernel_us(known, tiny, gpu_of(1.5, 100), gpu_of(1.0, 50)) ==
        Approx(15).epsilon(1e-3));
  CHECK(small_kernel_us(known, tiny, gpu_of(1.5, 100), gpu_of(3.0, 400)) ==
        Approx(2.5).epsilon(1e-3));
}

TEST_CASE("SmallKernels: traffic follows the other board's memory") {
  // 2 x 1 MB take 2 us of the known 5 there, and 4 us at half the bandwidth.
  const OpCost known = cost_of(4'500, 5'000, 5'500, CostSource::kPredicted);
  const OpGeometry geometry = geometry_of(relu_of({250'000}));
  DeviceSpec slow = gpu_of(1.5, 100);
  slow.memory_bytes_per_s = slow.sustained_memory_bytes_per_s = 0.5e12;
  CHECK(small_kernel_us(known, geometry, gpu_of(1.5, 100), slow) == Approx(3 + 4).epsilon(1e-3));
}

TEST_CASE("SmallKernels: kernels that are more work than latency are hardly limited") {
  const OpGeometry tiny = geometry_of(relu_of({1}));
  const OpCost known = cost_of(75'000, 80'000, 85'000, CostSource::kMeasured);
  CHECK(small_kernel_us(known, tiny, gpu_of(1.5, 100), gpu_of(1.5, 100)) ==
        Approx(80 * 8).epsilon(1e-3));
}

TEST_CASE("SmallKernels: what the known board does not know limits nothing") {
  const OpGeometry tiny = geometry_of(relu_of({1}));
  for (const CostSource source : {CostSource::kBoundOnly, CostSource::kPrior}) {
    const OpCost unknown = cost_of(4'500, 5'000, 5'500, source);
    CHECK(small_kernel_us(unknown, tiny, gpu_of(1.5, 100), gpu_of(1.5, 100)) == 0);
  }
  const OpCost known = cost_of(4'500, 5'000, 5'500, CostSource::kMeasured);
  CHECK(small_kernel_us(known, tiny, gpu_of(1.5, 100), gpu_of(0, 100)) == 0);
  OpCost cost = cost_of(8'000, 9'000, 20'000, CostSource::kPrior);
  limit_by_small_kernel(0, &cost);
  CHECK(cost.time_ns == 9'000);
}

TEST_CASE("SmallKernels: a longer answer becomes the limit, a shorter one stays") {
  OpCost cost = cost_of(8'000, 12'000, 40'000, CostSource::kExtrapolated);
  limit_by_small_kernel(3, &cost);
  CHECK(cost.time_ns == 3'000);
  CHECK(cost.low_ns < 3'000);
  CHECK(cost.high_ns > 3'000);
  CHECK(cost.high_ns < 40'000);
  CHECK(cost.source == CostSource::kPrior);
  limit_by_small_kernel(5, &cost);
  CHECK(cost.time_ns == 3'000);
}

TEST_CASE(
    "SmallKernels: on a board that is faster in all, no kernel gains more than the fastest rate") {
  const OpCost known = cost_of(90'000, 100'000, 110'000, CostSource::kMeasured);
  const OpGeometry geometry = geometry_of(relu_of({1'000'000}));
  DeviceSpec fast = gpu_of(1.5, 150);
  fast.memory_bytes_per_s = fast.sustained_memory_bytes_per_s = 2.5e12;
  fast.peaks = {{DType::kFloat32, 20e12, 0}};
  CHECK(least_carried_us(known, geometry, gpu_of(1.5, 100), fast) == Approx(40));
  fast.compute_units = 90;  // slower in one respect
  CHECK(least_carried_us(known, geometry, gpu_of(1.5, 100), fast) == 0);
  OpCost cost = cost_of(20'000, 30'000, 60'000, CostSource::kPrior);
  lift_to_least(40, &cost);
  CHECK(cost.time_ns == 40'000);
  CHECK(cost.high_ns == 80'000);
  lift_to_least(10, &cost);
  CHECK(cost.time_ns == 40'000);
}

TEST_CASE("SmallKernels: kernels that dense convolutions do not run are carried over") {
  OpGeometry geometry;
  geometry.family = Family::kConv;
  geometry.dims[dim::kKH] = geometry.dims[dim::kKW] = 3;
  const auto carried = [&geometry](const std::string& kind) {
    geometry.kind = kind;
    return is_carried_over(geometry);
  };
  CHECK(carried("grouped"));
  CHECK(carried("transposed"));
  CHECK_FALSE(carried("dense"));
  CHECK_FALSE(carried("dense-8bit"));
  CHECK_FALSE(carried("depthwise"));
  geometry.dims[dim::kKH] = geometry.dims[dim::kKW] = 7;
  CHECK(carried("depthwise"));
  // Both opinions count there.
  OpCost cost = cost_of(3'000, 4'000, 5'000, CostSource::kPrior);
  set_carried_over(9, geometry, &cost);
  CHECK(cost.time_ns == 6'000);
  CHECK(cost.low_ns == 4'000);
  CHECK(cost.high_ns == 9'000);
  geometry.kind = "grouped";
  set_carried_over(9, geometry, &cost);
  CHECK(cost.time_ns == 9'000);
}

TEST_CASE("SmallKernels: a convolution's bias is not part of its kernel") {
  OpDescriptor op = relu_of({1, 8, 4, 4});
  CHECK(as_kernel(op).input_extents == op.input_extents);
  op.op_type = "Conv";
  op.input_extents = {{1, 8, 4, 4}, {16, 8, 1, 1}, {16}};
  op.input_dtypes.assign(3, op.dtype);
  CHECK(as_kernel(op).input_extents.size() == 2);
  CHECK(as_kernel(op).input_dtypes.size() == 2);
}

TEST_CASE("SmallKernels: boards that were not measured run them about as fast as an H100") {
  std::vector<OpDescriptor> ops;
  for (const int64_t channels : {16, 96, 320}) {
    ops.push_back(relu_of({1, channels, 14, 14}));
  }
  const auto time_on = [&ops](const std::string& board, size_t op) {
    auto platform = load_platform(board);
    REQUIRE(platform.ok());
    auto model = load_cost_model_for(*platform, "");
    REQUIRE(model.ok());
    std::vector<OpCost> costs(ops.size());
    REQUIRE((*model)->predict(ops, platform->devices[0], costs).ok());
    CHECK(costs[op].low_ns <= costs[op].time_ns);
    CHECK(costs[op].high_ns >= costs[op].time_ns);
    return static_cast<double>(costs[op].time_ns);
  };
  for (size_t op = 0; op < ops.size(); ++op) {
    const double known_ns = time_on("h100-sxm", op);
    CHECK(time_on("b200", op) < 1.1 * known_ns);
    CHECK(time_on("rtx-4090", op) < 1.2 * known_ns);
    CHECK(time_on("l40s", op) < 1.5 * known_ns);
    CHECK(time_on("a10", op) < 3 * known_ns);
  }
}

}  // namespace
}  // namespace dfsim
