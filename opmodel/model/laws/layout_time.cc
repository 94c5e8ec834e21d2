// cuDNN's tensor-core kernels want channels last. For tensors with channels first it converts the
// operands before and the result after the kernel, or takes a slower kernel that reads them as they
// are. Both cost a share of one more pass over image and result, in and out. The shares come from
// networks that were timed in both layouts on one board; those of measured times from eleven
// networks with channels last on an H100.
#include "opmodel/model/laws/layout_time.h"

#include <algorithm>
#include <cmath>

#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "hardware/sustained_rates.h"
#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kShareOfWindows = 0.8;
// A 1x1 convolution is a product of matrices in either layout: most have a kernel that reads
// channels first.
constexpr double kShareOfPoints = 0.25;
// Conversions in times that were measured with channels first: their share of a pass, their
// kernels, and what they leave to the convolution at least.
constexpr double kShareMeasured = 0.8;
constexpr double kKernelsMeasuredUs = 4;
constexpr double kLeastShareLeft = 0.45;
constexpr double kSpreadMeasured = 1.3;  // each way

bool has_channels_last(const OpDescriptor& op) {
  return attribute_value(op.attributes, kChannelsLast) == "1";
}

bool converts(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device) {
  const bool matrix = geometry.dtype == DType::kFloat16 || geometry.dtype == DType::kBFloat16 ||
                      geometry.dtype == DType::kTFloat32;
  return geometry.family == Family::kConv && geometry.kind == "dense" && matrix &&
         op.op_type == "Conv" && device.type == DeviceType::kGpu && device.memory_bytes_per_s > 0;
}

// One more pass over image and result, in and out.
double pass_us(const OpGeometry& geometry, const DeviceSpec& device) {
  const auto& d = geometry.dims;
  const double image = d[dim::kBatch] * d[dim::kC] * d[dim::kH] * d[dim::kW];
  const double result = d[dim::kBatch] * d[dim::kO] * d[dim::kOH] * d[dim::kOW];
  const double bytes = (image + result) * dtype_bits(geometry.dtype) / 8;
  return 2 * bytes / with_sustained_rates(device).memory_bytes_per_s * kUsPerSecond;
}

double forward_share(const OpGeometry& geometry) {
  const bool points = geometry.dims[dim::kKH] * geometry.dims[dim::kKW] <= 1;
  return points ? kShareOfPoints : kShareOfWindows;
}

}  // namespace

double layout_conversion_us(const OpDescriptor& op, const OpGeometry& geometry,
                            const DeviceSpec& device) {
  if (has_channels_last(op) || !converts(op, geometry, device)) {
    return 0;
  }
  return pass_us(geometry, device) * forward_share(geometry);
}

double gradient_conversion_us(const OpDescriptor& forward, const OpGeometry& geometry,
                              const DeviceSpec& device) {
  if (has_channels_last(forward) || !converts(forward, geometry, device)) {
    return 0;
  }
  return pass_us(geometry, device) * (1 - forward_share(geometry));
}

void leave_out_conversions(const OpDescriptor& op, const OpGeometry& geometry,
                           const DeviceSpec& device, OpCost* cost) {
  if (!has_channels_last(op) || !converts(op, geometry, device) || cost->time_ns <= 0) {
    return;
  }
  const double converted_ns =
      (pass_us(geometry, device) * kShareMeasured + kKernelsMeasuredUs) * kNsPerUs;
  const auto time = static_cast<double>(cost->time_ns);
  const double share = std::max(1 - converted_ns / time, kLeastShareLeft);
  cost->time_ns = std::llround(time * share);
  cost->low_ns = std::llround(static_cast<double>(cost->low_ns) * share / kSpreadMeasured);
  cost->high_ns = std::llround(static_cast<double>(cost->high_ns) * share * kSpreadMeasured);
  cost->source = CostSource::kExtrapolated;
}

}  // namespace dfsim::inline opmodel
