// From a name to a model. A name is a directory, a model that ships, or "sol"; devices without a
// name get the prior when they are GPUs. PerDeviceModel then routes each device of a platform to
// its own model, and every trained model has the prior behind it for operators that it does not
// know.
#include "opmodel/model/model_loader.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/io/data_dir.h"
#include "base/text.h"
#include "opmodel/model/trained_model.h"
#include "opmodel/sol.h"

namespace dfsim::inline opmodel {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBoundName = "sol";
constexpr std::string_view kPretrained = "opmodel/pretrained";
constexpr std::string_view kPriorName = "prior";
// The model and the board of which the kernels of most operators were measured alone.
constexpr std::string_view kReferenceName = "h100";
constexpr std::string_view kReferenceBoard = "NVIDIA H100 80GB HBM3";

bool is_model(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / kManifestFile, error);
}

// The shipped directory of that name, or "".
std::string find_pretrained(const std::string& name) {
  const bool plain =
      !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
  for (const std::string& folder : plain ? data_dirs() : std::vector<std::string>{}) {
    const fs::path directory = fs::path(folder) / kPretrained / name;
    if (is_model(directory)) {
      return directory.string();
    }
  }
  return "";
}

// The directory of the model that a device names; for a GPU that names none the prior's, for other
// devices "sol". `folder` is that of the hardware file: the same folder may hold a model. "" when
// there is no model of that name.
std::string device_model(const std::string& cost_model, const fs::path& folder, bool gpu) {
  const bool beside = !cost_model.empty() && is_model(folder / cost_model);
  if (beside || (!cost_model.empty() && cost_model != kBoundName)) {
    return beside ? (folder / cost_model).string() : find_pretrained(cost_model);
  }
  const std::string prior =
      gpu && cost_model.empty() ? find_pretrained(std::string(kPriorName)) : std::string();
  return prior.empty() ? std::string(kBoundName) : prior;
}

Status unknown_device_model(const DeviceSpec& device, const std::string& file) {
  const Status unknown =
      not_found(unknown_name_message("cost model", device.cost_model, pretrained_models()) +
                "; or name a folder next to the hardware file that `dfsim train` wrote, or 'sol'");
  return unknown.with_place(fmt::format("device '{}'", printable(device.name))).with_place(file);
}

// The bound of the platform's devices, with the roofs and caches of their hardware file.
StatusOr<std::unique_ptr<CostModel>> load_bound(const Platform& platform) {
  std::map<std::string, LimitRates> limits;
  for (const DeviceSpec& device : platform.devices) {
    if (limits.contains(device.model) || platform.source_file.empty()) {
      continue;
    }
    // The file was read without an error before; a device of a file of its own has no entry here.
    const StatusOr<Roofs> roofs = load_roofs(platform.source_file, device.model);
    StatusOr<std::vector<MemoryLevel>> caches =
        load_memory_levels(platform.source_file, device.model);
    if (roofs.ok() && caches.ok() && (!roofs->empty() || !caches->empty())) {
      limits[device.model] = {with_roofs(device, *roofs), std::move(*caches)};
    }
  }
  return make_sol_model(std::move(limits));
}

// The model of a directory, which asks the prior that ships about what it does not know.
StatusOr<std::unique_ptr<CostModel>> load_with_prior(const std::string& directory,
                                                     const Platform& platform, bool use_lookup) {
  if (directory == kBoundName) {
    return load_bound(platform);
  }
  DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<TrainedModel> model, TrainedModel::load(directory));
  model->set_use_lookup(use_lookup);
  const std::string prior = find_pretrained(std::string(kPriorName));
  if (!model->manifest().prior && !prior.empty()) {
    DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<TrainedModel> loaded, TrainedModel::load(prior));
    model->set_prior(std::move(loaded));
  }
  if (model->manifest().prior || model->manifest().find_device(kReferenceBoard) == nullptr) {
    model->set_reference(find_pretrained(std::string(kReferenceName)));
  }
  return std::unique_ptr<CostModel>(std::move(model));
}

// Asks the model that each device names.
class PerDeviceModel : public CostModel {
 public:
  explicit PerDeviceModel(bool use_lookup) : use_lookup_(use_lookup) {}

  std::string_view name() const override { return name_; }

