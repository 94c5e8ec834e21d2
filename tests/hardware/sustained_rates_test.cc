#include "hardware/sustained_rates.h"

#include <catch2/catch.hpp>

#include "hardware/platform_loader.h"

namespace dfsim {
namespace {

double fp32_of(const DeviceSpec& device) { return device.peak_flops_per_s(DType::kFloat32, false); }

TEST_CASE("Sustained rates: a board short of power keeps up a smaller share of its peak") {
  CHECK(power_limited_share(72, 30.3) == Approx(0.30).margin(0.01));
  CHECK(power_limited_share(250, 14) > 0.94);
  CHECK(power_limited_share(1, 1000) == Approx(0.2));  // a limit of the estimate
  CHECK(power_limited_share(0, 10) == 1);
}

TEST_CASE("Sustained rates: measured ones count before estimates, and neither exceeds the peak") {
  const StatusOr<Platform> l4 = load_platform("l4");
  REQUIRE(l4.ok());
  const DeviceSpec& gpu = l4->devices[0];
  REQUIRE(gpu.sustained_memory_bytes_per_s > 0);
  const DeviceSpec sustained = with_sustained_rates(gpu);
  CHECK(sustained.memory_bytes_per_s == gpu.sustained_memory_bytes_per_s);
  CHECK(fp32_of(sustained) == Approx(9.9e12));
  const DeviceSpec estimated = with_estimated_rates(gpu);
  CHECK(estimated.memory_bytes_per_s == Approx(0.82 * 300e9));
  for (size_t i = 0; i < gpu.peaks.size(); ++i) {
    CHECK(sustained.peaks[i].flops_per_s <= gpu.peaks[i].flops_per_s);
    CHECK(estimated.peaks[i].matrix_flops_per_s <= gpu.peaks[i].matrix_flops_per_s);
  }
}

TEST_CASE("Sustained rates: estimates are within a quarter of every measured board") {
  int boards = 0;
  for (const std::string& name : builtin_platforms()) {
    const StatusOr<Platform> platform = load_platform(name);
    REQUIRE(platform.ok());
    for (const DeviceSpec& device : platform->devices) {
      INFO(name << " " << device.name);
      const DeviceSpec measured = with_sustained_rates(device);
      const DeviceSpec estimated = with_estimated_rates(device);
      CHECK(estimated.memory_bytes_per_s / measured.memory_bytes_per_s == Approx(1).margin(0.25));
      CHECK(fp32_of(estimated) / fp32_of(measured) == Approx(1).margin(0.25));
      boards += device.sustained.empty() ? 0 : 1;
    }
  }
  CHECK(boards >= 10);
}

}  // namespace
}  // namespace dfsim
