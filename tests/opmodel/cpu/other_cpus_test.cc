// A CPU without rows: the law by hand, the devices that it answers for, and the models that ship.
#include "opmodel/model/laws/other_cpus.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

namespace dfsim {
namespace {

DeviceSpec cpu_of(const std::string& model, int cores, double core_flops_per_s) {
  DeviceSpec cpu;
  cpu.model = model;
  cpu.type = DeviceType::kCpu;
  cpu.compute_units = cores;
  cpu.peaks.push_back({DType::kFloat32, cores * core_flops_per_s, 0});
  return cpu;
}

ModelManifest measured_cpus() {
  ModelManifest manifest;
  manifest.devices = {cpu_of("one", 1, 100e9), cpu_of("two", 2, 60e9)};
  return manifest;
}

ModelPart part_of(const ModelManifest& manifest) {
  ModelPart part;
  for (const DeviceSpec& device : manifest.devices) {
    part.devices.push_back({});
    part.devices.back().model = device.model;
  }
  return part;
}

TEST_CASE("Other CPUs: more cores follow Amdahl's law through both known CPUs") {
  const ModelManifest manifest = measured_cpus();
  const auto cpu = other_cpu(manifest, part_of(manifest), cpu_of("eight", 8, 100e9 / 0.75));
  REQUIRE(cpu.has_value());
  CHECK(cpu->speed == Approx(1));
  // 100 us on one core and 60 on two: a fifth is serial.
  CHECK(other_cpu_time(*cpu, 100, 60).time_us == Approx(100 * (0.2 + 0.8 / 8)));
  // Two cores as slow as one: all of it. Twice as fast: a fiftieth at least.
  CHECK(other_cpu_time(*cpu, 100, 110).time_us == Approx(100));
  CHECK(other_cpu_time(*cpu, 100, 50).time_us == Approx(100 * (0.02 + 0.98 / 8)));
  CHECK(other_cpu_time(*cpu, 100, 60).least_us == Approx(100.0 / 8 / 1.3));
}

TEST_CASE("Other CPUs: printed rates give the speed, and distance widens the interval") {
  const ModelManifest manifest = measured_cpus();
  const ModelPart part = part_of(manifest);
  // The faster core counts; what was measured of it is three quarters of what would be printed.
  const auto slow = other_cpu(manifest, part, cpu_of("slow", 2, 0.5 * 100e9 / 0.75));
  REQUIRE(slow.has_value());
  CHECK(slow->speed == Approx(0.5));
  CHECK(slow->spread == Approx(1.3 * std::sqrt(2)));
  CHECK(other_cpu_time(*slow, 100, 60).time_us == Approx(120));
  const auto large = other_cpu(manifest, part, cpu_of("large", 8, 100e9 / 0.75));
  REQUIRE(large.has_value());
  CHECK(large->spread == Approx(1.3 * 1.2 * 1.2));
}

TEST_CASE("Other CPUs: one known CPU alone says nothing of serial parts") {
  ModelManifest manifest = measured_cpus();
  manifest.devices.pop_back();
  const auto cpu = other_cpu(manifest, part_of(manifest), cpu_of("four", 4, 100e9 / 0.75));
  REQUIRE(cpu.has_value());
  CHECK(other_cpu_time(*cpu, 100, 100).time_us == Approx(100 * (0.02 + 0.98 / 4)));
}

TEST_CASE("Other CPUs: no law for a known CPU, a GPU, an unknown rate or a part of GPUs") {
  const ModelManifest manifest = measured_cpus();
  const ModelPart part = part_of(manifest);
  CHECK(!other_cpu(manifest, part, cpu_of("two", 2, 60e9)).has_value());
  DeviceSpec gpu = cpu_of("gpu", 8, 60e9);
  gpu.type = DeviceType::kGpu;
  CHECK(!other_cpu(manifest, part, gpu).has_value());
  CHECK(!other_cpu(manifest, part, cpu_of("rateless", 8, 0)).has_value());
  CHECK(!other_cpu({}, part, cpu_of("eight", 8, 60e9)).has_value());
}

}  // namespace
}  // namespace dfsim
