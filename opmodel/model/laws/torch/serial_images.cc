// Each step of a thread waits for the loads of one channel, so a channel costs a latency: that of
// the last-level cache, or of the memory where the images do not fit into it. Four blocks of 256
// threads share a unit. More pixels than these threads take another walk.
#include "opmodel/model/laws/torch/serial_images.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/units.h"
#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kCachedCycles = 360;
constexpr double kMemoryCycles = 820;
// Shares of the cache that images and results take where the one latency ends and the other begins.
constexpr double kCachedShare = 0.45;
constexpr double kMemoryShare = 1.2;
constexpr double kThreads = 256;     // of a block
constexpr double kBlocks = 4;        // of a unit at a time
constexpr double kSpread = 1.2;      // four fifths of the measured times are within it, each way
constexpr double kSlowerKernel = 2;  // than an elementwise one with as many bytes

double pixels_of(const std::vector<int64_t>& image) {
  return static_cast<double>(image[2]) * static_cast<double>(image[3]);
}

bool is_image(const std::vector<int64_t>& extents) {
  return extents.size() == 4 &&
         std::all_of(extents.begin(), extents.end(), [](int64_t extent) { return extent > 0; });
}

// Without a launch.
double walk_us(const OpDescriptor& op, const DeviceSpec& device) {
  const std::vector<int64_t>& image = op.input_extents[0];
  const double channels = static_cast<double>(image[0]) * static_cast<double>(image[1]);
  const double pixels = pixels_of(op.output_extents[0]);
  const double bytes =
      channels * (pixels_of(image) + pixels) * static_cast<double>(dtype_bits(op.dtype)) / 8;
  const double share = bytes / static_cast<double>(std::max<Bytes>(device.l2_bytes, 1));
  const double missed =
      std::clamp((share - kCachedShare) / (kMemoryShare - kCachedShare), 0.0, 1.0);
  const double cycles = kCachedCycles + (kMemoryCycles - kCachedCycles) * missed;
  const double walks = std::ceil(std::ceil(pixels / kThreads) / (device.compute_units * kBlocks));
  return channels * walks * cycles / device.clock_hz * kUsPerSecond;
}

}  // namespace

bool has_serial_images(const OpDescriptor& op) {
  return attribute_value(op.attributes, kSerialImages) == "1";
}

bool resizes_in_parallel(const OpDescriptor& op) {
  return (op.op_type == "Resize" || op.op_type == "Upsample") && !has_serial_images(op) &&
         attribute_value(op.attributes, "mode") == "linear" &&
         attribute_value(op.attributes, "antialias") != "1" && !op.input_extents.empty() &&
         !op.output_extents.empty() && is_image(op.input_extents[0]) &&
         is_image(op.output_extents[0]);
}

OpDescriptor as_parallel_kernel(const OpDescriptor& op) {
  OpDescriptor kernel = op;
  kernel.op_type = "compiled.pointwise";
  kernel.op_class = OpClass::kElementwise;
  kernel.attributes.clear();
  kernel.input_extents.resize(1);
  kernel.input_dtypes.resize(1);
  return kernel;
}

void remove_serial_mark(OpDescriptor* op) {
  const std::string mark = ";" + std::string(kSerialImages) + "=1";
  if (const size_t at = op->attributes.find(mark); at != std::string::npos) {
    op->attributes.erase(at, mark.size());
  }
}

void apply_serial_images(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  if (device.type == DeviceType::kGpu && resizes_in_parallel(op)) {
    cost->high_ns = std::max<TimeNs>(
        cost->high_ns, std::llround(static_cast<double>(cost->time_ns) * kSlowerKernel));
    return;
  }
  if (device.type != DeviceType::kGpu || device.clock_hz <= 0 || device.compute_units <= 0 ||
      cost->source == CostSource::kMeasured || !has_serial_images(op) || op.input_extents.empty() ||
      op.output_extents.empty() || !is_image(op.input_extents[0]) ||
      !is_image(op.output_extents[0])) {
    return;
  }
  const double time_us =
      static_cast<double>(device.launch_overhead_ns) / kNsPerUs + walk_us(op, device);
  cost->time_ns = ns_from_seconds(time_us * 1e-6);
  cost->low_ns = ns_from_seconds(time_us / kSpread * 1e-6);
  cost->high_ns = ns_from_seconds(time_us * kSpread * 1e-6);
  cost->source = CostSource::kPrior;
}

}  // namespace dfsim::inline opmodel
