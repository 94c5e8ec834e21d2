// Reads the roofs of a device from its hardware file.
#include "study/roofline/roofline_inputs.h"

#include <utility>

#include "hardware/memory_levels.h"

namespace dfsim::inline study {

StatusOr<DeviceRoofs> load_device_roofs(const std::string& hardware, const DeviceSpec& device) {
  DFSIM_ASSIGN_OR_RETURN(Roofs roofs, load_roofs(hardware, device.model));
  DeviceRoofs found;
  found.device = with_roofs(device, roofs);
  found.of_all_levels = !roofs.empty();
  found.source = std::move(roofs.source);
  DFSIM_ASSIGN_OR_RETURN(found.caches, load_memory_levels(hardware, device.model));
  return found;
}

}  // namespace dfsim::inline study
