// Unaligned products: which ones they are, the fallback's limit by hand, and who asks for it.
#include "opmodel/model/laws/unaligned_products.h"

#include <catch2/catch.hpp>

#include "opmodel/model/laws/network_factors.h"
#include "opmodel/model/part_model.h"

namespace dfsim {
namespace {

struct Product {
  OpDescriptor op;
  OpGeometry geometry;
};

Product product_of(double m, double n, double k, DType dtype = DType::kFloat16,
                   const std::string& kind = "linear") {
  Product product;
  product.op.op_type = "MatMul";
  product.geometry.family = Family::kGemm;
  product.geometry.kind = kind;
  product.geometry.dtype = dtype;
  product.geometry.matrix = true;
  product.geometry.dims = {1, m, n, k, 0};
  product.geometry.flops = 2 * m * n * k;
  return product;
}

bool unaligned(const Product& product) {
  return is_unaligned_product(product.op, product.geometry);
}

// Ten units at 1 GHz.
DeviceSpec product_board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.compute_units = 10;
  gpu.clock_hz = 1e9;
  gpu.memory_bytes_per_s = 1e12;
  gpu.peaks = {{DType::kFloat32, 1e12, 0}, {DType::kFloat16, 1e12, 16e12}};
  gpu.tf32_flops_per_s = 8e12;
  return gpu;
}

double limit_us(const Product& product, const DeviceSpec& device) {
  return unaligned_product_us(product.op, product.geometry, device);
}

TEST_CASE("Unaligned products: rows of 16 bits that do not divide into 8 elements") {
  CHECK(unaligned(product_of(64, 50257, 768)));
  CHECK_FALSE(unaligned(product_of(64, 50264, 768)));
  CHECK(unaligned(product_of(64, 768, 50257)));
  CHECK(unaligned(product_of(64, 100, 64, DType::kBFloat16)));
  CHECK_FALSE(unaligned(product_of(63, 64, 64)));  // its rows are K and N long
}

TEST_CASE("Unaligned products: a transposed operand has rows of M") {
  Product turned = product_of(63, 64, 64);
  turned.op.attributes = "transA=1";
  CHECK(unaligned(turned));
}

TEST_CASE("Unaligned products: TF32 needs multiples of 4, fp32 none") {
  CHECK(unaligned(product_of(64, 50258, 768, DType::kTFloat32)));
  CHECK_FALSE(unaligned(product_of(64, 50260, 768, DType::kTFloat32)));
  CHECK_FALSE(unaligned(product_of(64, 50257, 768, DType::kFloat32)));
}

TEST_CASE("Unaligned products: vectors and quantised kinds have kernels of their own") {
  CHECK_FALSE(unaligned(product_of(1, 50257, 768)));
  CHECK_FALSE(unaligned(product_of(64, 1, 769)));
  CHECK_FALSE(unaligned(product_of(64, 50257, 768, DType::kFloat16, "linear-weight-only")));
}

TEST_CASE("Unaligned products: the limit is the loads of the best tile") {
  // Tiles of 64 x 64: four of them, one per unit; 128 + 64 steps and 256 to begin with, each of 128
  // elements at 0.28 cycles.
  CHECK(limit_us(product_of(128, 127, 128), product_board()) == Approx(448 * 128 * 0.28e-3));
  // Loads of two elements.
  CHECK(limit_us(product_of(128, 126, 128), product_board()) == Approx(448 * 128 * 0.17e-3));
  // Eleven times as many tiles are 44, five for the busiest unit.
  CHECK(limit_us(product_of(128 * 11, 127, 128), product_board()) ==
        Approx((5 * (128 + 64) + 256) * 128 * 0.28e-3));
  // One tile: K in eight parts of 128 leaves two units idle.
  CHECK(limit_us(product_of(64, 63, 1024), product_board()) == Approx(448 * 128 * 0.28e-3));
}

TEST_CASE("Unaligned products: twice the clock is half the limit, aligned ones have none") {
  const Product product = product_of(128, 127, 128);
  DeviceSpec fast = product_board();
  fast.clock_hz *= 2;
  CHECK(limit_us(product, fast) == Approx(limit_us(product, product_board()) / 2));
  CHECK(limit_us(product_of(128, 128, 128), product_board()) == 0);
}

TEST_CASE("Unaligned products: no limit without matrix units, clock or units, nor on a CPU") {
  const Product product = product_of(128, 127, 128);
  DeviceSpec device = product_board();
  device.clock_hz = 0;
  CHECK(limit_us(product, device) == 0);
  device = product_board();
  device.compute_units = 0;
  CHECK(limit_us(product, device) == 0);
  device = product_board();
  device.type = DeviceType::kCpu;
  CHECK(limit_us(product, device) == 0);
  device = product_board();
  device.peaks = {{DType::kFloat32, 1e12, 0}, {DType::kFloat16, 2e12, 0}};
  CHECK(limit_us(product, device) == 0);
}

// A part without trees, whose answers are the roofline.
ModelPart part_of_products() {
  ModelPart part;
  part.op_class = OpClass::kMatMul;
  part.kind = "linear";
  part.family = Family::kGemm;
  part.dtypes = {DType::kFloat16};
  return part;
}

PartAnswer answer_of(const ModelPart& part, const Product& product) {
  const PartQuery query = {&product.op, &product.geometry};
  return predict_part(part, nullptr, std::span(&query, 1), product_board(), true).front();
}

TEST_CASE("Unaligned products: a part that knows aligned ones alone answers by the limit") {
  const Product product = product_of(128, 127, 128);
  ModelPart part = part_of_products();
  const double limit = limit_us(product, product_board());
  const PartAnswer raised = answer_of(part, product);
  CHECK(raised.time_us == Approx(limit));
  CHECK(raised.extrapolated);
  CHECK(raised.low_us == Approx(limit / 1.5));
  CHECK(raised.high_us == Approx(limit * 1.5));
  part.unaligned_rows = 20;
  CHECK(answer_of(part, product).time_us < limit / 2);
}

TEST_CASE("Unaligned products: aligned ones keep the part's answer") {
  const PartAnswer kept = answer_of(part_of_products(), product_of(128, 128, 128));
  CHECK(kept.time_us < 1);
  CHECK(kept.low_us == kept.time_us);
}

TEST_CASE("Unaligned products: what is longer than the limit keeps its time, but is extrapolated") {
  Product product = product_of(128, 127, 128);
  product.geometry.bytes = 1e9;  // a millisecond of memory
  const PartAnswer kept = answer_of(part_of_products(), product);
  CHECK(kept.time_us == Approx(1000).epsilon(0.01));
  CHECK(kept.extrapolated);
  CHECK(kept.high_us == Approx(1.5 * kept.time_us));
}

TEST_CASE("network_cost: a factor below 1 does not undercut the loads of unaligned products") {
  DeviceSpec half_rate = product_board();  // fp32 accumulates at half rate
  half_rate.peaks = {{DType::kFloat32, 8e12, 0}, {DType::kFloat16, 8e12, 16e12}};
  const Product odd = product_of(12800, 1279, 1280);
  const Product even = product_of(12800, 1280, 1280);
  const double limit = limit_us(odd, half_rate);
  CHECK(network_cost(odd.op, odd.geometry, half_rate, limit).factor == Approx(1));
  CHECK(network_cost(even.op, even.geometry, half_rate, limit).factor < 1);
}

}  // namespace
}  // namespace dfsim
