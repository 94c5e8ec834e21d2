#include "study/chain/machine_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "graphs/llm/llm_import.h"
#include "graphs/tensorflow/format.h"
#include "hardware/platform_loader.h"
#include "study/chain/dispatch_modes.h"
#include "study/chain/precision_choice.h"

namespace dfsim::inline study {
namespace {

Status check_runtime_device(const Platform& platform) {
  if (runtime_fits(platform.runtime, platform)) {
    return ok_status();
  }
  std::string others;
  for (const std::string& name : builtin_runtimes()) {
    const auto runtime = load_runtime(name);
    if (runtime.ok() && (!runtime->device || *runtime->device == platform.devices.front().type)) {
      others += (others.empty() ? "" : ", ") + name;
    }
  }
  return invalid_input(
      fmt::format("runtime '{}' on '{}': found a {}, expected a {}; choose one of {}",
                  printable(platform.runtime.name), printable(platform.name),
                  device_type_name(platform.devices.front().type),
                  device_type_name(*platform.runtime.device), others));
}

}  // namespace

bool runtime_fits(const RuntimeSpec& runtime, const Platform& platform) {
  return !runtime.device || std::ranges::find(platform.devices, *runtime.device,
                                              &DeviceSpec::type) != platform.devices.end();
}

StatusOr<Platform> load_machine(const std::string& hardware, const std::string& runtime) {
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_platform(hardware));
  if (!runtime.empty()) {
    DFSIM_ASSIGN_OR_RETURN(platform.runtime, load_runtime(runtime));
  }
  DFSIM_RETURN_IF_ERROR(check_runtime_device(platform));
  DFSIM_RETURN_IF_ERROR(check_dispatch_names(platform.runtime));
  scale_dispatch(platform.host.dispatch_speed, &platform.runtime);
  return platform;
}

StatusOr<Platform> load_machine(const std::string& hardware, const std::string& runtime,
                                const std::string& precision) {
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_machine(hardware, runtime));
  apply_precision(precision, &platform);
  return platform;
}

std::string runtime_for(const std::string& model_path, const std::string& runtime) {
  // Any folder may be a SavedModel; one with a config.json is imported as a language model.
  const bool is_tensorflow =
      runtime.empty() && !is_llm_config(model_path) && recognise_tensorflow(model_path).has_value();
  return is_tensorflow ? "tensorflow" : runtime;
}

StatusOr<Platform> machine_with_threads(const std::string& hardware, const std::string& runtime,
                                        int64_t threads, std::string* found) {
  std::string stem = hardware;
  const bool yaml = stem.ends_with(".yaml");
  stem = yaml ? stem.substr(0, stem.size() - 5) : stem;
  const size_t dash = stem.rfind('-');
  if (dash != std::string::npos && stem.ends_with("t") && dash + 2 < stem.size() &&
      std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(dash) + 1, stem.end() - 1,
                  [](char c) { return c >= '0' && c <= '9'; })) {
    stem = stem.substr(0, dash);
  }
  std::vector<std::string> tried;
  for (const std::string& name :
       {hardware, fmt::format("{}-{}t{}", stem, threads, yaml ? ".yaml" : ""),
        stem + (yaml ? ".yaml" : "")}) {
    auto platform = load_machine(name, runtime);
    if (platform.ok() && platform->devices.front().type == DeviceType::kCpu &&
        platform->devices.front().compute_units == threads) {
      if (found != nullptr) {
        *found = name;
      }
      return platform;
    }
    tried.push_back(name);
  }
  return not_found(fmt::format(
      "--sweep: no hardware file measured with {} threads (looked at {}); dfsim calibrate makes "
      "one, and --hw names it",
      threads, join(tried, ", ")));
}

}  // namespace dfsim::inline study
