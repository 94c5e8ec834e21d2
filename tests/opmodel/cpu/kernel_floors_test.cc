// Work that small problems do not escape on CPUs: times by hand.
#include "opmodel/model/laws/cpu/kernel_floors.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "opmodel/model/laws/cpu/plain_forms.h"
#include "tests/opmodel/cpu/operator_of.h"

namespace dfsim {
namespace {

DeviceSpec cpu(int cores) {
  DeviceSpec device;
  device.type = DeviceType::kCpu;
  device.compute_units = cores;
  device.peaks = {{DType::kFloat32, 100e9 * cores}};
  return device;
}

// 10 steps of 4 rows of 8 inputs to a state of 16.
OpDescriptor recurrent(const std::string& type, int64_t gates) {
  return operator_of(type, {{10, 4, 8}, {1, 16 * gates, 8}, {1, 16 * gates, 16}}, {10, 1, 4, 16});
}

TEST_CASE("Kernel floors: a recurrent layer's functions stay on one thread") {
  const double gru_flops = 2.0 * 10 * 4 * 48 * 24;
  CHECK(serial_recurrence_us(recurrent("GRU", 3), cpu(1), true) ==
        Approx(640 * 4e-3 + gru_flops / 100e9 * 1e6));
  CHECK(serial_recurrence_us(recurrent("GRU", 3), cpu(2), true) ==
        Approx(640 * 4e-3 + gru_flops / 200e9 * 1e6));
  CHECK(serial_recurrence_us(recurrent("RNN", 1), cpu(1), true) ==
        Approx(640 * 8e-3 + gru_flops / 3 / 100e9 * 1e6));
  // Without rows, as long as on the core that was measured, at this one's speed.
  CHECK(serial_recurrence_us(recurrent("RNN", 1), cpu(1), false) ==
        Approx(640 * 18e-3 / (100 / 91.9) + gru_flops / 3 / 100e9 * 1e6));
  CHECK(serial_recurrence_us(recurrent("LSTM", 4), cpu(1), true) == 0);
  CHECK(serial_recurrence_us(operator_of("GRU", {{10, 4, 8}, {1, 48, 8}, {-1}}, {10, 1, 4, 16}),
                             cpu(1), true) == 0);
}

TEST_CASE("Kernel floors: a product of several rows copies a right side that is not a weight") {
  const OpDescriptor product = operator_of("MatMul", {{4, 500}, {500, 200}}, {4, 200});
  CHECK(packed_operand_us(product, 1) == Approx(100'000 * 0.13e-3));
  CHECK(packed_operand_us(product, 2) == Approx(100'000 * 0.13e-3 * (0.02 + 0.98 / 2)));
  CHECK(packed_operand_us(operator_of("MatMul", {{4, 1000}, {1000, 2000}}, {4, 2000}), 1) ==
        Approx(2e6 * 0.28e-3));
  CHECK(packed_operand_us(operator_of("MatMul", {{1, 500}, {500, 200}}, {1, 200}), 1) == 0);
  OpDescriptor constant = product;
  constant.work.weight_bytes = 400'000;
  CHECK(packed_operand_us(constant, 1) == 0);
}

TEST_CASE("Kernel floors: a Transpose that moves the last axis and others copies each element") {
  const auto us = [](std::vector<int64_t> x, const std::string& perm, double gflops) {
    DeviceSpec device = cpu(1);
    device.peaks = {{DType::kFloat32, gflops * 1e9}};
    return element_copies_us(operator_of("Transpose", {std::move(x)}, {1}, "perm=" + perm), device);
  };
  CHECK(us({8, 784, 1, 4, 48}, "2,0,3,4,1", 91.9) == Approx(8 * 784 * 192 * 3.2e-3));
  CHECK(us({8, 784, 1, 4, 48}, "2,0,3,4,1", 4 * 91.9) ==
        Approx(8 * 784 * 192 * 3.2e-3 / std::sqrt(2.5)));
  CHECK(us({8, 784, 4, 48}, "0,2,3,1", 91.9) == 0);   // one axis moves
  CHECK(us({8, 784, 4, 48}, "2,1,0,3", 91.9) == 0);   // in pieces
  CHECK(us({8, 784, 4, 48}, "2,3,0,1", 91.9) == 0);   // a matrix of 6,272 x 192
  CHECK(us({1, 784, 1, 48}, "2,1,0,3", 91.9) == 0);   // as it lies
  CHECK(us({-1, 784, 4, 48}, "3,0,2,1", 91.9) == 0);  // not known
}

TEST_CASE("Kernel floors: a pool with indices goes window by window") {
  DeviceSpec device = cpu(1);
  device.peaks = {{DType::kFloat32, 91.9e9}};
  OpDescriptor pool =
      operator_of("MaxPool", {{1, 64, 56, 56}}, {1, 64, 28, 28}, "kernel_shape=2,2");
  CHECK(pool_indices_us(pool, device) == 0);  // its maxima alone
  pool.output_extents.push_back(pool.output_extents[0]);
  CHECK(pool_indices_us(pool, device) == Approx(64 * 28 * 28 * 21e-3));
  pool.output_extents = {{1, 16, 16, 16}, {1, 16, 16, 16}};
  CHECK(pool_indices_us(pool, device) == Approx(4096 * 7e-3));
  pool.op_type = "AveragePool";
  CHECK(pool_indices_us(pool, device) == 0);
}

TEST_CASE("Kernel floors: parts of a Split and operands of a Concat take time each") {
  DeviceSpec device = cpu(1);
  device.peaks = {{DType::kFloat32, 91.9e9}};
  OpDescriptor split = operator_of("Split", {{100, 4}}, {1, 4});
  split.output_extents.assign(100, {1, 4});
  CHECK(many_operands_us(split, device) == Approx(20));
  CHECK(many_operands_us(operator_of("Concat", {{1, 4}, {2, 4}}, {3, 4}), device) == Approx(0.4));
  CHECK(many_operands_us(operator_of("Add", {{1, 4}, {1, 4}}, {1, 4}), device) == 0);
}

TEST_CASE("Plain forms: an image that is filtered takes taps by how much it shrinks") {
  OpDescriptor resize = operator_of("Resize", {{1, 3, 512, 512}}, {1, 3, 128, 128},
                                    "antialias=1;coordinates=half_pixel;mode=linear");
  REQUIRE(filters_image(resize));
  const double taps = 3 * (512.0 * 128 + 128.0 * 128) * 8;
  CHECK(plain_form_us(resize, 1) == Approx(taps * 0.38e-3));
  resize.attributes = "antialias=1;coordinates=half_pixel;mode=cubic";
  CHECK(plain_form_us(resize, 1) == Approx(2 * taps * 0.38e-3));
  resize.attributes = "coordinates=half_pixel;mode=cubic";
  CHECK_FALSE(filters_image(resize));
}

TEST_CASE("Plain forms: a p-norm pool takes a power for each tap") {
  const OpDescriptor pool =
      operator_of("LpPool", {{1, 4, 8, 8}}, {1, 4, 8, 8}, "kernel_shape=3,3;pads=1,1,1,1");
  CHECK(plain_form_us(pool, 1) == Approx(4 * 64 * 9 * 20.3e-3));
}

TEST_CASE("Kernel floors: a floor lifts what is below, and widens its interval") {
  const OpDescriptor product = operator_of("MatMul", {{4, 500}, {500, 200}}, {4, 200});
  OpCost below;
  below.time_ns = 5'000;
  below.low_ns = 4'000;
  below.high_ns = 6'000;
  below.source = CostSource::kPredicted;
  OpCost above = below;
  above.time_ns = 20'000;
  OpCost measured = below;
  measured.source = CostSource::kMeasured;
  apply_kernel_floors(product, cpu(1), &below);
  apply_kernel_floors(product, cpu(1), &above);
  apply_kernel_floors(product, cpu(1), &measured);
  CHECK(below.time_ns == 13'000);
  CHECK(below.low_ns == 4'000);
  CHECK(below.high_ns == 23'400);
  CHECK(below.source == CostSource::kExtrapolated);
  CHECK(above.time_ns == 20'000);
  CHECK(measured.time_ns == 5'000);
}

TEST_CASE("Plain forms: a scale per block is looked up per element") {
  const OpDescriptor blocked =
      operator_of("DequantizeLinear", {{256, 4096}, {256, 64}}, {256, 4096});
  CHECK(has_blocked_scales(blocked));
  CHECK(plain_form_us(blocked, 1) == Approx(256 * 4096 * 1.08e-3));
  CHECK(plain_form_us(blocked, 2) == Approx(256 * 4096 * 1.08e-3));
  CHECK_FALSE(has_blocked_scales(operator_of("DequantizeLinear", {{256, 64}, {64}}, {256, 64})));
  CHECK_FALSE(has_blocked_scales(operator_of("QuantizeLinear", {{256, 64}, {256, 2}}, {256, 64})));
}

TEST_CASE("Plain forms: Gelus that campaigns lack have the kernel of another operator") {
  const auto twin_of = [](const std::string& type, const std::string& attributes) {
    const OpDescriptor op = operator_of(type, {{8, 64}}, {8, 64}, attributes);
    if (!has_activation_twin(op)) {
      return std::string();
    }
    CHECK(activation_twin(op).attributes.empty());
    CHECK(without_activation_attributes(op).op_type == type);
    return activation_twin(op).op_type;
  };
  CHECK(twin_of("com.microsoft.QuickGelu", "").empty());
  CHECK(twin_of("com.microsoft.QuickGelu", "scaled=1") == "com.microsoft.FastGelu");
  CHECK(twin_of("Gelu", "") == "com.microsoft.Gelu");
  CHECK(twin_of("Gelu", "approximate=tanh") == "com.microsoft.FastGelu");
  CHECK(twin_of("com.microsoft.Gelu", "").empty());
}

}  // namespace
}  // namespace dfsim
