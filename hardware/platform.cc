// Names of enums, and the rules by which a device answers for an element type that it has no
// units for: the next wider type of its kind.
#include "hardware/platform.h"

#include <algorithm>

namespace dfsim::inline hardware {
namespace {

// Rate of the units of one kind on exactly `dtype`.
double listed_rate(const DeviceSpec& device, DType dtype, bool matrix) {
  const auto it = std::find_if(device.peaks.begin(), device.peaks.end(),
                               [dtype](const PeakRate& peak) { return peak.dtype == dtype; });
  double rate = matrix && dtype == DType::kTFloat32 ? device.tf32_flops_per_s : 0;
  if (it != device.peaks.end()) {
    rate = matrix ? std::max(it->matrix_flops_per_s, it->flops_per_s) : it->flops_per_s;
  }
  if (matrix && dtype == DType::kFloat32 && device.allow_tf32) {
    rate = std::max(rate, device.tf32_flops_per_s);
  }
  return rate;
}

// The same for `dtype` or the first wider stand-in that has any.
double stand_in_rate(const DeviceSpec& device, DType dtype, bool matrix) {
  for (;;) {
    const double rate = listed_rate(device, dtype, matrix);
    const DType wider = wider_stand_in(dtype);
    if (rate > 0 || wider == dtype) {
      return rate;
    }
    dtype = wider;
  }
}

}  // namespace

int queues_in_use(const DeviceSpec& device, const RuntimeSpec& runtime) {
  const bool pool = device.type == DeviceType::kCpu && runtime.inter_op_workers > 1;
  return std::max(1, pool ? runtime.inter_op_workers : std::min(device.queues, runtime.streams));
}

std::string_view device_type_name(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu:
      return "cpu";
    case DeviceType::kGpu:
      return "gpu";
    case DeviceType::kNpu:
      return "npu";
  }
  return "gpu";
}

std::string_view link_sharing_name(LinkSharing sharing) {
  return sharing == LinkSharing::kFifo ? "fifo" : "fair";
}

std::string_view framework_name(Framework framework) {
  switch (framework) {
    case Framework::kNone:
      return "none";
    case Framework::kPytorch:
      return "pytorch";
    case Framework::kOnnxRuntime:
      return "onnxruntime";
    case Framework::kTensorRt:
      return "tensorrt";
    case Framework::kTensorFlow:
      return "tensorflow";
  }
  return "none";
}

std::string_view allocator_kind_name(AllocatorKind kind) {
  switch (kind) {
    case AllocatorKind::kExact:
      return "exact";
    case AllocatorKind::kCaching:
      return "caching";
    case AllocatorKind::kArena:
      return "arena";
  }
  return "exact";
}

double DeviceSpec::peak_flops_per_s(DType dtype, bool matrix) const {
  const double rate = stand_in_rate(*this, dtype, matrix);
  const double peak = rate > 0 ? rate : stand_in_rate(*this, dtype, !matrix);
  // NPUs convert the operands of fp32 products on the way into matrix units that take only 16 bits:
  // a bound at the rate of the vector units would lie far above measured times.
  if (type != DeviceType::kNpu || !matrix || dtype != DType::kFloat32) {
    return peak;
  }
  return std::max({peak, stand_in_rate(*this, DType::kFloat16, true),
                   stand_in_rate(*this, DType::kBFloat16, true)});
}

double implied_clock_hz(const DeviceSpec& device) {
  // A unit of a GPU has 64 or 128 lanes for fp32, two operations each; no GPU with 128 would run
  // below a gigahertz.
  constexpr double kLeastClockHz = 1e9;
  if (device.compute_units <= 0) {
    return 0;
  }
  const double per_unit =
      device.peak_flops_per_s(DType::kFloat32, false) / device.compute_units / 2;
  return per_unit / 128 >= kLeastClockHz ? per_unit / 128 : per_unit / 64;
}

}  // namespace dfsim::inline hardware
