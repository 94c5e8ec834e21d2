// Leaves out what a kernel does on the chip: activation, mask, the second look at a row.
#include "opmodel/model/laws/engine_kernels.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "hardware/sustained_rates.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/features/roofline.h"
#include "opmodel/model/laws/small_kernels.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kMask = 3;  // behind queries, keys and values

bool ends_with_gelu(const OpDescriptor& op) {
  const std::string_view activation = attribute_value(op.attributes, "activation");
  return op.op_class == OpClass::kMatMul && (activation == "Gelu" || activation == "FastGelu");
}

bool is_marked(const OpDescriptor& op) {
  return attribute_value(op.attributes, kEngineKernel) == "1";
}

bool is_engine_attention(const OpDescriptor& op) {
  return op.op_class == OpClass::kAttention && is_marked(op);
}

// A block takes so many queries of a head and goes through the keys in steps of as many; each unit
// runs one block after the other. 0 where the clock or the number of units is not known.
double attention_us(const OpGeometry& geometry, const DeviceSpec& device) {
  constexpr double kTile = 128;
  constexpr double kHead = 64;
  constexpr double kStartCycles = 7500;
  constexpr double kStepCycles = 2500;
  const double clock_hz = implied_clock_hz(device);
  if (geometry.family != Family::kAttention || !(clock_hz > 0) || device.compute_units <= 0) {
    return 0;
  }
  const auto& d = geometry.dims;
  const double blocks = d[dim::kAB] * d[dim::kHeads] * std::ceil(d[dim::kQuery] / kTile);
  const double steps = std::ceil(blocks / device.compute_units) * std::ceil(d[dim::kKeys] / kTile) *
                       std::max(d[dim::kSize] / kHead, 1.0);
  const Roofline roofline = roofline_of(geometry, with_sustained_rates(device), 0);
  const double chip_us = (kStartCycles + kStepCycles * steps) / clock_hz * kUsPerSecond;
  return std::max({chip_us, roofline.compute_us, roofline.memory_us});
}

}  // namespace

bool is_engine_kernel(const OpDescriptor& op) { return ends_with_gelu(op) || is_marked(op); }

OpDescriptor without_engine(const OpDescriptor& op) {
  OpDescriptor known = op;
  known.attributes =
      without_attribute(without_attribute(op.attributes, "activation"), kEngineKernel);
  if (ends_with_gelu(op) && op.op_type == "com.microsoft.FusedGemm") {
    known.op_type = "Gemm";
  } else if (is_engine_attention(op)) {
    known.input_extents.resize(std::min(known.input_extents.size(), kMask));
    known.input_dtypes.resize(std::min(known.input_dtypes.size(), kMask));
  } else if (op.op_class == OpClass::kNorm) {
    known.op_type = "compiled.pointwise";
    known.op_class = OpClass::kElementwise;
    known.attributes.clear();
  }
  return known;
}

void limit_attention(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  constexpr double kShortUs = 15;
  if (device.type != DeviceType::kGpu || !is_engine_attention(op) ||
      cost->source == CostSource::kMeasured) {
    return;
  }
  const double law_us = attention_us(geometry_of(without_engine(op)), device);
  limit_by_small_kernel(law_us * std::max(law_us / kShortUs, 1.0), cost);
}

}  // namespace dfsim::inline opmodel
