// The least time of kernels on a device without data: the cycles that they take on others.
#include <catch2/catch.hpp>

#include "hardware/platform_loader.h"
#include "opmodel/model/part_model.h"

namespace dfsim {
namespace {

// Two devices: 12,000 cycles at 1 GHz, 18,000 at 2 GHz.
ModelPart two_devices() {
  ModelPart part;
  part.timing = TimingKind::kKernelOnly;
  part.devices = {{.model = "slow", .floor_us = 12, .clock_hz = 1e9, .unit_flops_per_s = 2e12},
                  {.model = "fast", .floor_us = 9, .clock_hz = 2e9, .unit_flops_per_s = 8e12}};
  return part;
}

DeviceSpec gpu(double clock_hz) {
  DeviceSpec device;
  device.type = DeviceType::kGpu;
  device.model = "another";
  device.launch_overhead_ns = 2500;
  device.clock_hz = clock_hz;
  return device;
}

TEST_CASE("Unseen floors: the lower middle of the others' cycles counts, at the device's clock") {
  CHECK(part_floor_us(two_devices(), gpu(1.5e9)) == Approx(8));
  ModelPart three = two_devices();
  three.devices.push_back(
      {.model = "third", .floor_us = 10, .clock_hz = 1.5e9, .unit_flops_per_s = 8e12});
  CHECK(part_floor_us(three, gpu(1.5e9)) == Approx(10));
}

TEST_CASE("Unseen floors: attention is that of the device with the most similar units") {
  ModelPart part = two_devices();
  part.family = Family::kAttention;
  DeviceSpec device = gpu(1.5e9);
  device.compute_units = 100;
  device.peaks = {{DType::kFloat16, 0, 600e12}};
  CHECK(part_floor_us(part, device) == Approx(12));  // 18,000 cycles
  device.peaks = {{DType::kFloat16, 0, 100e12}};
  CHECK(part_floor_us(part, device) == Approx(8));
}

TEST_CASE("Unseen floors: a device of the part has its own") {
  DeviceSpec known = gpu(2e9);
  known.model = "slow";
  CHECK(part_floor_us(two_devices(), known) == 12);
}

TEST_CASE("Unseen floors: without clocks the lower middle of the others counts") {
  CHECK(part_floor_us(two_devices(), gpu(0)) == 9);
  ModelPart unknown = two_devices();
  for (PartDevice& device : unknown.devices) {
    device.clock_hz = 0;
  }
  CHECK(part_floor_us(unknown, gpu(2e9)) == 9);
}

TEST_CASE("Unseen floors: launches are the host's, whatever the clock") {
  ModelPart part = two_devices();
  part.timing = TimingKind::kLaunchInclusive;
  CHECK(part_floor_us(part, gpu(2e9)) == 12);
}

TEST_CASE("Unseen floors: the clock of a GPU follows from its printed peak") {
  const std::pair<const char*, double> clocks[] = {{"a100-sxm4-80gb", 1.41e9},
                                                   {"h100-sxm", 1.98e9},
                                                   {"l40s", 2.52e9},
                                                   {"t4", 1.58e9},
                                                   {"p4", 1.07e9},
                                                   {"v100-pcie", 1.37e9},
                                                   {"mi300x", 2.1e9}};
  for (const auto& [name, clock_hz] : clocks) {
    INFO(name);
    const StatusOr<Platform> platform = load_platform(name);
    REQUIRE(platform.ok());
    CHECK(platform->devices[0].clock_hz == Approx(clock_hz).epsilon(0.01));
  }
  CHECK(load_platform("epyc-milan")->devices[0].clock_hz == 0);
}

}  // namespace
}  // namespace dfsim
