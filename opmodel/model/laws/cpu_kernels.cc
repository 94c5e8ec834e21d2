// The order does not matter: no operator has a law of both kinds.
#include "opmodel/model/laws/cpu_kernels.h"

#include "opmodel/model/laws/byte_products.h"
#include "opmodel/model/laws/plain_kernels.h"

namespace dfsim::inline opmodel {

void apply_cpu_kernels(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device,
                       const ModelManifest& manifest, OpCost* cost) {
  if (device.type == DeviceType::kCpu) {
    apply_plain_kernel(op, geometry, device, manifest, cost);
    apply_byte_product(op, device, cost);
  }
}

}  // namespace dfsim::inline opmodel
