// cuDNN's batch normalisation with channels first gives each channel to one thread block. Three
// things can limit it: memory; the number of channels that a unit works off one after the other;
// and, where a channel does not fit into the block's registers and shared memory, the time in which
// one block walks through it. The last one leaves most units idle: 64 channels of 112 x 112 at
// batch 64 take five times their roofline.
//
// PyTorch's gradient of a layer normalisation sums those of scale and offset along all rows, in as
// many blocks as there are groups of columns, so its time grows with the rows where they are
// narrow. Gradients of depthwise convolutions: depthwise_kernels.h, and here with channels last.
#include "opmodel/model/laws/training_kernels.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "hardware/sustained_rates.h"
#include "opmodel/features/conv_gradient.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/features/roofline.h"
#include "opmodel/model/laws/layout_time.h"
#include "opmodel/model/laws/torch/depthwise_kernels.h"

namespace dfsim::inline opmodel {

namespace {

constexpr std::string_view kNormGrad = "dfsim.training.NormGrad";

// A kernel with one block per channel. `kept`: the channel stays in the block, so that every tensor
// is moved once; `walked`: it is read again for the second pass.
struct ChannelLaw {
  double floor_us;         // beyond the device's least kernel time
  double channel_cycles;   // of a unit per channel, kept
  double element_cycles4;  // of a block per element of a walked channel, 4 bytes each
  double element_cycles2;  // the same, 2 bytes each
  double most_kept_bytes;  // of a channel, in one tensor
  double bandwidth_share;  // of the sustained bandwidth
  int kept_passes;         // over the tensor
  int walked_passes;
};

constexpr ChannelLaw kStatistics = {0.99, 2250, 1.10, 1.30, 195e3, 0.91, 2, 3};
constexpr ChannelLaw kGradients = {1.48, 2050, 2.99, 2.72, 100e3, 0.81, 3, 5};
// Share of the sustained bandwidth with channels last.
constexpr double kLastShare = 0.85;
// Four fifths of the kernels are within this factor of the law, each way; whole networks
// within 1.1.
constexpr double kChannelSpread = 1.3;

// Cycles per row of the sums for scale and offset.
constexpr double kRowCycles = 9.7;
constexpr double kRowSpread = 1.6;

// With channels last, cuDNN's gradient of a depthwise filter in fp32: multiply-adds per cycle and
// unit. In 16 bits its gradients take longer than the convolution by a factor.
constexpr double kDepthwiseLastRate = 0.64;
constexpr double kDepthwiseFactor16 = 1.3;
constexpr double kGroupedFactor = 1.5;

bool is_of(const OpDescriptor& op, std::string_view type) {
  return op.op_type == kNormGrad && attribute_value(op.attributes, "of") == type;
}

bool has_own_statistics(const OpDescriptor& op) {
  return op.op_type == "BatchNormalization" &&
         attribute_value(op.attributes, kOwnStatistics) == "1";
}

double extents_product(const std::vector<int64_t>& extents, size_t first, size_t end) {
  double product = 1;
  for (size_t i = first; i < std::min(end, extents.size()); ++i) {
    product *= static_cast<double>(extents[i]);
  }
  return product;
}

double channel_law_us(const ChannelLaw& law, const std::vector<int64_t>& x, DType dtype,
                      bool channels_last, const DeviceSpec& device) {
  const double bandwidth = with_sustained_rates(device).memory_bytes_per_s;
  if (x.size() < 2 || x[1] <= 0 || device.clock_hz <= 0 || device.compute_units <= 0 ||
      bandwidth <= 0) {
    return 0;
  }
  const auto channels = static_cast<double>(x[1]);
  const double elements = extents_product(x, 0, x.size()) / channels;  // of a channel
  const double element_bytes = dtype_bits(dtype) / 8.0;
  const bool walked = elements * element_bytes > law.most_kept_bytes;
  const double launch_us = static_cast<double>(device.launch_overhead_ns) / kNsPerUs;
  if (channels_last) {
    // Blocks take pixels, not channels, and add up their parts: memory is the only limit.
    const double bytes = law.walked_passes * channels * elements * element_bytes;
    return launch_us + law.floor_us + bytes / (bandwidth * kLastShare) * kUsPerSecond;
  }
  const double cycle_us = kUsPerSecond / device.clock_hz;
  const double moved =
      (walked ? law.walked_passes : law.kept_passes) * channels * elements * element_bytes;
  const double memory_us = moved / (bandwidth * law.bandwidth_share) * kUsPerSecond;
  const double waves_us = channels / device.compute_units * law.channel_cycles * cycle_us;
  const double per_element = element_bytes > 2 ? law.element_cycles4 : law.element_cycles2;
  const double walk_us = walked ? elements * per_element * cycle_us : 0;
  return launch_us + law.floor_us + std::max({memory_us, waves_us, walk_us});
}

// The least time of the gradients of a layer normalisation's scale and offset.
double layer_norm_rows_us(const OpDescriptor& op, const DeviceSpec& device) {
  const std::vector<int64_t>& x = op.input_extents[1];
  if (op.input_extents.size() < 3 || device.clock_hz <= 0) {
    return 0;
  }
  const double columns = extents_product(op.input_extents[2], 0, op.input_extents[2].size());
  const double rows = columns > 0 ? extents_product(x, 0, x.size()) / columns : 0;
  return static_cast<double>(device.launch_overhead_ns) / kNsPerUs +
         rows * kRowCycles / device.clock_hz * kUsPerSecond;
}

// The least time of the gradients of another normalisation: sums for scale and offset read the
// gradient and the input again, unless the cache still holds them.
double second_read_us(const OpDescriptor& op, const DeviceSpec& device) {
  const double bandwidth = with_sustained_rates(device).memory_bytes_per_s;
  const double bytes = extents_product(op.input_extents[1], 0, op.input_extents[1].size()) *
                       dtype_bits(op.input_dtypes[1]) / 8.0;
  if (bandwidth <= 0 || 2 * bytes < static_cast<double>(device.l2_bytes)) {
    return 0;
  }
  return 5 * bytes / bandwidth * kUsPerSecond;
}

// The time of a grouped convolution's gradient that a model prices as the convolution in `time_us`.
double grouped_gradient_us(const OpDescriptor& op, const OpGeometry& forward,
                           const DeviceSpec& device, double time_us) {
  const bool half = dtype_bits(forward.dtype) <= 16;
  if (forward.kind == "grouped") {
    return time_us * kGroupedFactor;
  }
  if (forward.kind != "depthwise") {
    return time_us;
  }
  if (const double kernel_us = depthwise_kernel_us(op, device); kernel_us > 0) {
    return kernel_us;
  }
  if (half) {
    return time_us * kDepthwiseFactor16;
  }
  const double rate = kDepthwiseLastRate * device.compute_units * device.clock_hz;
  return is_filter_gradient(op) && rate > 0
             ? std::max(time_us, forward.flops / 2 / rate * kUsPerSecond)
             : time_us;
}

// The time of a gradient whose convolution takes `cost`.
double gradient_us(const OpDescriptor& op, const OpDescriptor& forward, const DeviceSpec& device,
                   const OpCost& cost) {
  const OpGeometry geometry = geometry_of(forward);
  const double time_us = static_cast<double>(cost.time_ns) / kNsPerUs;
  const double more_us =
      cost.source == CostSource::kPrior ? gradient_conversion_us(forward, geometry, device) : 0;
  return grouped_gradient_us(op, geometry, device, time_us) + more_us;
}

void set_prior(double time_us, double spread, OpCost* cost) {
  cost->time_ns = ns_from_seconds(time_us * 1e-6);
  cost->low_ns = ns_from_seconds(time_us / spread * 1e-6);
  cost->high_ns = ns_from_seconds(time_us * spread * 1e-6);
  cost->source = CostSource::kPrior;
}

void stretch(double factor, OpCost* cost) {
  for (TimeNs* const time : {&cost->time_ns, &cost->low_ns, &cost->high_ns}) {
    *time = std::llround(static_cast<double>(*time) * factor);
  }
}

}  // namespace

bool is_training_norm(const OpDescriptor& op) {
  return op.op_type == kNormGrad || has_own_statistics(op);
}

double batch_norm_training_us(const OpDescriptor& op, const DeviceSpec& device) {
  const bool last = attribute_value(op.attributes, kChannelsLast) == "1";
  if (has_own_statistics(op) && !op.input_extents.empty() && !op.input_dtypes.empty()) {
    return channel_law_us(kStatistics, op.input_extents[0], op.input_dtypes[0], last, device);
  }
  if (is_of(op, "BatchNormalization") && op.input_extents.size() > 1 &&
      op.input_dtypes.size() > 1) {
    return channel_law_us(kGradients, op.input_extents[1], op.input_dtypes[1], last, device);
  }
  return 0;
}

void apply_training_kernel(const OpDescriptor& op, const DeviceSpec& device,
                           const ModelManifest& manifest, OpCost* cost) {
  const bool gpu = device.type == DeviceType::kGpu;
  if (is_conv_gradient(op)) {
    if (knows_gradient(manifest, op)) {
      return;
    }
    const OpDescriptor forward = forward_convolution(op);
    const auto time = static_cast<double>(cost->time_ns) / kNsPerUs;
    if (gpu && time > 0) {
      stretch(gradient_us(op, forward, device, *cost) / time, cost);
    }
    widen_for_gradient(cost);
    return;
  }
  if (!gpu || !is_training_norm(op) || manifest.has_kind(kNormGrad)) {
    return;  // that model's normalisations are those of training steps
  }
  if (const double time_us = batch_norm_training_us(op, device); time_us > 0) {
    set_prior(time_us, kChannelSpread, cost);
  } else if (op.op_type == kNormGrad && op.input_extents.size() > 1 && op.input_dtypes.size() > 1) {
    const double rows_us = is_of(op, "LayerNormalization") ? layer_norm_rows_us(op, device) : 0;
    const double least_us = std::max(rows_us, second_read_us(op, device));
    if (least_us * kNsPerUs > static_cast<double>(cost->time_ns)) {
      set_prior(least_us, kRowSpread, cost);
    }
  }
}

}  // namespace dfsim::inline opmodel
