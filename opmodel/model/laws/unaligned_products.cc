// cuBLAS has kernels for operands that are aligned to 8, 2 and 1 elements. Those for 8 copy whole
// tiles to shared memory on their own (cp.async, TMA); the others load element by element, or two
// at a time, through the registers of each thread, which keeps the load units busy longer than the
// matrix units. A tile of tm x tn results loads tm + tn elements per step along K, whatever the
// board, so large tiles are faster, and the cycles per loaded element are the law's one constant.
#include "opmodel/model/laws/unaligned_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "datasets/profiles/profile.h"
#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kAlignedBytes = 16;
// Cycles of a unit per loaded element, where loads take one element and where they take two.
constexpr double kSingleCycles = 0.28;
constexpr double kPairCycles = 0.17;
// Writing a tile takes as long as this many steps along K; filling the pipeline, which later tiles
// hide, as long as so many more.
constexpr double kTileSteps = 64;
constexpr double kFirstSteps = 256;
// K is split over blocks where the results alone do not occupy all units.
constexpr double kMostSplits = 16;
constexpr double kLeastSteps = 128;

constexpr std::array<double, 2> kTileSizes = {64, 128};

// Products with one row or column are sums that read a matrix once, in any layout. Weight-only and
// block-scaled kinds have kernels of their own.
bool has_fallback(const OpGeometry& geometry) {
  const auto& d = geometry.dims;
  return geometry.family == Family::kGemm &&
         (geometry.kind == "linear" || geometry.kind == "bmm") && d[dim::kM] > 1 &&
         d[dim::kN] > 1 &&
         (geometry.dtype == DType::kFloat16 || geometry.dtype == DType::kBFloat16 ||
          geometry.dtype == DType::kTFloat32);
}

double element_bytes(const OpGeometry& geometry) {
  return geometry.dtype == DType::kTFloat32 ? 4 : 2;
}

// The most elements, 1, 2, 4 or 8, that divide the rows of every operand and of the result.
double aligned_elements(const OpDescriptor& op, const OpGeometry& geometry) {
  const double most = kAlignedBytes / element_bytes(geometry);
  const bool turned = attribute_value(op.attributes, "transA") == "1";
  const auto& d = geometry.dims;
  double elements = most;
  for (const double row : {d[dim::kN], d[dim::kK], turned ? d[dim::kM] : most}) {
    while (elements > 1 && std::fmod(row, elements) != 0) {
      elements /= 2;
    }
  }
  return elements;
}

// Steps along K that the busiest unit takes for `tiles` blocks.
double unit_steps(double tiles, double k, int units) {
  double least = std::numeric_limits<double>::infinity();
  for (double splits = 1; splits <= kMostSplits; splits *= 2) {
    if (splits > 1 && k / splits < kLeastSteps) {
      break;
    }
    const double waves = std::ceil(tiles * splits / units);
    least = std::min(least, waves * (std::ceil(k / splits) + kTileSteps) + kFirstSteps);
  }
  return least;
}

}  // namespace

bool is_unaligned_product(const OpDescriptor& op, const OpGeometry& geometry) {
  return has_fallback(geometry) &&
         aligned_elements(op, geometry) * element_bytes(geometry) < kAlignedBytes;
}

double unaligned_product_us(const OpDescriptor& op, const OpGeometry& geometry,
                            const DeviceSpec& device) {
  const bool has_matrix_units = device.peak_flops_per_s(geometry.dtype, true) >
                                device.peak_flops_per_s(geometry.dtype, false);
  if (device.type != DeviceType::kGpu || !has_matrix_units || device.clock_hz <= 0 ||
      device.compute_units <= 0 || !is_unaligned_product(op, geometry)) {
    return 0;
  }
  const auto& d = geometry.dims;
  const double per_element = aligned_elements(op, geometry) > 1 ? kPairCycles : kSingleCycles;
  double least_cycles = std::numeric_limits<double>::infinity();
  for (const double rows : kTileSizes) {
    for (const double columns : kTileSizes) {
      const double tiles =
          d[dim::kB] * std::ceil(d[dim::kM] / rows) * std::ceil(d[dim::kN] / columns);
      const double cycles =
          (rows + columns) * per_element * unit_steps(tiles, d[dim::kK], device.compute_units);
      least_cycles = std::min(least_cycles, cycles);
    }
  }
  return least_cycles / device.clock_hz * kUsPerSecond;
}

}  // namespace dfsim::inline opmodel
