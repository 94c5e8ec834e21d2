// A block of PyTorch's layer normalisation loads its row, sums it in two steps with barriers
// between them, and writes it. That takes some thousand cycles, of which a unit hides as many as
// blocks fit into it at once; what is left is a cost per row that hardly grows with the columns.
// Rows that do not divide into vectors of four take two kernels, which load element by element.
#include "opmodel/model/laws/narrow_rows.h"

#include <cmath>

#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

namespace {

struct RowLaw {
  double row_cycles;     // of a unit
  double column_cycles;  // the same, per column
};

constexpr RowLaw kVectors = {340, 0.25};
constexpr RowLaw kElements = {1280, 1.0};
constexpr double kVector = 4;

}  // namespace

double narrow_rows_us(const OpDescriptor& op, const OpGeometry& geometry,
                      const DeviceSpec& device) {
  if (device.type != DeviceType::kGpu || op.op_type != "LayerNormalization" ||
      geometry.family != Family::kRows || device.clock_hz <= 0 || device.compute_units <= 0) {
    return 0;
  }
  const double columns = geometry.dims[dim::kColumns];
  const RowLaw& law = std::fmod(columns, kVector) == 0 ? kVectors : kElements;
  const double cycles = law.row_cycles + law.column_cycles * columns;
  return geometry.dims[dim::kRowCount] / device.compute_units * cycles / device.clock_hz *
         kUsPerSecond;
}

}  // namespace dfsim::inline opmodel
