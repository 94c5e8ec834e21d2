// The inputs of a roofline: what it is asked of, and the roofs of a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "hardware/platform.h"
#include "study/chain/model_source.h"
#include "study/roofline/roofline.h"

namespace dfsim::inline study {

struct RooflineSource {
  ModelOptions model;  // path of a model, trace or runs file
  std::string hardware;
  std::string runtime;
  std::string cost_model;
  std::string device;
  std::vector<std::string> networks;  // folders, for runs
  std::vector<std::string> counters;  // files of performance counters, for traces
};

enum class RooflineKind : uint8_t { kModel, kTrace, kRuns };
// The roofs of a device that the hardware file or built-in one of that name describes. Errors:
// those of load_platform().
StatusOr<DeviceRoofs> load_device_roofs(const std::string& hardware, const DeviceSpec& device);

}  // namespace dfsim::inline study
