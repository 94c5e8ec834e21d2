#include "study/machines/explain_machine.h"

#include <map>
#include <string>
#include <utility>

namespace dfsim::inline study {
namespace {

// Without its directory, which differs between machines; logs should not.
std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void explain_machine(const Platform& platform, std::string_view used, const Progress& progress) {
  if (!progress.explains()) {
    return;
  }
  progress.decide("machine", {{"name", platform.name},
                              {"file", file_name(platform.source_file)},
                              {"devices", std::to_string(platform.devices.size())},
                              {"runtime", platform.runtime.name},
                              {"runtime_file", file_name(platform.runtime.source_file)}});
  // A cluster has thousands of devices of a few kinds.
  std::map<std::pair<std::string, std::string>, size_t> kinds;
  for (const DeviceSpec& device : platform.devices) {
    ++kinds[{device.model, device.cost_model}];
  }
  for (const auto& [kind, count] : kinds) {
    progress.decide("cost model", {{"device", kind.first},
                                   {"count", std::to_string(count)},
                                   {"model", kind.second.empty() ? "speed-of-light" : kind.second},
                                   {"used", std::string(used)}});
  }
}

}  // namespace dfsim::inline study
