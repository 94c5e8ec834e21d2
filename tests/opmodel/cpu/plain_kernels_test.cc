// Operators that no campaign measured: times by hand, and which answers they replace.
#include "opmodel/model/laws/cpu/plain_kernels.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "opmodel/features/op_form.h"
#include "tests/opmodel/cpu/operator_of.h"

namespace dfsim {
namespace {

TEST_CASE("Plain kernels: time per element, divided by the cores only where threads share it") {
  const OpDescriptor mish = operator_of("Mish", {{10, 100}}, {10, 100});
  CHECK(plain_kernel_us(mish, 1) == Approx(15));
  CHECK(plain_kernel_us(mish, 4) == Approx(15 * (0.02 + 0.98 / 4)));
  const OpDescriptor tan = operator_of("Tan", {{10, 100}}, {10, 100});
  CHECK(plain_kernel_us(tan, 4) == Approx(16.2));
  CHECK(plain_kernel_us(operator_of("Relu", {{10, 100}}, {10, 100}), 1) == 0);
}

TEST_CASE("Plain kernels: inner axes of several slices take longer than the last and the first") {
  const auto hardmax = [](const std::string& axis) {
    return plain_kernel_us(operator_of("Hardmax", {{10, 10, 10}}, {10, 10, 10}, "axis=" + axis), 1);
  };
  CHECK(hardmax("2") == Approx(1.24));
  CHECK(hardmax("1") == Approx(10.7));
  CHECK(hardmax("0") == Approx(1.24));
  // Reductions have rates of their own (reductions.h).
  CHECK(plain_kernel_us(operator_of("ReduceSumSquare", {{10, 10, 10}}, {10, 10}, "axes=1"), 1) ==
        Approx(0.9));
}

TEST_CASE("Plain kernels: a mask that rows share takes a time per result, on one thread") {
  const auto us = [](const std::vector<int64_t>& mask, int cores) {
    return plain_kernel_us(operator_of("Where", {mask, {4, 10, 25}, {}}, {4, 10, 25}), cores);
  };
  CHECK(us({10, 25}, 1) == Approx(1.1));
  CHECK(us({10, 25}, 2) == Approx(1.1));
  CHECK(us({4, 10, 25}, 1) == 0);  // campaigns have these
  CHECK(us({4, 10, 1}, 1) == 0);
}

TEST_CASE("Plain kernels: whole numbers are divided by one thread, their bits by all") {
  const auto us = [](const std::string& type, DType dtype, int cores) {
    OpDescriptor op = operator_of(type, {{1000}, {}}, {1000});
    op.dtype = op.input_dtypes[0] = op.input_dtypes[1] = dtype;
    return plain_kernel_us(op, cores);
  };
  CHECK(us("Div", DType::kInt64, 2) == Approx(2.05));
  CHECK(us("Div", DType::kInt32, 1) == Approx(0.78));
  CHECK(us("Div", DType::kFloat32, 1) == 0);
  CHECK(us("Mod", DType::kInt64, 1) == Approx(2.6));
  CHECK(us("Mod", DType::kInt32, 1) == Approx(2.3));
  CHECK(us("Mod", DType::kFloat32, 1) == Approx(7.5));
  CHECK(us("BitwiseXor", DType::kInt32, 2) == Approx(0.57 * (0.02 + 0.98 / 2)));
  CHECK(us("BitwiseNot", DType::kInt64, 1) == Approx(0.18));
  CHECK(us("BitwiseNot", DType::kInt32, 1) == Approx(0.10));
}

TEST_CASE("Plain kernels: a scale for each column takes a time per element, one per row does not") {
  const auto us = [](const std::string& type, const std::vector<std::vector<int64_t>>& inputs,
                     const std::string& attributes) {
    return plain_kernel_us(operator_of(type, inputs, inputs[0], attributes), 1);
  };
  CHECK(us("DequantizeLinear", {{1000, 500}, {500}}, "") == Approx(500 * (1.65 + 0.13)));
  CHECK(us("QuantizeLinear", {{1000, 500}, {500}}, "") == Approx(500 * (19.1 + 0.13)));
  // 1,000 x 50 runs of ten elements.
  CHECK(us("DequantizeLinear", {{1000, 50, 10}, {50}}, "axis=1") == Approx(50 * 1.65 + 500 * 0.13));
  CHECK(us("DequantizeLinear", {{1000, 500}, {1000}}, "axis=0") == 0);
  CHECK(us("DequantizeLinear", {{1000, 500}, {}}, "") == 0);
  CHECK(us("DequantizeLinear", {{1000, 500}, {1}}, "") == 0);
  CHECK(us("DequantizeLinear", {{1000, 500}, {50, 500}}, "") ==
        Approx(500'000 * 1.08e-3));  // blocks
}

TEST_CASE("Plain kernels: a transform of 2^k points is fast, others take two of twice the length") {
  const auto stft = [](int64_t window, int64_t bins) {
    return plain_kernel_us(operator_of("STFT", {{1, 9000, 1}, {}, {window}}, {1, 10, bins, 2}), 2);
  };
  CHECK(stft(512, 257) == Approx(10 * 2.15 * 512 * 9 / 1e3));
  CHECK(stft(400, 201) == Approx(10 * 2.27 * 2.15 * 1024 * 10 / 1e3));
  // Without a window, half of the spectrum tells how many points there are.
  CHECK(plain_kernel_us(operator_of("STFT", {{1, 9000, 1}, {}}, {1, 10, 257, 2}), 1) ==
        Approx(stft(512, 257)));
  // 4 x 3 transforms of 64 complex points.
  CHECK(plain_kernel_us(operator_of("DFT", {{4, 64, 3, 2}}, {4, 64, 3, 2}, "axis=1"), 1) ==
        Approx(12 * 2.15 * 64 * 6 / 1e3));
  // 98 frames of 400 real samples, padded to 512 points.
  CHECK(plain_kernel_us(operator_of("DFT", {{98, 400, 1}}, {98, 257, 2}, "axis=1"), 1) ==
        Approx(98 * 2.15 * 512 * 9 / 1e3));
}

TEST_CASE("Plain kernels: a running sum adds whole slices unless it goes along the last axis") {
  const auto sum = [](const std::string& attributes) {
    return plain_kernel_us(operator_of("CumSum", {{10, 10, 10}, {}}, {10, 10, 10}, attributes), 1);
  };
  CHECK(sum("axis=2") == Approx(2.40));
  CHECK(sum("axis=1") == Approx(0.14));
  CHECK(sum("axis=0") == Approx(0.14));
  CHECK(sum("") == Approx(2.40));
}

TEST_CASE("Plain kernels: RoiAlign takes its samples, three by three where values decide") {
  const auto align = [](const std::string& attributes, int cores) {
    return plain_kernel_us(
        operator_of("RoiAlign", {{1, 10, 50, 50}, {20, 4}, {20}}, {20, 10, 7, 7}, attributes),
        cores);
  };
  CHECK(align("sampling_ratio=2", 1) == Approx(9800 * 4 * 3.06 / 1e3));
  CHECK(align("sampling_ratio=0", 1) == Approx(9800 * 9 * 3.06 / 1e3));
  CHECK(align("sampling_ratio=2", 2) == Approx(9800 * 4 * 3.06 / 1e3 * (0.02 + 0.98 / 2)));
}

TEST_CASE("Plain kernels: trees and support vectors go by their work, linear models by inputs") {
  const auto classic = [](const std::string& type, int cores) {
    OpDescriptor op = operator_of("ai.onnx.ml." + type, {{1000, 20}}, {1000});
    op.work.flops = 1'000'000;
    return plain_kernel_us(op, cores);
  };
  CHECK(classic("TreeEnsembleRegressor", 1) == Approx(4300));
  CHECK(classic("TreeEnsembleClassifier", 2) == Approx(4300 * (0.02 + 0.98 / 2)));
  CHECK(classic("SVMClassifier", 2) == Approx(350));
  CHECK(classic("Scaler", 1) == Approx(68));
  CHECK(classic("ZipMap", 1) == Approx(2600));
  CHECK(classic("Normalizer", 1) == 0);
}

// 2 images with 3 classes of 100 boxes, of which each may keep 10: the tenth is compared with all.
TEST_CASE("Plain kernels: suppression compares every box with those that its class has kept") {
  const auto suppression = [](int64_t rows) {
    return plain_kernel_us(operator_of("NonMaxSuppression", {{2, 100, 4}, {2, 3, 100}}, {rows, 3}),
                           1);
  };
  CHECK(suppression(60) == Approx(6 * (100 * 12 + 10 * 10 * 3.5) / 1e3));
  CHECK(suppression(600) == Approx(6 * (100 * 12 + 100 * 50 * 3.5) / 1e3));
}

TEST_CASE("Plain kernels: an image that keeps its extents is copied") {
  const auto resize = [](const std::vector<int64_t>& to) {
    return plain_kernel_us(operator_of("Resize", {{1, 3, 10, 10}}, to, "mode=cubic"), 1);
  };
  CHECK(resize({1, 3, 10, 10}) == Approx(300 * 0.25 / 1e3));
  CHECK(resize({1, 3, 20, 20}) == 0);
}

TEST_CASE("Plain kernels: Shape takes a few microseconds behind a tensor of any size") {
  const OpDescriptor op = operator_of("Shape", {{1000, 1000}}, {2});
  DeviceSpec cpu;
  cpu.type = DeviceType::kCpu;
  OpCost cost;
  cost.time_ns = 300'000;
  cost.source = CostSource::kExtrapolated;
  apply_plain_kernel(op, geometry_of(op), cpu, {}, &cost);
  CHECK(cost.time_ns == 5000);
  cost.time_ns = 1200;
  apply_plain_kernel(op, geometry_of(op), cpu, {}, &cost);
  CHECK(cost.time_ns == 1200);
}

TEST_CASE("Plain kernels: replace answers on CPUs about forms that no part has rows of") {
  const OpDescriptor op = operator_of("Atanh", {{1000, 1000}}, {1000, 1000});
  const OpGeometry geometry = geometry_of(op);
  DeviceSpec cpu;
  cpu.type = DeviceType::kCpu;
  cpu.compute_units = 1;
  OpCost guess;
  guess.time_ns = 1'000'000;
  guess.source = CostSource::kExtrapolated;
  ModelManifest manifest;

  OpCost cost = guess;
  apply_plain_kernel(op, geometry, cpu, manifest, &cost);
  CHECK(cost.time_ns == 27'800'500);  // and half a microsecond to start
  CHECK(cost.low_ns < cost.time_ns / 2);
  CHECK(cost.high_ns > cost.time_ns * 2);
  CHECK(cost.source == CostSource::kExtrapolated);

  const auto stays = [&](const DeviceSpec& device, const ModelManifest& model, OpCost given) {
    const TimeNs before = given.time_ns;
    apply_plain_kernel(op, geometry, device, model, &given);
    return given.time_ns == before;
  };
  manifest.parts.resize(1);
  manifest.parts[0].forms = {{op_form(op, geometry), 1000}};
  CHECK(stays(cpu, manifest, guess));
  DeviceSpec gpu = cpu;
  gpu.type = DeviceType::kGpu;
  CHECK(stays(gpu, {}, guess));
  OpCost measured = guess;
  measured.source = CostSource::kMeasured;
  CHECK(stays(cpu, {}, measured));
  OpCost longer = guess;
  longer.time_ns = 50'000'000;
  apply_plain_kernel(op, geometry, cpu, {}, &longer);
  CHECK(longer.time_ns == 27'800'500);
}

TEST_CASE("Plain forms: sampling takes a time per result, by its mode") {
  const auto us = [](const std::string& attributes, std::vector<int64_t> y = {1, 10, 10, 10}) {
    return plain_kernel_us(
        operator_of("GridSample", {{1, 10, 99, 99}, {1, 10, 10, 2}}, std::move(y), attributes), 1);
  };
  CHECK(us("align=0;mode=linear;padding=zeros") == Approx(2.8));
  CHECK(us("align=1;mode=linear;padding=zeros") == Approx(38));
  CHECK(us("align=0;mode=linear;padding=reflection") == Approx(61));
  CHECK(us("align=0;mode=nearest;padding=border") == Approx(16));
  CHECK(us("align=0;mode=cubic;padding=zeros") == Approx(53));
}

TEST_CASE("Plain forms: selection, one-hot rows, doubled images") {
  CHECK(plain_kernel_us(operator_of("TopK", {{10, 100}, {1}}, {10, 10}), 1) ==
        Approx((1000 + 100 * 200 * (1 - 0.06)) / 1e3));
  CHECK(plain_kernel_us(operator_of("OneHot", {{10}, {1}, {2}}, {10, 100}), 1) == Approx(2.7));
  const std::string nearest = "coordinates=asymmetric;mode=nearest";
  CHECK(plain_kernel_us(operator_of("Resize", {{1, 10, 5, 5}}, {1, 10, 10, 10}, nearest), 1) ==
        Approx(0.12));
  CHECK(plain_kernel_us(operator_of("Resize", {{1, 10, 5, 5}}, {1, 10, 10, 15}, nearest), 1) == 0);
  // Shapes tell the axis: an inner one is walked through.
  CHECK(plain_kernel_us(operator_of("ArgMax", {{1, 10, 100}}, {1, 1, 100}), 1) == Approx(2.6));
  CHECK(plain_kernel_us(operator_of("ArgMax", {{1, 10, 100}}, {1, 10, 1}), 1) == 0);
}

}  // namespace
}  // namespace dfsim
