// Counts the runs of elements that a slice copies, from the last axis on.
#include "opmodel/model/laws/cpu/small_slices.h"

#include <algorithm>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

namespace {

using Extents = std::vector<int64_t>;

constexpr double kSpread = 1.8;

// Elements of the result that are side by side in the operand, too: whole axes at the end, and the
// part of the first axis that is not whole.
double run_of(const Extents& x, const Extents& y) {
  double run = 1;
  for (size_t i = y.size(); i-- > 0;) {
    run *= static_cast<double>(y[i]);
    if (x[i] != y[i]) {
      break;
    }
  }
  return run;
}

}  // namespace

double small_slice_limit_us(const OpDescriptor& op, const DeviceSpec& device) {
  constexpr double kSmall = 0.25;
  constexpr double kShareOfBandwidth = 0.5;
  constexpr double kStartUs = 20;  // on the measured core, between other kernels; 3 alone
  constexpr double kKernelUs = 2;  // on a GPU, with its launch on top
  constexpr double kRunNs = 20;
  if (op.op_type != "Slice" || op.input_extents.empty() || op.output_extents.empty() ||
      op.input_extents[0].size() != op.output_extents[0].size() || device.memory_bytes_per_s <= 0) {
    return 0;
  }
  const Extents& x = op.input_extents[0];
  const Extents& y = op.output_extents[0];
  const double results = element_count(y);
  if (results <= 0 || results >= kSmall * element_count(x)) {
    return 0;
  }
  const double bytes = 2 * results * dtype_bits(op.dtype) / 8;
  const double copied_us = bytes / (kShareOfBandwidth * device.memory_bytes_per_s) * 1e6;
  if (device.type == DeviceType::kGpu) {
    return kKernelUs + static_cast<double>(device.launch_overhead_ns) / 1e3 + copied_us;
  }
  const double own_us = kStartUs + results / run_of(x, y) * kRunNs / 1e3;
  return own_us / core_speed(device) + copied_us;
}

void apply_small_slice(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  if (cost->source == CostSource::kMeasured || cost->source == CostSource::kBoundOnly) {
    return;
  }
  const double most_us = small_slice_limit_us(op, device);
  const TimeNs most_ns = ns_from_seconds(most_us * 1e-6);
  if (most_ns <= 0 || cost->time_ns <= most_ns) {
    return;
  }
  cost->time_ns = most_ns;
  cost->low_ns = std::min(cost->low_ns, ns_from_seconds(most_us / kSpread * 1e-6));
  cost->high_ns = ns_from_seconds(most_us * kSpread * 1e-6);
  cost->source = CostSource::kExtrapolated;
}

}  // namespace dfsim::inline opmodel
