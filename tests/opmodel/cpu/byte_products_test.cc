// Products of bytes by the types of their operands: times by hand, and which costs they change.
#include "opmodel/model/laws/cpu/byte_products.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace dfsim {
namespace {

DeviceSpec cpu(const std::string& model, double int8_per_fp32, int cores = 1) {
  DeviceSpec device;
  device.type = DeviceType::kCpu;
  device.model = model;
  device.compute_units = cores;
  device.peaks = {{DType::kFloat32, 91.9e9 * cores},
                  {DType::kInt8, int8_per_fp32 * 91.9e9 * cores}};
  return device;
}

const DeviceSpec kAvx2 = cpu("AMD EPYC", 2);
const DeviceSpec kVnni = cpu("Intel Xeon", 4);
const DeviceSpec kArm = cpu("AWS Graviton3", 8);

OpDescriptor product(DType activation, DType weight) {
  OpDescriptor op;
  op.op_type = "MatMulInteger";
  op.op_class = OpClass::kMatMul;
  op.input_extents = {{10, 100}, {100, 200}};
  op.input_dtypes = {activation, weight};
  op.output_extents = {{10, 200}};
  op.output_dtypes = {DType::kInt32};
  op.work.macs = 200'000;
  op.work.weight_bytes = 20'000;
  return op;
}

OpDescriptor convolution(int64_t group) {
  OpDescriptor op;
  op.op_type = "QLinearConv";
  op.op_class = OpClass::kConv;
  const std::vector<int64_t> scalar;
  op.input_extents = {{1, 16, 8, 8}, scalar, scalar, {16, 16 / group, 3, 3}};
  op.input_dtypes = {DType::kInt8, DType::kFloat32, DType::kInt8, DType::kInt8};
  op.output_extents = {{1, 16, 8, 8}};
  op.output_dtypes = {DType::kInt8};
  op.attributes = "group=" + std::to_string(group);
  op.work.macs = 1024 * 9 * (16 / group);
  op.work.weight_bytes = 144 * (16 / group);
  return op;
}

TEST_CASE("Byte products: signed activations take portable code on x86") {
  const OpDescriptor op = product(DType::kInt8, DType::kInt8);
  const double one_us = (200'000 * 0.0725 + 2000 + 20'000 * 0.75) / 1e3;
  CHECK(signed_product_us(op, kAvx2) == Approx(one_us));
  CHECK(signed_product_us(op, kVnni) == Approx(one_us));
  CHECK(signed_product_us(op, cpu("AMD EPYC", 2, 4)) == Approx(one_us * (0.02 + 0.98 / 4)));
  CHECK(signed_product_us(op, kArm) == 0);
  CHECK(signed_product_us(product(DType::kUInt8, DType::kInt8), kAvx2) == 0);
}

TEST_CASE("Byte products: convolutions pack their weights per tile, depthwise ones have none") {
  CHECK(signed_product_us(convolution(1), kAvx2) ==
        Approx((1024 * 144 * 0.0725 + 1024 + 2304 * 3.0) / 1e3));
  CHECK(signed_product_us(convolution(16), kAvx2) == 0);
}

TEST_CASE("Byte products: signed weights are the left side of ConvInteger, whatever the image is") {
  OpDescriptor op = convolution(1);
  op.op_type = "ConvInteger";
  op.input_extents = {{1, 16, 8, 8}, {16, 16, 3, 3}};
  op.input_dtypes = {DType::kUInt8, DType::kInt8};
  const double one_us = (1024 * 144 * 0.125 + 1024 + 2304 * 0.75 * 4) / 1e3;
  CHECK(signed_product_us(op, kVnni) == Approx(one_us));
  op.input_dtypes[1] = DType::kUInt8;
  CHECK(signed_product_us(op, kVnni) == 0);
  OpDescriptor depthwise = convolution(16);
  depthwise.op_type = "ConvInteger";
  depthwise.input_extents = {{1, 16, 8, 8}, {16, 1, 3, 3}};
  depthwise.input_dtypes = {DType::kUInt8, DType::kInt8};
  CHECK(signed_product_us(depthwise, kVnni) == Approx(1024 * 23 / 1e3));
}

TEST_CASE("Byte products: unsigned weights are widened, which VNNI feels most with many rows") {
  OpDescriptor op = product(DType::kUInt8, DType::kUInt8);
  CHECK(unsigned_weights_factor(op, kAvx2) == 1.33);
  CHECK(unsigned_weights_factor(op, kVnni) == Approx(1 + 2.2 * 10 / 18));
  op.work.macs = 20'000;  // one row
  CHECK(unsigned_weights_factor(op, kVnni) == Approx(1 + 2.2 / 9));
  CHECK(unsigned_weights_factor(op, kArm) == 1);
  CHECK(unsigned_weights_factor(product(DType::kUInt8, DType::kInt8), kAvx2) == 1);
  op.work.weight_bytes = 0;  // two activations
  CHECK(unsigned_weights_factor(op, kAvx2) == 1);
  op.op_type = "Add";
  CHECK(unsigned_weights_factor(op, kAvx2) == 1);
}

TEST_CASE("Byte products: next to VNNI, convolutions feel unsigned weights by their channels") {
  const auto factor = [](int64_t group, int64_t channels) {
    OpDescriptor op = convolution(group);
    op.input_dtypes = {DType::kUInt8, DType::kFloat32, DType::kUInt8, DType::kUInt8};
    op.input_extents[0][1] = channels;
    op.input_extents[3][1] = channels / group;
    return unsigned_weights_factor(op, kVnni);
  };
  CHECK(factor(1, 64) == Approx(3.2));
  CHECK(factor(1, 3) == Approx(1.3));
  CHECK(factor(4, 64) == Approx(1.3));
  CHECK(factor(16, 16) == Approx(2.3));
}

TEST_CASE("Byte products: change costs that were not measured") {
  OpCost cost;
  cost.time_ns = 1000;
  cost.low_ns = 900;
  cost.high_ns = 1200;
  cost.source = CostSource::kPredicted;
  OpCost widened = cost;
  apply_byte_product(product(DType::kUInt8, DType::kUInt8), kAvx2, &widened);
  CHECK(widened.time_ns == 1330);
  CHECK(widened.high_ns == 1596);
  OpCost next_to_vnni = cost;
  apply_byte_product(product(DType::kUInt8, DType::kUInt8), kVnni, &next_to_vnni);
  CHECK(next_to_vnni.time_ns == 2222);
  CHECK(next_to_vnni.high_ns == 3733);
  CHECK(next_to_vnni.source == CostSource::kExtrapolated);
  OpCost portable = cost;
  apply_byte_product(product(DType::kInt8, DType::kInt8), kAvx2, &portable);
  CHECK(portable.time_ns == 31'500);
  CHECK(portable.source == CostSource::kExtrapolated);
  cost.source = CostSource::kMeasured;
  apply_byte_product(product(DType::kInt8, DType::kInt8), kAvx2, &cost);
  CHECK(cost.time_ns == 1000);
}

}  // namespace
}  // namespace dfsim
