// Answers between those of slower and of faster boards.
#include "opmodel/model/laws/neighbours/board_envelope.h"

#include <catch2/catch.hpp>
#include <vector>

#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"

namespace dfsim {
namespace {

OpCost prior_of(TimeNs time_ns) {
  OpCost cost;
  cost.time_ns = time_ns;
  cost.low_ns = time_ns / 2;
  cost.high_ns = time_ns * 2;
  cost.source = CostSource::kPrior;
  return cost;
}

TEST_CASE("BoardEnvelope: an answer that falls with the rates stays as it is") {
  BoardEnvelope envelope;
  envelope.add({{}, false}, 12'000);
  envelope.add({{}, false}, 15'000);
  envelope.add({{}, true}, 9'000);
  OpCost cost = prior_of(10'000);
  envelope.apply(&cost);
  CHECK(cost.time_ns == 10'000);
}

TEST_CASE("BoardEnvelope: an answer above a slower board's, or below a faster one's, moves half") {
  BoardEnvelope envelope;
  envelope.add({{}, false}, 8'100);
  OpCost cost = prior_of(10'000);
  envelope.apply(&cost);
  CHECK(cost.time_ns == 9'000);  // the root of 8,100 x 10,000
  CHECK(cost.low_ns == 4'500);
  envelope = {};
  envelope.add({{}, false}, 20'000);
  envelope.add({{}, true}, 12'100);
  cost = prior_of(10'000);
  envelope.apply(&cost);
  CHECK(cost.time_ns == 11'000);
}

TEST_CASE("BoardEnvelope: without an answer of another board nothing moves") {
  BoardEnvelope envelope;
  envelope.add({{}, false}, 0);
  OpCost cost = prior_of(10'000);
  envelope.apply(&cost);
  CHECK(cost.time_ns == 10'000);
}

TEST_CASE("BoardEnvelope: the boards differ in one respect each, and only GPUs have any") {
  DeviceSpec device;
  device.type = DeviceType::kGpu;
  device.memory_bytes_per_s = 1e12;
  device.clock_hz = 1e9;
  device.peaks = {{DType::kFloat32, 10e12, 20e12}};
  const std::vector<OtherBoard> boards = other_boards(device);
  REQUIRE(boards.size() >= 4);
  for (const OtherBoard& board : boards) {
    const double bandwidth = board.device.memory_bytes_per_s / device.memory_bytes_per_s;
    const double rate = board.device.peaks[0].flops_per_s / device.peaks[0].flops_per_s;
    CHECK((bandwidth == 1) != (rate == 1));
    CHECK(board.faster == (bandwidth * rate > 1));
    CHECK(board.device.peaks[0].matrix_flops_per_s == Approx(rate * 20e12));
    CHECK(board.device.clock_hz == Approx(rate * 1e9));
  }
  device.type = DeviceType::kCpu;
  CHECK(other_boards(device).empty());
}

TEST_CASE("BoardEnvelope: products on a board with a faster memory do not take longer") {
  auto platform = load_platform("mi300x");
  REQUIRE(platform.ok());
  auto model = load_cost_model_for(*platform, "");
  REQUIRE(model.ok());
  std::vector<OpDescriptor> ops;
  for (const int64_t rows : {49, 197, 1024}) {
    for (const int64_t columns : {96, 768, 3072}) {
      OpDescriptor op;
      op.op_type = "MatMul";
      op.op_class = OpClass::kMatMul;
      op.dtype = DType::kFloat32;
      op.input_extents = {{rows, 768}, {768, columns}};
      op.input_dtypes = {op.dtype, op.dtype};
      op.output_extents = {{rows, columns}};
      op.output_dtypes = {op.dtype};
      op.work.flops = 2 * rows * 768 * columns;
      op.work.dtype = op.dtype;
      op.work.matrix = true;
      ops.push_back(op);
    }
  }
  DeviceSpec device = platform->devices[0];
  std::vector<OpCost> slow(ops.size());
  REQUIRE((*model)->predict(ops, device, slow).ok());
  device.memory_bytes_per_s *= 1.25;
  device.sustained_memory_bytes_per_s *= 1.25;
  std::vector<OpCost> fast(ops.size());
  REQUIRE((*model)->predict(ops, device, fast).ok());
  double slow_ns = 0;
  double fast_ns = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    INFO(i);
    CHECK(fast[i].source == CostSource::kPrior);
    slow_ns += static_cast<double>(slow[i].time_ns);
    fast_ns += static_cast<double>(fast[i].time_ns);
  }
  CHECK(fast_ns <= 1.03 * slow_ns);
}

}  // namespace
}  // namespace dfsim
