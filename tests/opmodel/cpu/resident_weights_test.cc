// Weights that the last-level cache keeps: shares and times by hand, and which costs change.
#include "opmodel/resident_weights.h"

#include <catch2/catch.hpp>
#include <vector>

namespace dfsim {
namespace {

DeviceSpec cached_core() {
  DeviceSpec cpu;
  cpu.type = DeviceType::kCpu;
  cpu.compute_units = 1;
  cpu.l2_bytes = 32'000'000;
  cpu.memory_bytes_per_s = 40e9;
  cpu.peaks.push_back({DType::kFloat32, 90e9, 0});
  return cpu;
}

// A product of `rows` rows with 4.5 MB of weights: 100 us from the cache, 225 us from memory.
OpDescriptor weighted_product(int64_t rows) {
  OpDescriptor op;
  op.op_type = "MatMul";
  op.op_class = OpClass::kMatMul;
  op.dtype = DType::kFloat32;
  op.work.weight_bytes = 4'500'000;
  op.work.bytes_read = 4'500'000 + rows * 4'000;
  op.work.bytes_written = rows * 4'500;
  op.work.flops = 2 * rows * op.work.weight_bytes / 4;
  return op;
}

double kept_share(Bytes weights, const DeviceSpec& device) {
  return resident_share(std::vector<OpDescriptor>{weighted_product(1)}, weights, device);
}

TEST_CASE("Resident weights: all stay in half of the cache, none in all of it") {
  constexpr Bytes kTensors = 8'500;  // of the largest operator
  CHECK(kept_share(4'500'000, cached_core()) == 1);
  CHECK(kept_share(16'000'000 - kTensors, cached_core()) == 1);
  CHECK(kept_share(24'000'000 - kTensors, cached_core()) == Approx(0.5));
  CHECK(kept_share(32'000'000, cached_core()) == 0);
  DeviceSpec large = cached_core();
  large.l2_bytes = Bytes{256} << 20;
  CHECK(kept_share((Bytes{24} << 20) - kTensors, large) == Approx(0.5));
  DeviceSpec gpu = cached_core();
  gpu.type = DeviceType::kGpu;
  CHECK(kept_share(1, gpu) == 0);
  DeviceSpec unknown = cached_core();
  unknown.l2_bytes = 0;
  CHECK(kept_share(1, unknown) == 0);
}

TEST_CASE("Resident weights: a product gains the difference between memory and cache") {
  CHECK(resident_gain_us(weighted_product(1), cached_core(), 1, 300) == Approx(125));
  CHECK(resident_gain_us(weighted_product(1), cached_core(), 0.5, 300) == Approx(62.5));
  CHECK(resident_gain_us(weighted_product(1), cached_core(), 1, 150) ==
        Approx(50));  // no less than the cache
  CHECK(resident_gain_us(weighted_product(1), cached_core(), 1, 80) == 0);
  // 8 rows: 18 MFLOP take 200 us.
  CHECK(resident_gain_us(weighted_product(8), cached_core(), 1, 250) == Approx(50));
  OpDescriptor add = weighted_product(1);
  add.op_class = OpClass::kElementwise;
  CHECK(resident_gain_us(add, cached_core(), 1, 300) == 0);
}

TEST_CASE("Resident weights: predictions become shorter, measurements and upper ends stay") {
  const std::vector<OpDescriptor> rows(2, weighted_product(1));
  Platform platform;
  platform.devices = {cached_core()};
  CostTable costs(2, 1);
  for (const uint32_t row : {0U, 1U}) {
    OpCost& cost = costs.at(row, DeviceId(0));
    cost.time_ns = 250'000;
    cost.low_ns = 200'000;
    cost.high_ns = 300'000;
    cost.source = row == 0 ? CostSource::kPredicted : CostSource::kMeasured;
  }
  apply_resident_weights(rows, 4'500'000, platform, &costs);
  CHECK(costs.at(0, DeviceId(0)).time_ns == 125'000);
  CHECK(costs.at(0, DeviceId(0)).low_ns == 100'000);
  CHECK(costs.at(0, DeviceId(0)).high_ns == 300'000);
  CHECK(costs.at(1, DeviceId(0)).time_ns == 250'000);
}

}  // namespace
}  // namespace dfsim
