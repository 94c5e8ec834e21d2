// The known time less its roofline is spent on the chip: blocks that start, load, wait and store.
// It takes as many cycles of a unit on another board, and more rounds where that board has fewer
// units. For operators that other boards know, too, this only limits small kernels: the limit rises
// faster than the kernel where the known board works for longer than some microseconds.
#include "opmodel/model/laws/small_kernels.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "hardware/sustained_rates.h"
#include "opmodel/features/roofline.h"
#include "opmodel/model/laws/unaligned_products.h"

namespace dfsim::inline opmodel {

namespace {

// Launches scatter by some microseconds; beyond this time they no longer matter.
constexpr double kLongestUs = 200;
// Kernels that take longer on the known board are work more than latency.
constexpr double kSmallUs = 10;
// Results of a block in most products and convolutions, rows and columns.
constexpr double kBlockRows = 128;
constexpr double kBlockColumns = 64;
// No kernel is shorter than this many cycles, wherever its data are.
constexpr double kLeastCycles = 2000;
// Four fifths of an H200's small kernels are within 1.3 of what the H100's tell
// (datasets/collect/torch_gpu/carried_over.py); other generations are further away: a guess.
constexpr double kOtherBoardSpread = 1.6;
constexpr std::string_view kDepthwise = "depthwise";

double roofline_us(const OpGeometry& geometry, const DeviceSpec& device) {
  const Roofline roofline = roofline_of(geometry, with_sustained_rates(device), 0);
  return std::max(roofline.compute_us, roofline.memory_us);
}

// Blocks fill the board's units more than twice.
bool fills(const OpGeometry& geometry, const DeviceSpec& device) {
  const auto& d = geometry.dims;
  const double rows = d[dim::kBatch] * d[dim::kOH] * d[dim::kOW];
  return std::ceil(rows / kBlockRows) * std::ceil(d[dim::kO] / kBlockColumns) >
         2 * device.compute_units;
}

double us_of(const OpCost& cost) { return static_cast<double>(cost.time_ns) / kNsPerUs; }

}  // namespace

bool launch_may_matter(const OpCost& cost) {
  return cost.time_ns > 0 && static_cast<double>(cost.time_ns) < kLongestUs * kNsPerUs;
}

OpDescriptor as_kernel(const OpDescriptor& op) {
  constexpr size_t kBias = 2;
  OpDescriptor kernel = op;
  if (op.op_type == "Conv" && op.input_extents.size() == kBias + 1 &&
      op.input_dtypes.size() == kBias + 1) {
    kernel.input_extents.resize(kBias);
    kernel.input_dtypes.resize(kBias);
  }
  return kernel;
}

double carried_over_us(const OpCost& reference, const OpGeometry& geometry, const DeviceSpec& known,
                       const DeviceSpec& device) {
  const bool rows = reference.source == CostSource::kMeasured ||
                    reference.source == CostSource::kPredicted ||
                    reference.source == CostSource::kExtrapolated;
  if (!rows || reference.time_ns <= 0 || !(device.clock_hz > 0) || !(known.clock_hz > 0) ||
      device.compute_units <= 0 || known.compute_units <= 0) {
    return 0;
  }
  const double known_us = us_of(reference);
  const double least_us = kLeastCycles / known.clock_hz * kUsPerSecond;
  const double latency_us =
      std::max(known_us - roofline_us(geometry, known), std::min(known_us, least_us));
  const double units = static_cast<double>(known.compute_units) / device.compute_units;
  const double slower = known.clock_hz / device.clock_hz * std::max(units, 1.0);
  return latency_us * slower + roofline_us(geometry, device);
}

double small_kernel_us(const OpCost& reference, const OpGeometry& geometry, const DeviceSpec& known,
                       const DeviceSpec& device) {
  return carried_over_us(reference, geometry, known, device) *
         std::max(us_of(reference) / kSmallUs, 1.0);
}

bool is_plain_batch(const OpDescriptor& op, const OpGeometry& geometry) {
  constexpr double kLeastSide = 16;
  const auto& d = geometry.dims;
  return geometry.family == Family::kGemm && geometry.kind == "bmm" &&
         (geometry.dtype == DType::kFloat16 || geometry.dtype == DType::kBFloat16) &&
         std::min({d[dim::kM], d[dim::kN], d[dim::kK]}) >= kLeastSide &&
         !is_unaligned_product(op, geometry);
}

double batch_limit_us(const OpCost& reference, const OpGeometry& geometry, const DeviceSpec& known,
                      const DeviceSpec& device) {
  constexpr double kRoom = 1.3;
  return kRoom * carried_over_us(reference, geometry, known, device);
}

// Depthwise convolutions with windows of 3x3 and 5x5 are those of most mobile networks, whose
// published runs on three other boards agree with the prior and its factors (network_factors.h) and
// are 10 % shorter than the H100's kernels tell.
bool is_carried_over(const OpGeometry& geometry) {
  constexpr double kLargeWindow = 25;
  const bool large = geometry.dims[dim::kKH] * geometry.dims[dim::kKW] > kLargeWindow;
  return geometry.family == Family::kConv &&
         (geometry.kind == "grouped" || geometry.kind == "transposed" ||
          (geometry.kind == kDepthwise && large));
}

void set_carried_over(double time_us, const OpGeometry& geometry, OpCost* cost) {
  if (time_us <= 0) {
    return;
  }
  const double carried_ns = time_us * kNsPerUs;
  const auto prior_ns = static_cast<double>(cost->time_ns);
  const bool both = geometry.family == Family::kConv && geometry.kind == kDepthwise;
  const double time_ns = both ? std::sqrt(carried_ns * prior_ns) : carried_ns;
  const double least_ns = both ? std::min(carried_ns, prior_ns) : carried_ns / kOtherBoardSpread;
  const double most_ns = both ? std::max(carried_ns, prior_ns) : carried_ns * kOtherBoardSpread;
  constexpr double kLeastSpread = 1.3;
  cost->time_ns = std::llround(time_ns);
  cost->low_ns = std::llround(std::min(least_ns, time_ns / kLeastSpread));
  cost->high_ns = std::llround(std::max(most_ns, time_ns * kLeastSpread));
  cost->source = CostSource::kPrior;
}

// Slower boards may run a kernel with a larger share of their rates. A dense convolution that fills
// the known board, however, loses at least what they lose least in.
double least_carried_us(const OpCost& reference, const OpGeometry& geometry,
                        const DeviceSpec& known, const DeviceSpec& device) {
  if (carried_over_us(reference, geometry, known, device) <= 0) {
    return 0;
  }
  const DeviceSpec a = with_sustained_rates(known);
  const DeviceSpec b = with_sustained_rates(device);
  const double bandwidth = b.memory_bytes_per_s / a.memory_bytes_per_s;
  const double units = b.clock_hz * b.compute_units / (a.clock_hz * a.compute_units);
  const bool products = geometry.family == Family::kGemm || geometry.family == Family::kConv ||
                        geometry.family == Family::kAttention;
  const double known_rate = a.peak_flops_per_s(geometry.dtype, products);
  const double rate =
      known_rate > 0 ? b.peak_flops_per_s(geometry.dtype, products) / known_rate : 0;
  const double most = std::max({bandwidth, units, rate});
  const bool slower = most <= 1 && geometry.family == Family::kConv &&
                      geometry.kind.starts_with("dense") && dtype_bits(geometry.dtype) >= 16 &&
                      fills(geometry, known);
  return std::min({bandwidth, units, rate}) >= 1 || slower ? us_of(reference) / most : 0;
}

void lift_to_least(double least_us, OpCost* cost) {
  if (least_us * kNsPerUs > static_cast<double>(cost->time_ns)) {
    rescale(least_us * kNsPerUs, cost);
  }
}

void limit_by_small_kernel(double limit_us, OpCost* cost) {
  const double limit_ns = limit_us * kNsPerUs;
  if (limit_us <= 0) {
    return;
  }
  if (static_cast<double>(cost->time_ns) <= limit_ns) {
    // Launches add to the rows of other boards, but not to the doubt about this kernel.
    cost->high_ns = std::clamp<TimeNs>(std::llround(limit_ns * kOtherBoardSpread), cost->time_ns,
                                       std::max(cost->time_ns, cost->high_ns));
    return;
  }
  cost->low_ns = std::min<TimeNs>(cost->low_ns, std::llround(limit_ns / kOtherBoardSpread));
  cost->high_ns = std::min<TimeNs>(cost->high_ns, std::llround(limit_ns * kOtherBoardSpread));
  cost->time_ns = std::llround(limit_ns);
  cost->source = CostSource::kPrior;
}

}  // namespace dfsim::inline opmodel
