// No operator has a law of both of the first kinds; what pieces and kernels take at least comes
// last, as it lifts what the others say.
#include "opmodel/model/laws/cpu/cpu_kernels.h"

#include <algorithm>

#include "opmodel/model/laws/cpu/byte_products.h"
#include "opmodel/model/laws/cpu/kernel_floors.h"
#include "opmodel/model/laws/cpu/plain_kernels.h"
#include "opmodel/model/laws/cpu/short_pieces.h"

namespace dfsim::inline opmodel {

namespace {

// Trees of other types know nothing of products in fp64, say; the device's rates do. The
// best rates are measured on one kernel and others come close to them, so a part of the limit is
// the least. Hardware files seldom have a rate of fp64, whose vectors hold half as many numbers.
void lift_to_bound(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  constexpr double kLeastOfBound = 0.9;
  double least_ns = static_cast<double>(cost->bound_ns);
  const double fp32 = device.peak_flops_per_s(DType::kFloat32, op.work.matrix);
  if (op.dtype == DType::kFloat64 && op.work.matrix && fp32 > 0) {
    least_ns = std::max(least_ns, static_cast<double>(op.work.flops) / (fp32 / 2) * 1e9);
  }
  least_ns *= kLeastOfBound;
  if (op.dtype != DType::kFloat32 && cost->source == CostSource::kExtrapolated &&
      static_cast<double>(cost->time_ns) < least_ns) {
    rescale(least_ns, cost);
  }
}

}  // namespace

void apply_cpu_kernels(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device,
                       const ModelManifest& manifest, OpCost* cost) {
  if (device.type == DeviceType::kCpu) {
    apply_plain_kernel(op, geometry, device, manifest, cost);
    apply_byte_product(op, device, cost);
    apply_short_pieces(op, device, cost);
    apply_kernel_floors(op, device, cost);
    lift_to_bound(op, device, cost);
  }
}

}  // namespace dfsim::inline opmodel
