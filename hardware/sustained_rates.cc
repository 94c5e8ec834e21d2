// The estimates are shares of the printed rates. Constants are fitted to the boards of
// hardware/platforms that have measured rates; tests/hardware/sustained_rates_test.cc compares each
// of them with its estimate.
#include "hardware/sustained_rates.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace dfsim::inline hardware {
namespace {

// share = kPowerFactor (W per TFLOP/s) ^ kPowerExponent, least squares of logarithms.
constexpr double kPerTera = 1e-12;
constexpr double kPowerFactor = 0.179;
constexpr double kPowerExponent = 0.59;
// Ada and Blackwell boards for graphics (4 nm; a large L2, few fp64 units) do more with a watt: L4,
// L40S, RTX 4090, RTX 5090 and RTX PRO 6000 are within 5 % of this law, up to 30 % above the other.
constexpr Bytes kLargeL2Bytes = Bytes{32} << 20;
constexpr double kFewFp64 = 1.0 / 8;  // of the fp32 rate; chips for computing have a half
constexpr double kLargeL2PowerFactor = 0.160;
constexpr double kLargeL2PowerExponent = 0.837;
constexpr double kMostVectorShare = 0.95;
constexpr double kLeastVectorShare = 0.2;
// Matrix units need less power per FLOP, so the limit costs them less: a weaker power law through
// A40 (300 W for 149.7 TFLOP/s, 0.81) and L40S (350 W for 362, 0.69); narrow ones from the L40S.
constexpr double kMatrixPowerFactor = 0.695;
constexpr double kNarrowPowerFactor = 0.626;
constexpr double kMatrixPowerExponent = 0.226;
// Matrix units of Volta and Turing (12 nm, fp16 but not bf16) do what their watts allow: a V100
// with 250 W reaches 89 TFLOP/s, a T4 with 70 W 24 in a long run.
constexpr double kOlderTflopsPerWatt = 0.35;
// NVIDIA's boards with stacked memory have wide chips at low clocks and keep up most of their rate
// at a quarter of the watts: A100, H100 and H200 reach 82 to 84 %, B200 78. AMD's follow the law:
// MI250X 0.77 (0.76 by the law), MI300X 0.60 (0.61).
constexpr double kStackedMemoryBytesPerS = 1.2e12;
constexpr double kLeastMatrixShare = 0.3;

struct Shares {
  double memory;
  double vector;  // where the power limit is not known
  double matrix;
  double narrow_matrix;  // of 8 bits and fewer
};

Shares shares_of(DeviceType type) {
  switch (type) {
    case DeviceType::kGpu:
      return {0.82, 0.80, 0.80, 0.67};
    case DeviceType::kCpu:
      return {0.80, 0.75, 0.60, 0.60};
    case DeviceType::kNpu:
      return {0.80, 0.75, 0.70, 0.65};
  }
  return {1, 1, 1, 1};
}

double fp32_tflops(const DeviceSpec& device) {
  return device.peak_flops_per_s(DType::kFloat32, false) * kPerTera;
}

const PeakRate* find_rate(const std::vector<PeakRate>& rates, DType dtype) {
  const auto it = std::find_if(rates.begin(), rates.end(),
                               [dtype](const PeakRate& rate) { return rate.dtype == dtype; });
  return it == rates.end() ? nullptr : &*it;
}

bool is_recent_graphics_chip(const DeviceSpec& device) {
  const PeakRate* const fp64 = find_rate(device.peaks, DType::kFloat64);
  const PeakRate* const fp32 = find_rate(device.peaks, DType::kFloat32);
  return device.l2_bytes >= kLargeL2Bytes && fp64 != nullptr && fp32 != nullptr &&
         fp64->flops_per_s > 0 && fp64->flops_per_s < kFewFp64 * fp32->flops_per_s;
}

// The file says how bf16 runs, and not on matrix units.
bool is_before_bf16(const DeviceSpec& device) {
  const PeakRate* const bf16 = find_rate(device.peaks, DType::kBFloat16);
  return bf16 != nullptr && bf16->flops_per_s > 0 && !(bf16->matrix_flops_per_s > 0);
}

double clamped_vector_share(double share) {
  return std::clamp(share, kLeastVectorShare, kMostVectorShare);
}

// The matrix units' rates that a file gives for fp32 are those of vector units in disguise.
double vector_share(const DeviceSpec& device, const Shares& shares) {
  const double tflops = fp32_tflops(device);
  if (device.type != DeviceType::kGpu || !(device.board_power_w > 0) || !(tflops > 0)) {
    return shares.vector;
  }
  if (is_recent_graphics_chip(device)) {
    return clamped_vector_share(kLargeL2PowerFactor *
                                std::pow(device.board_power_w / tflops, kLargeL2PowerExponent));
  }
  return power_limited_share(device.board_power_w, tflops);
}

// Sustained over printed rate of the matrix units. A GPU whose file has no power limit, and every
// other device, has the shares of its type.
double matrix_share(const DeviceSpec& device, const PeakRate& peak, const Shares& shares) {
  const bool narrow = dtype_bits(peak.dtype) <= 8;
  const double usual = narrow ? shares.narrow_matrix : shares.matrix;
  if (device.type != DeviceType::kGpu || !(device.board_power_w > 0) ||
      !(peak.matrix_flops_per_s > 0)) {
    return usual;
  }
  const double tflops = peak.matrix_flops_per_s * kPerTera;
  if (peak.dtype == DType::kFloat16 && is_before_bf16(device)) {
    return std::clamp(kOlderTflopsPerWatt * device.board_power_w / tflops, kLeastMatrixShare, 1.0);
  }
  const double limited = (narrow ? kNarrowPowerFactor : kMatrixPowerFactor) *
                         std::pow(device.board_power_w / tflops, kMatrixPowerExponent);
  const bool stacked = device.memory_bytes_per_s >= kStackedMemoryBytesPerS &&
                       device.model.find("AMD") == std::string::npos;
  return std::clamp(limited, stacked ? usual : kLeastMatrixShare, 1.0);
}

}  // namespace

