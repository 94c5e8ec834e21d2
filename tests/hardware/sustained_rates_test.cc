#include "hardware/sustained_rates.h"

#include <catch2/catch.hpp>
#include <cmath>

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

TEST_CASE("Sustained rates: a board with less power runs the same chip slower") {
  // NeuSight's fp32 products: 16.4 TFLOP/s on the A100 of 250 W, 18.2 on that of 300 W.
  CHECK(share_on_board(250, 300) == Approx(16.4 / 18.2).epsilon(0.01));
  CHECK(share_on_board(400, 300) == 1);
  CHECK(share_on_board(0, 300) == 1);
  CHECK(share_on_board(250, 0) == 1);
}

TEST_CASE("Sustained rates: recent graphics chips do more with a watt than older ones") {
  // torch.mm in fp32: 46.9, 54.7, 68.4 and 77.1 TFLOP/s; NeuSight's fp32 products on the L4.
  for (const char* const name : {"l4", "l40s", "rtx-4090", "rtx-5090", "rtx-pro-6000"}) {
    INFO(name);
    const StatusOr<Platform> platform = load_platform(name);
    REQUIRE(platform.ok());
    const DeviceSpec& printed = platform->devices[0];
    CHECK(fp32_of(with_estimated_rates(printed)) / fp32_of(with_sustained_rates(printed)) ==
          Approx(1).margin(0.06));
    // The same board with a small L2, or with the fp64 units of a chip for computing.
    DeviceSpec older = printed;
    older.l2_bytes = Bytes{6} << 20;
    CHECK(fp32_of(with_estimated_rates(older)) < fp32_of(with_estimated_rates(printed)));
    DeviceSpec computing = printed;
    for (PeakRate& peak : computing.peaks) {
      peak.flops_per_s = peak.dtype == DType::kFloat64 ? fp32_of(printed) / 2 : peak.flops_per_s;
    }
    CHECK(fp32_of(with_estimated_rates(computing)) == fp32_of(with_estimated_rates(older)));
  }
}

double half_share_of(const char* name) {
  const StatusOr<Platform> platform = load_platform(name);
  REQUIRE(platform.ok());
  const DeviceSpec& printed = platform->devices[0];
  return with_estimated_rates(printed).peak_flops_per_s(DType::kFloat16, true) /
         printed.peak_flops_per_s(DType::kFloat16, true);
}

TEST_CASE("Sustained rates: matrix units keep up what the board's power allows") {
  CHECK(half_share_of("a40") == Approx(0.81).epsilon(0.01));
  CHECK(half_share_of("l40s") == Approx(0.69).epsilon(0.01));
  CHECK(half_share_of("l4") == Approx(0.695 * std::pow(72 / 121.0, 0.226)));
  CHECK(half_share_of("h100-sxm") == Approx(0.80));  // stacked memory
  CHECK(half_share_of("mi300x") == Approx(0.695 * std::pow(750 / 1307.4, 0.226)));
  DeviceSpec unknown = load_platform("l4")->devices[0];
  unknown.board_power_w = 0;
  CHECK(with_estimated_rates(unknown).peak_flops_per_s(DType::kFloat16, true) ==
        Approx(0.80 * 121e12));
}

TEST_CASE("Sustained rates: matrix units before bf16 do what their watts allow") {
  DeviceSpec board;
  board.type = DeviceType::kGpu;
  board.board_power_w = 100;
  board.peaks = {{DType::kFloat16, 16e12, 65e12}, {DType::kBFloat16, 8e12, 0}};
  CHECK(with_estimated_rates(board).peak_flops_per_s(DType::kFloat16, true) == Approx(35e12));
  board.board_power_w = 300;  // the printed rate
  CHECK(with_estimated_rates(board).peak_flops_per_s(DType::kFloat16, true) == Approx(65e12));
  board.peaks[1].matrix_flops_per_s = 65e12;  // units of later boards follow the other law
  board.board_power_w = 100;
  CHECK(with_estimated_rates(board).peak_flops_per_s(DType::kFloat16, true) > 45e12);
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
      for (const DType dtype : {DType::kFloat16, DType::kFloat8E4M3}) {
        if (measured.peak_flops_per_s(dtype, true) > 0) {
          CHECK(estimated.peak_flops_per_s(dtype, true) / measured.peak_flops_per_s(dtype, true) ==
                Approx(1).margin(0.3));
        }
      }
      boards += device.sustained.empty() ? 0 : 1;
    }
  }
  CHECK(boards >= 10);
}

}  // namespace
}  // namespace dfsim
