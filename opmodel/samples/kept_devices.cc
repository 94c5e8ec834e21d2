#include "opmodel/samples/kept_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace dfsim::inline opmodel {

namespace {

// `option` names a device that the rows must have.
Status check_device(std::string_view option, const std::string& name, const TrainingData& data) {
  std::vector<std::string> known;
  for (const DeviceSpec& device : data.devices) {
    known.push_back(device.model);
  }
  if (std::ranges::count(known, name) > 0) {
    return ok_status();
  }
  return invalid_input(fmt::format("{} {}: no row is of this device; the profiles have rows of {}",
                                   option, printable(name),
                                   printable(fmt::format("{}", fmt::join(known, ", ")), 400)));
}

}  // namespace

Status check_kept_devices(std::span<const std::string> names, const TrainingData& data) {
  for (const std::string& name : names) {
    DFSIM_RETURN_IF_ERROR(check_device("--lookup-device", name, data));
  }
  return ok_status();
}

Status check_bare_devices(std::span<const DeviceSpec> bare, const TrainingData& data) {
  for (const DeviceSpec& device : bare) {
    DFSIM_RETURN_IF_ERROR(check_device("--bare with `model`", device.model, data));
  }
  return ok_status();
}

std::vector<DeviceSpec> with_devices_of_before(std::vector<DeviceSpec> now,
                                               std::span<const DeviceSpec> before) {
  for (const DeviceSpec& device : before) {
    if (std::ranges::count(now, device.model, &DeviceSpec::model) == 0) {
      now.push_back(device);
    }
  }
  return now;
}

void keep_devices(std::span<const std::string> names, TrainingData* data) {
  std::erase_if(data->samples, [&](const Sample& sample) {
    return !names.empty() && std::ranges::count(names, data->devices[sample.device].model) == 0;
  });
}

}  // namespace dfsim::inline opmodel
