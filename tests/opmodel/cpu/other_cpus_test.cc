// A CPU without rows: the law by hand, the devices that it answers for, and a part's answers.
#include "opmodel/model/laws/other_cpus.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

namespace dfsim {
namespace {

DeviceSpec cpu_of(const std::string& model, int cores, double core_flops_per_s) {
  DeviceSpec cpu;
  cpu.model = model;
  cpu.type = DeviceType::kCpu;
  cpu.compute_units = cores;
  cpu.peaks.push_back({DType::kFloat32, cores * core_flops_per_s, 0});
  cpu.memory_bytes_per_s = cores * 10e9;
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

// A product of `flops` FLOPs that moves `bytes`.
OpGeometry work_of(double flops, double bytes) {
  OpGeometry geometry;
  geometry.family = Family::kGemm;
  geometry.dtype = DType::kFloat32;
  geometry.flops = flops;
  geometry.bytes = bytes;
  return geometry;
}

constexpr double kCore = 100e9 / 0.75;  // printed rate of a core like the known ones

TEST_CASE("Other CPUs: the law starts from the most known cores that the CPU has") {
  const ModelManifest manifest = measured_cpus();
  const ModelPart part = part_of(manifest);
  CHECK(other_cpu(manifest, part, cpu_of("eight", 8, kCore))->known.model == "two");
  CHECK(other_cpu(manifest, part, cpu_of("single", 1, kCore))->known.model == "one");
  ModelManifest large = measured_cpus();
  large.devices.erase(large.devices.begin());
  CHECK(other_cpu(large, part, cpu_of("single", 1, kCore))->known.model == "two");
}

TEST_CASE("Other CPUs: arithmetic divides by the cores but for the serial share and the threads") {
  const ModelManifest manifest = measured_cpus();
  const DeviceSpec eight = cpu_of("eight", 8, kCore);
  const auto cpu = other_cpu(manifest, part_of(manifest), eight);
  REQUIRE(cpu.has_value());
  CHECK(cpu->speed == Approx(1));
  const double time_us = other_cpu_us(*cpu, work_of(1e9, 0), eight, 10'004.7);
  CHECK(time_us == Approx(10'000 * (0.02 + 0.98 / 8) / (0.02 + 0.98 / 2) + 3 * 4.7).epsilon(1e-9));
}

TEST_CASE("Other CPUs: traffic divides by the cores until they fill the memory's bandwidth") {
  const ModelManifest manifest = measured_cpus();  // one core draws 10 GB/s
  DeviceSpec eight = cpu_of("eight", 8, kCore);
  eight.memory_bytes_per_s = 40e9;
  const auto cpu = other_cpu(manifest, part_of(manifest), eight);
  REQUIRE(cpu.has_value());
  const double time_us = other_cpu_us(*cpu, work_of(1, 1e9), eight, 10'004.7);
  CHECK(time_us == Approx(10'000 * (0.02 + 0.98 / 4) / (0.02 + 0.98 / 2) + 3 * 4.7).epsilon(1e-9));
}

TEST_CASE("Other CPUs: a short operator stays on one core") {
  const ModelManifest manifest = measured_cpus();
  const DeviceSpec many = cpu_of("many", 64, kCore);
  const auto cpu = other_cpu(manifest, part_of(manifest), many);
  REQUIRE(cpu.has_value());
  CHECK(other_cpu_us(*cpu, work_of(1e3, 1e3), many, 4) == Approx(4));
}

TEST_CASE("Other CPUs: printed rates give the speed, and distance widens the interval") {
  const ModelManifest manifest = measured_cpus();
  const ModelPart part = part_of(manifest);
  // The faster core counts; what was measured of it is three quarters of what would be printed.
  const DeviceSpec half = cpu_of("half", 2, kCore / 2);
  const auto slow = other_cpu(manifest, part, half);
  REQUIRE(slow.has_value());
  CHECK(slow->speed == Approx(0.5));
  CHECK(slow->spread == Approx(1.4 * std::sqrt(2)));
  CHECK(other_cpu_us(*slow, work_of(1e9, 0), half, 10'004.7) == Approx(20'004.7));
  const auto large = other_cpu(manifest, part, cpu_of("large", 8, kCore));
  REQUIRE(large.has_value());
  CHECK(large->spread == Approx(1.4 * 1.2 * 1.2));
}

TEST_CASE("Other CPUs: weights come from memory as fast as on the known CPU, whatever the clock") {
  const ModelManifest manifest = measured_cpus();
  const DeviceSpec half = cpu_of("half", 2, kCore / 2);
  const auto slow = other_cpu(manifest, part_of(manifest), half);
  REQUIRE(slow.has_value());
  CHECK(other_cpu_us(*slow, work_of(1, 1e9), half, 10'004.7) == Approx(10'004.7));
  OpGeometry copy = work_of(1, 1e9);
  copy.family = Family::kRows;
  CHECK(other_cpu_us(*slow, copy, half, 10'004.7) == Approx(20'004.7));
}

TEST_CASE("Other CPUs: traffic follows a slower memory, arithmetic next to it does not") {
  const ModelManifest manifest = measured_cpus();
  DeviceSpec thin = cpu_of("thin", 2, kCore);
  thin.memory_bytes_per_s /= 2;
  const auto cpu = other_cpu(manifest, part_of(manifest), thin);
  REQUIRE(cpu.has_value());
  CHECK(cpu->speed == Approx(1));
  const double factor = 1 / (0.02 + 0.98 / 2);  // 10 GB/s is what one known core draws
  OpGeometry copy = work_of(1, 1e9);
  // A second core would draw no more, so the operator stays on one and starts no threads.
  CHECK(other_cpu_us(*cpu, copy, thin, 10'004.7) == Approx(10'000 * factor));
  copy.family = Family::kRows;
  CHECK(other_cpu_us(*cpu, copy, thin, 10'004.7) == Approx(10'000 * factor));
  // 80 MB at 20 GB/s explain 4 of the 10 ms.
  CHECK(other_cpu_us(*cpu, work_of(1e9, 80e6), thin, 10'004.7) ==
        Approx(6'000 + 4'000 * factor + 4.7));
}

TEST_CASE("Other CPUs: arithmetic of 8 bits goes by rates of its own") {
  ModelManifest manifest = measured_cpus();
  for (DeviceSpec& device : manifest.devices) {
    device.peaks.push_back({DType::kInt8, 4 * device.peaks[0].flops_per_s, 0});
  }
  DeviceSpec plain = cpu_of("plain", 2, kCore);  // without instructions for 8 bits
  const auto cpu = other_cpu(manifest, part_of(manifest), plain);
  REQUIRE(cpu.has_value());
  CHECK(cpu->speed == Approx(1));
  CHECK(cpu->speed_of_8_bits == Approx(0.25));
  OpGeometry product = work_of(1e9, 0);
  product.dtype = DType::kInt8;
  CHECK(other_cpu_us(*cpu, product, plain, 10'004.7) == Approx(40'004.7));
  CHECK(other_cpu_us(*cpu, work_of(1e9, 0), plain, 10'004.7) == Approx(10'004.7));
}

TEST_CASE(
    "Other CPUs: no law for a known CPU, a GPU, an unknown rate or known CPUs not described") {
  const ModelManifest manifest = measured_cpus();
  const ModelPart part = part_of(manifest);
  CHECK(!other_cpu(manifest, part, cpu_of("two", 2, 60e9)).has_value());
  DeviceSpec gpu = cpu_of("gpu", 8, 60e9);
  gpu.type = DeviceType::kGpu;
  CHECK(!other_cpu(manifest, part, gpu).has_value());
  CHECK(!other_cpu(manifest, part, cpu_of("rateless", 8, 0)).has_value());
  CHECK(!other_cpu({}, part, cpu_of("eight", 8, 60e9)).has_value());
}

// Without trees and intervals, a part answers with the roofline of the device, exactly.
TEST_CASE("Other CPUs: a part's answers are extrapolated, and their intervals contain the spread") {
  ModelManifest manifest = measured_cpus();
  manifest.parts = {part_of(manifest)};
  const ModelPart& part = manifest.parts.front();
  const OpDescriptor op;
  const OpGeometry work = work_of(1e9, 1);
  const std::vector<PartQuery> queries = {{&op, &work}};
  const DeviceSpec eight = cpu_of("eight", 8, kCore);
  const auto cpu = other_cpu(manifest, part, eight);
  REQUIRE(cpu.has_value());

  const PartAnswer known = predict_part(part, nullptr, queries, cpu->known).front();
  const PartAnswer other = predict_on_device(manifest, part, nullptr, queries, eight).front();
  CHECK(other.time_us == Approx(other_cpu_us(*cpu, work, eight, known.time_us)));
  CHECK(other.time_us < known.time_us / 2);
  CHECK(other.extrapolated);
  CHECK(other.time_us / other.low_us == Approx(cpu->spread));
  CHECK(other.high_us / other.time_us == Approx(cpu->spread));
  CHECK(other_cpu_spread(manifest, eight) == Approx(cpu->spread));

  const DeviceSpec& two = manifest.devices.back();
  CHECK(predict_on_device(manifest, part, nullptr, queries, two).front().time_us ==
        predict_part(part, nullptr, queries, two).front().time_us);
  CHECK(other_cpu_spread(manifest, two) == 1);
}

// In bare loops a core of the known CPU makes 120 GFLOP/s, and its memory gives 20 GB/s.
TEST_CASE("Other CPUs: a file of roofs is compared with the known CPU's roofs") {
  ModelManifest manifest = measured_cpus();
  manifest.bare_devices = {cpu_of("one", 1, 120e9), cpu_of("two", 2, 110e9)};
  for (DeviceSpec& bare : manifest.bare_devices) {
    bare.memory_bytes_per_s *= 2;
  }
  const ModelPart part = part_of(manifest);
  const auto same = other_cpu(manifest, part, cpu_of("bare", 1, 120e9));
  REQUIRE(same.has_value());
  CHECK(same->speed == Approx(1));
  CHECK(same->core_bytes_per_s == Approx(20e9));
  CHECK(same->spread == Approx(1.08));
  DeviceSpec twin = cpu_of("bare", 1, 120e9);
  twin.memory_bytes_per_s = 20e9;
  CHECK(other_cpu_us(*same, work_of(1e9, 1e6), twin, 500) == Approx(500));
  const auto slower = other_cpu(manifest, part, cpu_of("bare", 1, 60e9));
  CHECK(slower->speed == Approx(0.5));
  CHECK(slower->spread == Approx(1.4 * std::exp(0.5 * std::log(2.0))));
  manifest.bare_devices.clear();
  CHECK(other_cpu(manifest, part, cpu_of("bare", 1, 120e9))->speed == Approx(0.9));
}

TEST_CASE("Other CPUs: do not bear the profiler's time that the known CPU's answers contain") {
  ModelManifest manifest = measured_cpus();
  manifest.parts = {part_of(manifest)};
  const OpDescriptor op;
  const OpGeometry work = work_of(1e6, 1);
  const std::vector<PartQuery> queries = {{&op, &work}};
  const DeviceSpec eight = cpu_of("eight", 8, kCore);
  const auto cpu = other_cpu(manifest, manifest.parts.front(), eight);
  REQUIRE(cpu.has_value());
  const PartAnswer known =
      predict_part(manifest.parts.front(), nullptr, queries, cpu->known).front();
  manifest.overheads_us = {{"two", known.time_us / 4}};
  const PartAnswer other =
      predict_on_device(manifest, manifest.parts.front(), nullptr, queries, eight).front();
  CHECK(other.time_us == Approx(other_cpu_us(*cpu, work, eight, known.time_us * 3 / 4)));
}

}  // namespace
}  // namespace dfsim
