// The source of a roofline: a model, a trace or a file of measured runs, told from the content.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hardware/platform.h"
#include "study/chain/model_source.h"
#include "study/progress.h"
#include "study/roofline/roofline.h"

namespace dfsim::inline study {

// The swept setting and its values: "batch=1,8,32", "threads=1,2,4", or a named dimension.
struct Sweep {
  std::string name;
  std::vector<int64_t> values;
};
// Error (kInvalidInput): no name, or anything but 2 to 64 rising whole numbers above 0.
StatusOr<Sweep> parse_sweep(const std::string& text);

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
// Errors: kNotFound. A file that is neither a trace nor a runs file is read as a model.
StatusOr<RooflineKind> roofline_kind(const std::string& path);

// The roofs of a device that the hardware file or built-in one of that name describes. Errors:
// those of load_platform().
StatusOr<DeviceRoofs> load_device_roofs(const std::string& hardware, const DeviceSpec& device);

// The roofline with some dimensions set ("batch", "threads" or names of dimensions to values).
StatusOr<RooflineReport> load_roofline(const RooflineSource& source, RooflineKind kind,
                                       const std::map<std::string, int64_t>& at,
                                       const Progress& progress = {});

}  // namespace dfsim::inline study
