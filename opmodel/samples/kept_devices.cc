#include "opmodel/samples/kept_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace dfsim::inline opmodel {

Status check_kept_devices(std::span<const std::string> names, const TrainingData& data) {
  std::vector<std::string> known;
  for (const DeviceSpec& device : data.devices) {
    known.push_back(device.model);
  }
  for (const std::string& name : names) {
    if (std::ranges::count(known, name) == 0) {
      return invalid_input(
          fmt::format("--lookup-device {}: no row is of this device; the profiles have rows of {}",
                      printable(name), printable(fmt::format("{}", fmt::join(known, ", ")), 400)));
    }
  }
  return ok_status();
}

void keep_devices(std::span<const std::string> names, TrainingData* data) {
  std::erase_if(data->samples, [&](const Sample& sample) {
    return !names.empty() && std::ranges::count(names, data->devices[sample.device].model) == 0;
  });
}

}  // namespace dfsim::inline opmodel