  Status add(const DeviceSpec& device, const Platform& platform) {
    const std::string& file = platform.source_file;
    const std::string& cost_model = device.cost_model;
    if (models_.contains(cost_model)) {
      return ok_status();
    }
    const std::string directory =
        device_model(cost_model, fs::path(file).parent_path(), device.type == DeviceType::kGpu);
    if (directory.empty()) {
      return unknown_device_model(device, file);
    }
    DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<CostModel> model,
                           load_with_prior(directory, platform, use_lookup_));
    if (name_.find(model->name()) == std::string::npos) {
      name_ += name_.empty() ? "" : ", ";
      name_ += model->name();
    }
    models_.emplace(cost_model, std::move(model));
    return ok_status();
  }

  Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                 std::span<OpCost> out) const override {
    const auto it = models_.find(device.cost_model);
    if (it == models_.end()) {
      return failed(fmt::format("device '{}' names the cost model '{}', which was not loaded",
                                device.name, device.cost_model));
    }
    return it->second->predict(ops, device, out);
  }

  double interval_scale(const DeviceSpec& device) const override {
    const auto it = models_.find(device.cost_model);
    return it == models_.end() ? 1 : it->second->interval_scale(device);
  }

  double common_spread(const DeviceSpec& device) const override {
    const auto it = models_.find(device.cost_model);
    return it == models_.end() ? 1 : it->second->common_spread(device);
  }

 private:
  bool use_lookup_;
  std::string name_;
  std::map<std::string, std::unique_ptr<CostModel>> models_;
};

}  // namespace

std::vector<std::string> pretrained_models() {
  std::set<std::string> names;
  for (const std::string& folder : data_dirs()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(folder) / kPretrained, error)) {
      if (is_model(entry.path())) {
        names.insert(entry.path().filename().string());
      }
    }
  }
  return {names.begin(), names.end()};
}

StatusOr<std::unique_ptr<TrainedModel>> load_trained_model(const std::string& name_or_path) {
  std::error_code error;
  if (fs::is_directory(name_or_path, error)) {
    return TrainedModel::load(name_or_path);
  }
  const std::string directory = find_pretrained(name_or_path);
  if (directory.empty()) {
    return not_found(fmt::format(
        "{}; or give the folder of a model that `dfsim train` wrote",
        unknown_name_message("cost model", printable(name_or_path), pretrained_models())));
  }
  return TrainedModel::load(directory);
}

StatusOr<std::unique_ptr<CostModel>> load_cost_model(const std::string& name_or_path) {
  if (name_or_path == kBoundName) {
    return make_sol_model();
  }
  DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<TrainedModel> model, load_trained_model(name_or_path));
  return std::unique_ptr<CostModel>(std::move(model));
}

std::vector<std::string> cost_models_of(const Platform& platform, const std::string& name_or_path) {
  if (name_or_path == kBoundName) {
    return {name_or_path, platform.source_file};  // whose roofs it knows
  }
  if (!name_or_path.empty()) {
    return {name_or_path};
  }
  std::vector<std::string> models;
  const fs::path folder = fs::path(platform.source_file).parent_path();
  for (const DeviceSpec& device : platform.devices) {
    // The name counts too: a shared model finds the answers for a device by it.
    models.push_back(device.cost_model + "=" +
                     device_model(device.cost_model, folder, device.type == DeviceType::kGpu));
    if (models.back().ends_with("=" + std::string(kBoundName))) {
      models.back() += "@" + platform.source_file;
    }
  }
  return models;
}

namespace {

StatusOr<std::unique_ptr<CostModel>> load_for(const Platform& platform,
                                              const std::string& name_or_path, bool use_lookup) {
  if (name_or_path == kBoundName) {
    return load_bound(platform);
  }
  if (!name_or_path.empty()) {
    DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<TrainedModel> model, load_trained_model(name_or_path));
    model->set_use_lookup(use_lookup);
    return std::unique_ptr<CostModel>(std::move(model));
  }
  auto models = std::make_unique<PerDeviceModel>(use_lookup);
  for (const DeviceSpec& device : platform.devices) {
    DFSIM_RETURN_IF_ERROR(models->add(device, platform));
  }
  return std::unique_ptr<CostModel>(std::move(models));
}

}  // namespace

StatusOr<std::unique_ptr<CostModel>> load_cost_model_for(const Platform& platform,
                                                         const std::string& name_or_path) {
  return load_for(platform, name_or_path, true);
}

StatusOr<std::unique_ptr<CostModel>> load_trees_for(const Platform& platform,
                                                    const std::string& name_or_path) {
  return load_for(platform, name_or_path, false);
}

}  // namespace dfsim::inline opmodel
