// Pieces counted by hand, as ONNX Runtime's kernels for CPUs take them, and which answers they
// lift.
#include "opmodel/model/laws/cpu/short_pieces.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/opmodel/cpu/operator_of.h"

namespace dfsim {
namespace {

using Lists = std::vector<std::vector<int64_t>>;

double spans(const Lists& inputs, const std::vector<int64_t>& output) {
  return broadcast_spans(operator_of("Mul", inputs, output));
}

TEST_CASE("Short pieces: a broadcast starts again where an operand begins or ends to have axes") {
  CHECK(spans({{100, 3}, {3}}, {100, 3}) == 100);
  CHECK(spans({{100, 3}, {100, 1}}, {100, 3}) == 100);
  CHECK(spans({{5, 20, 3}, {20, 3}}, {5, 20, 3}) == 5);
  CHECK(spans({{5, 20, 3}, {5, 1, 1}}, {5, 20, 3}) == 5);
  CHECK(spans({{8, 1, 3}, {1, 6, 3}}, {8, 6, 3}) == 48);
  CHECK(spans({{100, 3}, {}}, {100, 3}) == 1);
  // Axes of one element at the end count only where an operand has no others.
  CHECK(spans({{100, 3, 1}, {}}, {100, 3, 1}) == 300);
  CHECK(spans({{100, 3, 1}, {1}}, {100, 3, 1}) == 300);
  CHECK(spans({{100, 3, 1}, {3, 1}}, {100, 3, 1}) == 100);
  CHECK(spans({{100, 3, 1, 1}, {100, 1, 1, 1}}, {100, 3, 1, 1}) == 100);
  CHECK(spans({{100, 3, 1}, {1, 1, 1}}, {100, 3, 1}) == 1);
  // Operands of one shape are one span, whatever it is.
  CHECK(spans({{100, 3, 1}, {100, 3, 1}}, {100, 3, 1}) == 0);
  CHECK(broadcast_spans(operator_of("Relu", {{100, 3}, {3}}, {100, 3})) == 0);
}

TEST_CASE("Short pieces: rows of a few elements take a time per row, long ones none") {
  const auto mul = [](int64_t run) {
    return short_pieces_us(operator_of("Mul", {{1000, run}, {run}}, {1000, run}), 1);
  };
  CHECK(mul(3) == Approx(15));
  CHECK(mul(32) == Approx(15));
  CHECK(mul(33) == 0);
  CHECK(short_pieces_us(operator_of("Pow", {{1000, 3}, {3}}, {1000, 3}), 1) == Approx(32));
  CHECK(short_pieces_us(operator_of("Mul", {{1000, 3}, {3}}, {1000, 3}), 2) ==
        Approx(15 * (0.02 + 0.98 / 2)));
}

TEST_CASE("Short pieces: copies count the runs that lie side by side") {
  const auto us = [](const std::string& type, const Lists& x, const Lists& y) {
    OpDescriptor op = operator_of(type, x, y[0]);
    op.output_extents = y;
    return short_pieces_us(op, 1);
  };
  CHECK(us("Concat", {{1000, 3}, {1000, 5}}, {{1000, 8}}) == Approx(2 * 5));
  CHECK(us("Split", {{1000, 9}}, {{1000, 3}, {1000, 3}, {1000, 3}}) == Approx(3 * 4));
  CHECK(us("Slice", {{1000, 4}}, {{1000, 2}}) == Approx(8));
  CHECK(us("Slice", {{1000, 64}}, {{1000, 48}}) == 0);
  CHECK(us("Slice", {{1000, 4}}, {{500, 4}}) == 0);  // one piece
  CHECK(us("Expand", {{1000, 1}}, {{1000, 3}}) == Approx(24));
  CHECK(us("Expand", {{1000, 1, 1}}, {{1000, 7, 7}}) == 0);
}

TEST_CASE("Short pieces: sums over a middle axis take a time per outer element") {
  const auto us = [](const std::string& type, const std::vector<int64_t>& x,
                     const std::string& axes) {
    return short_pieces_us(operator_of(type, {x}, {1}, "axes=" + axes + ";keepdims=0"), 1);
  };
  CHECK(us("ReduceSum", {4, 250, 3, 2}, "2") == Approx(1000 * (150 + 5 * 3) / 1e3));
  CHECK(us("ReduceMax", {4, 250, 3, 2}, "2") == Approx(6000 * 0.7 / 1e3));
  // Only an axis of one element is behind: a product of vectors.
  CHECK(us("ReduceMean", {8, 125, 784, 1}, "2") == Approx(1000 * (150 + 3.3 * 784) / 1e3));
  CHECK(us("ReduceMax", {8, 125, 784, 1}, "2") == Approx(784'000 * 1.1 / 1e3));
  CHECK(us("ReduceSum", {1, 3, 200}, "1") == 0);    // one outer element
  CHECK(us("ReduceMean", {8, 64, 196}, "1") == 0);  // long
  CHECK(us("ReduceMean", {8, 64, 7, 7}, "2,3") == 0);
}

TEST_CASE("Short pieces: windows that campaigns lack take a time per element that they read") {
  const auto us = [](const std::string& type, const std::vector<int64_t>& x,
                     const std::string& side) {
    return short_pieces_us(operator_of(type, {x}, x, "kernel_shape=" + side), 1);
  };
  CHECK(us("com.microsoft.nchwc.MaxPool", {1, 64, 10, 10}, "13,13") ==
        Approx(6400 * 169 * 0.055 / 1e3));
  CHECK(us("com.microsoft.nchwc.MaxPool", {1, 64, 10, 10}, "3,3") == 0);
  CHECK(us("AveragePool", {1, 8, 100}, "25") == Approx(800 * 25 * 1.6 / 1e3));
}

TEST_CASE("Short pieces: only answers that are far below are lifted") {
  DeviceSpec device;
  device.type = DeviceType::kCpu;
  device.compute_units = 1;
  const OpDescriptor op = operator_of("Mul", {{1000, 3}, {3}}, {1000, 3});  // 15 us
  const auto answer = [&](double us, CostSource source) {
    OpCost cost;
    cost.time_ns = static_cast<TimeNs>(us * 1e3);
    cost.low_ns = cost.time_ns / 2;
    cost.high_ns = cost.time_ns * 2;
    cost.source = source;
    apply_short_pieces(op, device, &cost);
    return cost;
  };
  CHECK(answer(2, CostSource::kPredicted).time_ns == 15'000);
  CHECK(answer(2, CostSource::kPredicted).source == CostSource::kExtrapolated);
  CHECK(answer(2, CostSource::kPredicted).low_ns == 1'000);
  CHECK(answer(2, CostSource::kPredicted).high_ns == 27'000);
  CHECK(answer(12, CostSource::kPredicted).time_ns == 12'000);
  CHECK(answer(2, CostSource::kMeasured).time_ns == 2'000);
  device.type = DeviceType::kGpu;
  CHECK(answer(2, CostSource::kPredicted).time_ns == 2'000);
}

TEST_CASE("Short pieces: columns of a scatter wait for the last cache where it is fast") {
  DeviceSpec device;
  device.type = DeviceType::kCpu;
  device.compute_units = 1;
  device.l2_bytes = Bytes{32} << 20;
  device.memory_bytes_per_s = 20e9;
  device.cache_bytes_per_s = 102.4e9;
  OpDescriptor op =
      operator_of("ScatterElements", {{500, 64}, {4000, 64}, {4000, 64}}, {500, 64}, "axis=0");
  op.input_dtypes[1] = DType::kInt64;
  CHECK(column_scatter_us(op, device) == Approx(4000 * 64 * 10 / 1e3));  // 10 ns each
  device.l2_bytes = Bytes{1} << 20;
  CHECK(column_scatter_us(op, device) == Approx(4000 * 64 * 51.2 / 1e3));
  device.cache_bytes_per_s = 24e9;
  CHECK(column_scatter_us(op, device) == 0);
}

}  // namespace
}  // namespace dfsim
