#include "study/chain/machine_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "graphs/llm/llm_import.h"
#include "graphs/tensorflow/format.h"
#include "hardware/platform_loader.h"
#include "opmodel/run_costs.h"
#include "study/chain/precision_choice.h"

namespace dfsim::inline study {
namespace {

bool has_type(const RuntimeSpec& runtime, const DeviceSpec& device) {
  return !runtime.device || *runtime.device == device.type;
}

// A device whose file names no vendor may be anybody's.
bool runs_on(const RuntimeSpec& runtime, const DeviceSpec& device) {
  return has_type(runtime, device) &&
         (runtime.vendors.empty() || device.vendor.empty() ||
          std::ranges::any_of(runtime.vendors, [&device](const std::string& vendor) {
            return to_lower(vendor) == to_lower(device.vendor);
          }));
}

// The built-in runtimes for the platform's first device, "a, b, c".
std::string usable_runtimes(const Platform& platform, bool training) {
  std::vector<std::string> names;
  for (const std::string& name : builtin_runtimes()) {
    const auto runtime = load_runtime(name);
    if (runtime.ok() && runs_on(*runtime, platform.devices.front()) &&
        (runtime->trains || !training)) {
      names.push_back(name);
    }
  }
  return join(names, ", ");
}

Status check_runtime_device(const Platform& platform) {
  const RuntimeSpec& runtime = platform.runtime;
  if (runtime_fits(runtime, platform)) {
    return ok_status();
  }
  const auto of_type = std::ranges::find_if(
      platform.devices, [&](const DeviceSpec& device) { return has_type(runtime, device); });
  const std::string mismatch =
      of_type == platform.devices.end()
          ? fmt::format("found a {}, expected a {}",
                        device_type_name(platform.devices.front().type),
                        device_type_name(*runtime.device))
          : fmt::format("found a device of {}, expected one of {}", printable(of_type->vendor),
                        printable(join(runtime.vendors, " or ")));
  return unsupported(fmt::format("runtime '{}' on '{}': {}; choose one of {}",
                                 printable(runtime.name), printable(platform.name), mismatch,
                                 usable_runtimes(platform, false)));
}

}  // namespace

bool runtime_fits(const RuntimeSpec& runtime, const Platform& platform) {
  return std::ranges::any_of(platform.devices,
                             [&](const DeviceSpec& device) { return runs_on(runtime, device); });
}

Status check_trains(const TrainingChoice& choice, const Platform& platform) {
  if (!choice.is_training() || platform.runtime.trains) {
    return ok_status();
  }
  return unsupported(fmt::format(
      "--mode train: found runtime '{}' on '{}', which executes forward passes only; choose one of "
      "{} with --runtime",
      printable(platform.runtime.name), printable(platform.name), usable_runtimes(platform, true)));
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
