#include "hardware/platform.h"

#include <algorithm>

namespace dfsim {

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

double DeviceSpec::peak_flops_per_s(DType dtype, bool matrix) const {
  const auto rate_of = [&](DType wanted) -> double {
    const auto it = std::find_if(peaks.begin(), peaks.end(),
                                 [&](const PeakRate& peak) { return peak.dtype == wanted; });
    if (it == peaks.end()) {
      return 0;
    }
    double rate = matrix ? std::max(it->matrix_flops_per_s, it->flops_per_s) : it->flops_per_s;
    if (matrix && wanted == DType::kFloat32 && allow_tf32) {
      rate = std::max(rate, tf32_flops_per_s);
    }
    return rate > 0 ? rate : it->matrix_flops_per_s;
  };
  // Who can stand in for a dtype that has no units of its own: the next wider one.
  DType wanted = dtype;
  for (;;) {
    const double rate = rate_of(wanted);
    if (rate > 0) {
      return rate;
    }
    const DType wider = wider_stand_in(wanted);
    if (wider == wanted) {
      return 0;
    }
    wanted = wider;
  }
}

}  // namespace dfsim
