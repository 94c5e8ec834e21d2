// Tells the operands of a fused convolution apart: image, filter, bias, skip connection.
#include "opmodel/model/laws/conv_epilogue.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "hardware/sustained_rates.h"

namespace dfsim::inline opmodel {

namespace {

constexpr std::string_view kFusedConv = "com.microsoft.FusedConv";
constexpr size_t kResidual = 3;

double residual_bytes(const OpDescriptor& op) {
  if (op.op_type != kFusedConv || op.input_extents.size() <= kResidual) {
    return 0;
  }
  double bytes = dtype_bits(op.input_dtypes[kResidual]) / 8.0;
  for (const int64_t extent : op.input_extents[kResidual]) {
    bytes *= static_cast<double>(std::max<int64_t>(extent, 0));
  }
  return bytes;
}

}  // namespace

bool has_conv_epilogue(const OpDescriptor& op) {
  return op.op_type == kFusedConv || attribute_value(op.attributes, kBiasInKernel) == "1";
}

OpDescriptor without_conv_epilogue(const OpDescriptor& op) {
  OpDescriptor alone = op;
  alone.op_type = "Conv";
  alone.attributes =
      without_attribute(without_attribute(op.attributes, "activation"), kBiasInKernel);
  alone.input_extents.resize(2);
  alone.input_dtypes.resize(2);
  return alone;
}

void add_residual_read(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  const double bytes = device.type == DeviceType::kGpu ? residual_bytes(op) : 0;
  const double rate = bytes > 0 ? with_sustained_rates(device).memory_bytes_per_s : 0;
  if (rate <= 0) {
    return;
  }
  const auto added_ns = static_cast<TimeNs>(std::llround(bytes / rate * 1e9));
  cost->time_ns += added_ns;
  cost->low_ns += added_ns;
  cost->high_ns += added_ns;
}

}  // namespace dfsim::inline opmodel
