// Layer normalisations of narrow rows: the law by hand, and the parts that ask for it.
#include "opmodel/model/laws/narrow_rows.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "opmodel/model/laws/kernel_limit.h"

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

// A part whose narrowest row has `columns` columns.
ModelPart part_from(double columns) {
  ModelPart part;
  part.ranges.assign(kMaxGeometryDims, {0, 30});
  part.ranges[dim::kColumns].first = std::log1p(columns);
  return part;
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

TEST_CASE("Narrow rows: a part that has seen wide rows alone asks the law, others do not") {
  const Norm norm = norm_of(1000, 64);
  const KernelLimit asked = kernel_limit(part_from(200), norm.op, norm.geometry, norm_board());
  CHECK(asked.time_us == Approx(35.6));
  CHECK(asked.spread == 1.4);
  CHECK_FALSE(asked.foreign);  // where bytes take longer, the part knows
  CHECK(kernel_limit(part_from(16), norm.op, norm.geometry, norm_board()).time_us == 0);
  CHECK(kernel_limit(ModelPart(), norm.op, norm.geometry, norm_board()).time_us == 0);
}

}  // namespace
}  // namespace dfsim
