// Loads each machine of a sweep once and names the version of its files and cost model, which
// journals use to tell whether a finished point still counts.
#include "study/sweep/sweep_machines.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/hash.h"
#include "base/io/file.h"
#include "base/text.h"
#include "opmodel/model/model_loader.h"
#include "opmodel/model/model_manifest.h"
#include "study/chain/machine_source.h"

namespace dfsim::inline study {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostDigestedBytes = 64'000'000;

// The version of the manifest in the directory that an entry of cost_models_of() names.
std::string cost_model_version(const std::string& entry) {
  const fs::path directory = entry.substr(entry.find('=') + 1);
  return file_version((directory / kManifestFile).string());
}

}  // namespace

SweepMachines::Key SweepMachines::key_of(const SweepPoint& point) {
  return {point.hardware, runtime_for(point.model, point.runtime), point.precision};
}

std::string file_version(const std::string& path) {
  std::error_code error;
  const fs::path file =
      fs::is_directory(path, error) ? fs::path(path) / "saved_model.pb" : fs::path(path);
  const auto size = fs::file_size(file, error);
  if (error) {
    return "none";
  }
  if (size <= kMostDigestedBytes) {
    const auto content = read_file(file.string(), static_cast<int64_t>(kMostDigestedBytes));
    return content.ok() ? fmt::format("{:016x}", Hasher().add(*content).digest()) : "none";
  }
  const auto time = fs::last_write_time(file, error);
  return fmt::format("{}@{}", size, time.time_since_epoch().count());
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
  DFSIM_ASSIGN_OR_RETURN(
      machine->platform,
      load_machine(point.hardware, runtime_for(point.model, point.runtime), point.precision));
  const std::vector<std::string> models = cost_models_of(machine->platform, cost_model);
  std::shared_ptr<const CostModel>& shared = cost_models_[models];
  if (shared == nullptr) {
    DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<CostModel> loaded,
                           load_cost_model_for(machine->platform, cost_model));
    shared = std::move(loaded);
  }
  machine->cost_model = shared;
  std::vector<std::string> versions = {file_version(machine->platform.source_file),
                                       file_version(machine->platform.runtime.source_file)};
  for (const std::string& model : models) {
    versions.push_back(model + "@" + cost_model_version(model));
  }
  machine->version = join(versions, ";");
  machines_.emplace(key_of(point), std::move(machine));
  return ok_status();
}

}  // namespace dfsim::inline study
