// Factors of 16-bit operators in whole networks, for boards and operators made by hand.
#include "opmodel/model/laws/network_factors.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

// 1 TFLOP/s of fp32 and 100 GB/s; half of it is sustained.
DeviceSpec board(double matrix_tflops) {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.memory_bytes_per_s = 100e9;
  gpu.sustained_memory_bytes_per_s = 50e9;
  gpu.launch_overhead_ns = 2000;
  gpu.peaks = {{DType::kFloat32, 1e12, 0}, {DType::kFloat16, 1e12, matrix_tflops * 1e12}};
  gpu.sustained = {{DType::kFloat16, 0, 0.5 * matrix_tflops * 1e12}};
  return gpu;
}

OpGeometry operator_of(Family family, const std::string& kind, DType dtype = DType::kFloat16) {
  OpGeometry geometry;
  geometry.family = family;
  geometry.kind = kind;
  geometry.dtype = dtype;
  geometry.matrix = true;
  geometry.dims[dim::kKH] = geometry.dims[dim::kKW] = 3;
  return geometry;
}

TEST_CASE("NetworkFactors: windows and groups take longer on every board") {
  for (const double matrix : {2.0, 16.0}) {
    CHECK(network_factor(operator_of(Family::kConv, "dense"), board(matrix)) > 1);
    CHECK(network_factor(operator_of(Family::kConv, "grouped"), board(matrix)) > 1);
    CHECK(network_factor(operator_of(Family::kConv, "depthwise"), board(matrix)) == 1);
    OpGeometry points = operator_of(Family::kConv, "dense");
    points.dims[dim::kKH] = points.dims[dim::kKW] = 1;
    CHECK(network_factor(points, board(matrix)) == 1);
  }
}

TEST_CASE("NetworkFactors: products gain where fp32 accumulates at half rate") {
  CHECK(network_factor(operator_of(Family::kGemm, "linear"), board(2)) < 1);
  CHECK(network_factor(operator_of(Family::kAttention, "context"), board(2)) < 1);
  CHECK(network_factor(operator_of(Family::kGemm, "bmm"), board(2)) == 1);
  CHECK(network_factor(operator_of(Family::kGemm, "linear"), board(4)) == 1);
}

TEST_CASE("NetworkFactors: fp32 and processors keep what the prior says") {
  const OpGeometry fp32 = operator_of(Family::kConv, "dense", DType::kFloat32);
  CHECK(network_factor(fp32, board(2)) == 1);
  CHECK(network_factor(operator_of(Family::kConv, "dense", DType::kTFloat32), board(2)) > 1);
  CHECK(network_factor(operator_of(Family::kGemm, "linear", DType::kTFloat32), board(2)) == 1);
  DeviceSpec cpu = board(2);
  cpu.type = DeviceType::kCpu;
  CHECK(network_factor(operator_of(Family::kConv, "dense"), cpu) == 1);
}

TEST_CASE("NetworkFactors: no product is faster than the sustained roofline") {
  OpGeometry product = operator_of(Family::kGemm, "linear");
  product.flops = 1e9;  // 1,000 us at the sustained 1 TFLOP/s, and 2 of the launch
  const double factor = network_factor(product, board(2));
  CHECK(in_network_us(product, board(2), 2000) == Approx(2000 * factor));
  CHECK(in_network_us(product, board(2), 1100) == Approx(1002));
  // The prior itself may be below; it is left alone.
  CHECK(in_network_us(product, board(2), 900) == 900);
}

TEST_CASE("NetworkFactors: no window in 16 bits gains what Winograd's algorithm gains in fp32") {
  OpGeometry window = operator_of(Family::kConv, "dense");
  window.flops = 1e9;  // 1,000 us at the sustained 1 TFLOP/s, and 2 of the launch
  const double factor = network_factor(window, board(2));
  CHECK(in_network_us(window, board(2), 450) == Approx(1002 * factor));
  CHECK(in_network_us(window, board(2), 1500) == Approx(1500 * factor));
  window.kind = "grouped";  // another law has their times
  CHECK(in_network_us(window, board(2), 450) == Approx(450 * network_factor(window, board(2))));
}

TEST_CASE("NetworkFactors: heads are computed in multiples of 32 elements") {
  OpGeometry attention = operator_of(Family::kAttention, "encoder");
  attention.flops = 1e9;  // at sustained rates 1,000 us, as long as the memory takes
  attention.bytes = 50e6;
  const auto padding = [&](double size, DType dtype = DType::kFloat16) {
    attention.dims[dim::kSize] = size;
    attention.dtype = dtype;
    return head_padding(attention, board(2));
  };
  CHECK(padding(64) == 1);
  CHECK(padding(40) == Approx(1 + (64.0 / 40 - 1) / 2));  // half of the time is matrix work
  CHECK(padding(80) == Approx(1 + (96.0 / 80 - 1) / 2));
  CHECK(padding(40, DType::kFloat32) == 1);
  attention.kind = "generation";  // waits for the cache, not for products
  CHECK(padding(40) == 1);
  DeviceSpec cpu = board(2);
  cpu.type = DeviceType::kCpu;
  attention.kind = "encoder";
  CHECK(head_padding(attention, cpu) == 1);
}

}  // namespace
}  // namespace dfsim
