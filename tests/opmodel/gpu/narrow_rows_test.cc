// Layer normalisations of narrow rows: the law by hand, and the parts that ask for it.
#include "opmodel/model/narrow_rows.h"

#include <catch2/catch.hpp>

#include <cmath>

namespace dfsim {
namespace {

struct Norm {
  OpDescriptor op;
  OpGeometry geometry;
};

Norm norm_of(double rows, double columns) {
  Norm norm;
  norm.op.op_type = "LayerNormalization";
  norm.geometry.family = Family::kRows;
  norm.geometry.kind = norm.op.op_type;
  norm.geometry.dims = {rows, columns, rows * columns, rows * columns};
  return norm;
}

// Ten units at 1 GHz.
DeviceSpec norm_board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.compute_units = 10;
  gpu.clock_hz = 1e9;
  return gpu;
}

double limit_us(const Norm& norm, const DeviceSpec& device) {
  return narrow_rows_us(norm.op, norm.geometry, device);
}

// A part whose rows have at least so many columns.
ModelPart part_from(double columns) {
  ModelPart part;
  part.ranges.assign(kMaxGeometryDims, {0, 30});
  part.ranges[dim::kColumns].first = std::log1p(columns);
  return part;
}

PartAnswer answer_of(double time_us) {
  PartAnswer answer;
  answer.time_us = time_us;
  answer.low_us = 0.9 * time_us;
  answer.high_us = 1.1 * time_us;
  return answer;
}

TEST_CASE("Narrow rows: cycles per row of a unit, more where vectors of four do not divide them") {
  // 100 rows per unit.
  CHECK(limit_us(norm_of(1000, 64), norm_board()) == Approx(100 * (340 + 16) * 1e-3));
  CHECK(limit_us(norm_of(1000, 65), norm_board()) == Approx(100 * (1280 + 65) * 1e-3));
  CHECK(limit_us(norm_of(2000, 64), norm_board()) ==
        Approx(2 * limit_us(norm_of(1000, 64), norm_board())));
}

TEST_CASE("Narrow rows: no law for other operators and devices, nor without a clock") {
  Norm softmax = norm_of(1000, 64);
  softmax.op.op_type = "Softmax";
  CHECK(limit_us(softmax, norm_board()) == 0);
  DeviceSpec device = norm_board();
  device.type = DeviceType::kCpu;
  CHECK(limit_us(norm_of(1000, 64), device) == 0);
  device = norm_board();
  device.clock_hz = 0;
  CHECK(limit_us(norm_of(1000, 64), device) == 0);
}

TEST_CASE("raise_narrow_rows: a part that has seen wide rows alone answers by the law") {
  const Norm norm = norm_of(1000, 64);
  const PartQuery query = {&norm.op, &norm.geometry};
  PartAnswer raised = answer_of(10);
  raise_narrow_rows(part_from(200), query, norm_board(), &raised);
  CHECK(raised.time_us == Approx(35.6));
  CHECK(raised.low_us == Approx(35.6 / 1.4));
  CHECK(raised.high_us == Approx(35.6 * 1.4));
  CHECK(raised.extrapolated);
}

TEST_CASE("raise_narrow_rows: longer answers and parts that know narrow rows stay as they are") {
  const Norm norm = norm_of(1000, 64);
  const PartQuery query = {&norm.op, &norm.geometry};
  for (const auto& [columns, time_us] : {std::pair(200.0, 40.0), std::pair(16.0, 10.0)}) {
    PartAnswer kept = answer_of(time_us);
    raise_narrow_rows(part_from(columns), query, norm_board(), &kept);
    CHECK(kept.time_us == time_us);
    CHECK(kept.high_us == 1.1 * time_us);
    CHECK_FALSE(kept.extrapolated);
  }
}

}  // namespace
}  // namespace dfsim