double power_limited_share(double watts, double tflops) {
  if (!(watts > 0) || !(tflops > 0)) {
    return 1;
  }
  return clamped_vector_share(kPowerFactor * std::pow(watts / tflops, kPowerExponent));
}

double share_on_board(double watts, double measured_watts) {
  return watts > 0 && measured_watts > 0
             ? std::min(1.0, std::pow(watts / measured_watts, kPowerExponent))
             : 1.0;
}

DeviceSpec with_estimated_rates(const DeviceSpec& device) {
  const Shares shares = shares_of(device.type);
  const double vector = vector_share(device, shares);
  DeviceSpec estimate = device;
  for (PeakRate& peak : estimate.peaks) {
    peak.flops_per_s *= vector;
    peak.matrix_flops_per_s *=
        dtype_bits(peak.dtype) <= 16 ? matrix_share(device, peak, shares) : vector;
  }
  estimate.tf32_flops_per_s *= shares.matrix;
  estimate.memory_bytes_per_s *= shares.memory;
  return estimate;
}

DeviceSpec with_sustained_rates(const DeviceSpec& device) {
  DeviceSpec sustained = with_estimated_rates(device);
  for (PeakRate& peak : sustained.peaks) {
    const PeakRate* measured = find_rate(device.sustained, peak.dtype);
    if (measured != nullptr && measured->flops_per_s > 0) {
      peak.flops_per_s = measured->flops_per_s;
    }
    if (measured != nullptr && measured->matrix_flops_per_s > 0) {
      peak.matrix_flops_per_s = measured->matrix_flops_per_s;
    }
  }
  if (device.sustained_memory_bytes_per_s > 0) {
    sustained.memory_bytes_per_s = device.sustained_memory_bytes_per_s;
  }
  return sustained;
}

}  // namespace dfsim::inline hardware
