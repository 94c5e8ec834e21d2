// One entry of `devices:` of a hardware file.
#pragma once

#include <string>
#include <vector>

#include "hardware/platform.h"
#include "hardware/sources.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline hardware {

// Reads the keys that describe a device into `device`, which holds defaults, or with `extends` a
// device of another file: then every key is optional and replaces what is there. `name` and `count`
// are the caller's. Errors go into `fields`.
void read_device(YamlFields& fields, const YamlNode& node, const SourceTable& sources, bool extends,
                 DeviceSpec* device);

}  // namespace dfsim::inline hardware
