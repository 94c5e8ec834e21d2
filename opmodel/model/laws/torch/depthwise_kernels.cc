// Three kernels: the convolution, the gradient of its image and that of its filter. The first two
// give each thread a result, whose loop over the window the compiler unrolls for some windows; with
// strides the image's gradient divides in every step. Their rates are multiply-adds per cycle and
// unit, whatever the board. The third one has a block per weight: a warp takes every sixteenth
// image, 32 results per step.
#include "opmodel/model/laws/torch/depthwise_kernels.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "opmodel/features/conv_gradient.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

namespace {

// Multiply-adds per cycle and unit for windows of 1x1, 3x3, 5x5, 7x7 and larger ones.
struct WindowRates {
  double one;
  double three;
  double five;
  double seven;
  double larger;

  double of(double side) const {
    return side <= 1 ? one : side <= 3 ? three : side <= 5 ? five : side <= 7 ? seven : larger;
  }
};

constexpr WindowRates kForward = {0.5, 3.6, 5.8, 6.1, 4.6};
constexpr WindowRates kForwardStrided = {0.5, 2.9, 5.2, 4.2, 3.5};
constexpr WindowRates kImage = {0.54, 2.1, 5.6, 4.0, 4.2};
constexpr WindowRates kImageStrided = {0.5, 0.53, 1.1, 0.78, 0.6};
// cuDNN's gradients in fp16.
constexpr WindowRates kImage16 = {1.8, 10.2, 9.6, 9.6, 9.6};
constexpr WindowRates kFilter16 = {1.0, 5.0, 12.0, 12.0, 12.0};
constexpr double kFilter16Strided = 5.0;  // 5x5

// A filter's gradient: cycles of a unit per step of a warp, and of a block per step of its warps.
constexpr double kStepCycles = 12.0;
constexpr double kLatencyCycles = 550;
constexpr double kStepsPerImage = 2.5;
constexpr double kWarpSize = 32;
constexpr double kWarps = 16;  // of a block
// Least time of a kernel beyond the device's own, and the factor that holds four fifths.
constexpr double kDepthwiseFloorUs = 1.0;
constexpr double kKernelSpread = 1.5;

enum class Pass { kForward, kImage, kFilter };

Pass pass_of(const OpDescriptor& op) {
  return is_filter_gradient(op)  ? Pass::kFilter
         : is_input_gradient(op) ? Pass::kImage
                                 : Pass::kForward;
}

struct Window {
  double side;
  bool square;
  bool strided;
  bool dilated;
};

Window window_of(const OpDescriptor& forward, const OpGeometry& geometry) {
  const auto& d = geometry.dims;
  const std::string_view dilations = attribute_value(forward.attributes, "dilations");
  return {std::sqrt(d[dim::kKH] * d[dim::kKW]), d[dim::kKH] == d[dim::kKW], d[dim::kStride] > 1,
          dilations.find_first_not_of("1,") != std::string_view::npos};
}

// PyTorch hands fp16, but not bf16, with square windows of up to five to cuDNN.
bool cudnn_has(const Window& window, DType dtype) {
  return dtype == DType::kFloat16 && window.square && !window.dilated && window.side <= 5;
}

double filter_cycles(const OpGeometry& geometry, double units) {
  const auto& d = geometry.dims;
  const double blocks = d[dim::kO] * d[dim::kKH] * d[dim::kKW];
  const double per_image = std::ceil(d[dim::kOH] * d[dim::kOW] / kWarpSize) + kStepsPerImage;
  const double steps = blocks * d[dim::kBatch] * per_image;
  return std::max(steps * kStepCycles / units,
                  std::ceil(d[dim::kBatch] / kWarps) * per_image * kLatencyCycles);
}

double rate_of(Pass pass, const Window& window, bool cudnn) {
  if (pass == Pass::kForward) {
    return cudnn ? 0 : (window.strided ? kForwardStrided : kForward).of(window.side);
  }
  if (pass == Pass::kFilter && window.strided) {
    return cudnn && window.side > 3 ? kFilter16Strided : 0;
  }
  if (pass == Pass::kFilter) {
    return cudnn ? kFilter16.of(window.side) : 0;
  }
  if (window.strided) {
    return kImageStrided.of(window.side);  // PyTorch's own kernel in 16 bits as well
  }
  return (cudnn ? kImage16 : kImage).of(window.side);
}

}  // namespace

double depthwise_kernel_us(const OpDescriptor& op, const DeviceSpec& device) {
  const bool nvidia = device.vendor.empty() || device.vendor == "NVIDIA";
  if (device.type != DeviceType::kGpu || !nvidia || !(device.clock_hz > 0) ||
      device.compute_units <= 0 || attribute_value(op.attributes, kChannelsLast) == "1") {
    return 0;
  }
  const OpDescriptor forward = forward_convolution(op);
  const OpGeometry geometry = geometry_of(forward);
  if (forward.op_type != "Conv" || geometry.kind != "depthwise") {
    return 0;
  }
  const Pass pass = pass_of(op);
  const Window window = window_of(forward, geometry);
  const bool cudnn = cudnn_has(window, geometry.dtype);
  const auto units = static_cast<double>(device.compute_units);
  const double rate = rate_of(pass, window, cudnn);
  if (pass == Pass::kForward && rate <= 0) {
    return 0;
  }
  const double cycles =
      rate > 0 ? geometry.flops / 2 / (rate * units) : filter_cycles(geometry, units);
  return static_cast<double>(device.launch_overhead_ns) / kNsPerUs + kDepthwiseFloorUs +
         cycles / device.clock_hz * kUsPerSecond;
}

void limit_depthwise(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  const bool unknown =
      cost->source == CostSource::kPrior || cost->source == CostSource::kExtrapolated;
  if (!unknown || op.op_type != "Conv" || is_conv_gradient(op)) {
    return;
  }
  const double limit_ns = depthwise_kernel_us(op, device) * kNsPerUs;
  if (limit_ns <= static_cast<double>(cost->time_ns)) {
    return;
  }
  cost->low_ns = std::min<TimeNs>(cost->low_ns, std::llround(limit_ns / kKernelSpread));
  cost->high_ns = std::max<TimeNs>(cost->high_ns, std::llround(limit_ns * kKernelSpread));
  cost->time_ns = std::llround(limit_ns);
  cost->source = CostSource::kPrior;
}

}  // namespace dfsim::inline opmodel
