// Devices whose measured times a model keeps; the rows of others teach its trees alone. Internal to
// opmodel.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

// Error: kInvalidInput where a name is not the model of a device that `data` has rows of.
Status check_kept_devices(std::span<const std::string> names, const TrainingData& data);

// Error: the same for rates by bare loops (ModelManifest::bare_devices).
Status check_bare_devices(std::span<const DeviceSpec> bare, const TrainingData& data);

// Both, where `now` comes first and a model of before counts only if it is not in there.
std::vector<DeviceSpec> with_devices_of_before(std::vector<DeviceSpec> now,
                                               std::span<const DeviceSpec> before);

// Removes the samples of all other devices; none where `names` is empty. O(samples x names).
void keep_devices(std::span<const std::string> names, TrainingData* data);

}  // namespace dfsim::inline opmodel
