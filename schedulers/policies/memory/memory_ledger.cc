#include "schedulers/policies/memory/memory_ledger.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dfsim::inline schedulers::policies {

Status MemoryLedger::does_not_fit(TaskId task) const {
  std::vector<std::string> devices;
  for (size_t d = 0; d < view_.devices() && devices.size() < 8; ++d) {
    if (view_.feasible(task, d)) {
      const DeviceSpec& device = view_.problem().platform.devices[d];
      devices.push_back(fmt::format("{} {} of {} taken", printable(device.name),
                                    format_bytes(used(d)), format_bytes(device.memory_bytes)));
    }
  }
  return invalid_input(fmt::format(
      "task '{}' needs {} resident and {} while it runs, which fits on no device that can run it "
      "({}); use devices with more memory",
      printable(view_.graph().name(task)), format_bytes(view_.graph().resident_bytes(task)),
      format_bytes(view_.graph().working_set_bytes(task)), join(devices, ", ")));
}

}  // namespace dfsim::inline schedulers::policies
