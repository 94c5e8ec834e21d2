// A slice of a small part costs what it returns: limits by hand.
#include "opmodel/model/laws/cpu/small_slices.h"

#include <catch2/catch.hpp>

#include "tests/opmodel/cpu/operator_of.h"

namespace dfsim {
namespace {

DeviceSpec device_of(DeviceType type) {
  DeviceSpec device;
  device.type = type;
  device.compute_units = 1;
  device.memory_bytes_per_s = 10e9;
  device.launch_overhead_ns = 3'000;
  return device;
}

TEST_CASE("Small slices: the result's bytes, its runs and a start limit the time") {
  const OpDescriptor last = operator_of("Slice", {{1, 512, 1000}, {1}, {1}}, {1, 1, 1000});
  // 8,000 bytes at 5 GB/s in one run.
  const double copied_us = 8000 / 5e9 * 1e6;
  CHECK(small_slice_limit_us(last, device_of(DeviceType::kCpu)) == Approx(20.02 + copied_us));
  CHECK(small_slice_limit_us(last, device_of(DeviceType::kGpu)) == Approx(2 + 3 + copied_us));
  // 512 runs of 10.
  const OpDescriptor columns = operator_of("Slice", {{1, 512, 1000}}, {1, 512, 10});
  CHECK(small_slice_limit_us(columns, device_of(DeviceType::kCpu)) ==
        Approx(20 + 10.24 + 2 * 4 * 5120 / 5e9 * 1e6));
  const OpDescriptor half = operator_of("Slice", {{1, 512, 1000}}, {1, 256, 1000});
  CHECK(small_slice_limit_us(half, device_of(DeviceType::kCpu)) == 0);
  const OpDescriptor other = operator_of("Gather", {{1, 512, 1000}}, {1, 1, 1000});
  CHECK(small_slice_limit_us(other, device_of(DeviceType::kCpu)) == 0);
}

TEST_CASE("Small slices: a longer prediction becomes the limit, measured times stay") {
  const OpDescriptor last = operator_of("Slice", {{1, 512, 1000}}, {1, 1, 1000});
  const DeviceSpec device = device_of(DeviceType::kCpu);
  OpCost cost;
  cost.time_ns = 800'000;
  cost.low_ns = 600'000;
  cost.high_ns = 1'000'000;
  cost.source = CostSource::kPredicted;
  OpCost measured = cost;
  measured.source = CostSource::kMeasured;
  OpCost shorter = cost;
  shorter.time_ns = 1'000;
  apply_small_slice(last, device, &cost);
  apply_small_slice(last, device, &measured);
  apply_small_slice(last, device, &shorter);
  CHECK(static_cast<double>(cost.time_ns) ==
        Approx(small_slice_limit_us(last, device) * 1e3).margin(1));
  CHECK(cost.low_ns < cost.time_ns);
  CHECK(cost.high_ns > cost.time_ns);
  CHECK(cost.source == CostSource::kExtrapolated);
  CHECK(measured.time_ns == 800'000);
  CHECK(shorter.time_ns == 1'000);
}

}  // namespace
}  // namespace dfsim
