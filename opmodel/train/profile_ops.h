// From rows of a profile to what models are trained on: descriptors and devices.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "datasets/profiles/profile.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// The descriptor of a row, equal to that of the same op in a graph. Tensor formats other than plain
// ones become an attribute "formats", as shapes in such formats do not read as ONNX's. Work is that
// of the op's geometry (op_geometry.h).
OpDescriptor descriptor_of(const Profile& profile, const ProfileRow& row);

// The device a tool calls `name`: a hardware file's path or name, or the one of the built-in files
// whose device model is `name` (case ignored), or begins so. Error: kNotFound.
StatusOr<DeviceSpec> find_device(const std::string& name);

// A stand-in for a device without a hardware file: peaks per dtype and bandwidth are 1.05 times the
// best that any of its rows reached, the floor is its fastest row. Good for training on its own
// profiles; says nothing about other devices. `rows` are indices into the profile, not empty.
DeviceSpec estimate_device(const Profile& profile, const std::vector<size_t>& rows,
                           const std::string& name);

}  // namespace dfsim::inline opmodel
