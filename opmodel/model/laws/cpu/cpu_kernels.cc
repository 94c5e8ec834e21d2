// No operator has a law of both of the first kinds; what pieces and kernels take at least comes
// last, as it lifts what the others say.
#include "opmodel/model/laws/cpu/cpu_kernels.h"

#include "opmodel/model/laws/cpu/byte_products.h"
#include "opmodel/model/laws/cpu/kernel_floors.h"
#include "opmodel/model/laws/cpu/plain_kernels.h"
#include "opmodel/model/laws/cpu/short_pieces.h"

namespace dfsim::inline opmodel {

void apply_cpu_kernels(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device,
                       const ModelManifest& manifest, OpCost* cost) {
  if (device.type == DeviceType::kCpu) {
    apply_plain_kernel(op, geometry, device, manifest, cost);
    apply_byte_product(op, device, cost);
    apply_short_pieces(op, device, cost);
    apply_kernel_floors(op, device, cost);
  }
}

}  // namespace dfsim::inline opmodel
