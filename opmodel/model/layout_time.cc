// cuDNN's tensor-core kernels want channels last. For tensors with channels first it converts the
// operands before and the result after the kernel, or takes a slower kernel that reads them as they
// are. Both cost a share of one more pass over image and result, in and out. The shares come from
// networks that were timed in both layouts on one board.
#include "opmodel/model/layout_time.h"

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

}  // namespace

double layout_conversion_us(const OpDescriptor& op, const OpGeometry& geometry,
                            const DeviceSpec& device) {
  const bool half = geometry.dtype == DType::kFloat16 || geometry.dtype == DType::kBFloat16;
  if (geometry.family != Family::kConv || geometry.kind != "dense" || !half ||
      op.op_type != "Conv" || device.type != DeviceType::kGpu ||
      attribute_value(op.attributes, kChannelsLast) == "1") {
    return 0;
  }
  const auto& d = geometry.dims;
  const double image = d[dim::kBatch] * d[dim::kC] * d[dim::kH] * d[dim::kW];
  const double result = d[dim::kBatch] * d[dim::kO] * d[dim::kOH] * d[dim::kOW];
  const double bytes = (image + result) * dtype_bits(geometry.dtype) / 8;
  const bool points = d[dim::kKH] * d[dim::kKW] <= 1;
  const double bandwidth = with_sustained_rates(device).memory_bytes_per_s;
  return bandwidth > 0
             ? 2 * bytes * (points ? kShareOfPoints : kShareOfWindows) / bandwidth * kUsPerSecond
             : 0;
}

}  // namespace dfsim::inline opmodel
