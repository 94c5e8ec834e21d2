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
  return rate > 0 ? rate : stand_in_rate(*this, dtype, !matrix);
}

}  // namespace dfsim::inline hardware
