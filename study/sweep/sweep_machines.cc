// Loads each machine of a sweep once and names the version of its files and cost model, which
// journals use to tell whether a finished point still counts.
#include "study/sweep/sweep_machines.h"

#include <filesystem>

#include "base/text.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "opmodel/model/model_manifest.h"
#include "study/chain/machine_source.h"
#include "study/sweep/input_versions.h"

namespace dfsim::inline study {
namespace {

namespace fs = std::filesystem;

// The version of the manifest in the directory that an entry of cost_models_of() names: "NAME=DIR",
// or a directory alone, whose name may have a '=', too.
std::string cost_model_version(const std::string& entry) {
  std::error_code error;
  const fs::path directory =
      fs::is_directory(entry, error) ? entry : entry.substr(entry.find('=') + 1);
  return file_version((directory / kManifestFile).string());
}

}  // namespace

SweepMachines::Key SweepMachines::key_of(const SweepPoint& point) {
  return {point.hardware, runtime_for(point.model, point.runtime), point.precision};
}

Status SweepMachines::load(const SweepPlan& points, const std::string& cost_model) {
  for (const SweepPoint point : points) {
    if (!machines_.contains(key_of(point))) {
      DFSIM_RETURN_IF_ERROR(add(point, cost_model));
    }
  }
  return ok_status();
}

Status SweepMachines::add(const SweepPoint& point, const std::string& cost_model) {
  auto machine = std::make_unique<SweepMachine>();
  auto platform =
      load_machine(point.hardware, runtime_for(point.model, point.runtime), point.precision);
  if (platform.status().code() == StatusCode::kUnsupported) {
    machine->usable = platform.status();
    machines_.emplace(key_of(point), std::move(machine));
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(machine->platform, std::move(platform));
  const std::vector<std::string> models = cost_models_of(machine->platform, cost_model);
  std::shared_ptr<const CostModel>& shared = cost_models_[models];
  if (shared == nullptr) {
    DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<CostModel> loaded,
                           load_cost_model_for(machine->platform, cost_model));
    shared = std::move(loaded);
  }
  machine->cost_model = shared;
  DFSIM_ASSIGN_OR_RETURN(std::vector<std::string> files, platform_files(point.hardware));
  files.push_back(machine->platform.runtime.source_file);
  std::vector<std::string> versions;
  for (const std::string& file : files) {
    versions.push_back(file_version(file));
  }
  for (const std::string& model : models) {
    versions.push_back(model + "@" + cost_model_version(model));
  }
  machine->version = join(versions, ";");
  machines_.emplace(key_of(point), std::move(machine));
  return ok_status();
}

}  // namespace dfsim::inline study
