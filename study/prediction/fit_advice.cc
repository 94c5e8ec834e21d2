// Advice for a model that does not fit: settings in the order of how little they change.
//
// FitAdvisor predicts each setting alone and keeps those that fit. Halving the batch ends at
// the first batch that fits, recomputation at the least that does, because both only get slower
// from there.
#include "study/prediction/fit_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "hardware/builtin_files.h"
#include "hardware/platform_loader.h"
#include "study/chain/precision_choice.h"
#include "study/partitioning/partition.h"

namespace dfsim::inline study {
namespace {

constexpr size_t kMostBiggerDevices = 2;
constexpr size_t kMostNodes = 4;

size_t accelerators(const Platform& platform, DeviceType type) {
  return static_cast<size_t>(std::ranges::count(platform.devices, type, &DeviceSpec::type));
}

class FitAdvisor {
 public:
  FitAdvisor(const PredictOptions& options, const PredictFunction& predict,
             const Progress& progress, Prediction* prediction)
      : options_(options), predict_(predict), progress_(progress), prediction_(prediction) {}

  Status run() {
    DFSIM_RETURN_IF_ERROR(load_machines());
    DFSIM_RETURN_IF_ERROR(smaller_batch());
    DFSIM_RETURN_IF_ERROR(lower_precision());
    DFSIM_RETURN_IF_ERROR(recomputation());
    DFSIM_RETURN_IF_ERROR(partitioning());
    return bigger_device();
  }

 private:
  struct Machine {
    std::string name;  // that --hw takes
    Platform platform;
  };

  // Built-in machines with devices of the predicted type, and the machine itself.
  Status load_machines() {
    DFSIM_ASSIGN_OR_RETURN(self_.platform, load_platform(options_.hardware));
    self_.name = options_.hardware;
    for (const std::string& name : builtin_names(FileKind::kPlatform)) {
      DFSIM_ASSIGN_OR_RETURN(Platform platform, load_platform(name));
      if (accelerators(platform, prediction_->device_type) > 0) {
        builtin_.push_back({name, std::move(platform)});
      }
    }
    return ok_status();
  }

  PredictOptions plain_options() const {
    PredictOptions plain = options_;
    plain.requests = 0;
    plain.repeat = 0;
    plain.advice = false;
    plain.fit_advice = false;
    plain.verdict_change = false;
    plain.record = nullptr;
    return plain;
  }

  // Adds the remedy when the model then fits. `batch` is what the prediction must have come to.
  StatusOr<bool> add(const char* kind, const std::string& action, const PredictOptions& changed,
                     int64_t batch) {
    DFSIM_RETURN_IF_ERROR(progress_.stage("predicting: " + action));
    const StatusOr<Prediction> found = predict_(changed);
    if (!found.ok() || found->batch != batch || !found->fits() || found->memory_bytes <= 0) {
      return false;  // the model or the machine does not allow it, or it does not fit either
    }
    prediction_->remedies.push_back({kind, action, found->latency_ns, found->bound_only_share,
                                     found->peak_memory_bytes, found->memory_bytes});
    return true;
  }

  Status smaller_batch() {
    for (int64_t batch = prediction_->batch / 2; batch >= 1; batch /= 2) {
      PredictOptions smaller = plain_options();
      smaller.model.batch = batch;
      DFSIM_ASSIGN_OR_RETURN(const bool fits,
                             add("batch", fmt::format("--batch {}", batch), smaller, batch));
      if (fits) {
        break;
      }
    }
    return ok_status();
  }

  Status lower_precision() {
    if (!options_.model.precision.empty()) {
      return ok_status();  // somebody chose it
    }
    for (const Precision precision : supported_precisions(self_.platform)) {
      if (precision == Precision::kFp32) {
        continue;
      }
      PredictOptions other = plain_options();
      other.model.precision = std::string(precision_name(precision));
      DFSIM_RETURN_IF_ERROR(
          add("precision", "--precision " + other.model.precision, other, prediction_->batch)
              .status());
    }
    return ok_status();
  }

  Status recomputation() {
    if (!options_.training.is_training() || options_.training.recomputed() == "full") {
      return ok_status();
    }
    const bool none = options_.training.recomputed() == "none";
    for (const char* const what : {"selective", "full"}) {
      if (!none && std::string_view(what) == "selective") {
        continue;
      }
      PredictOptions other = plain_options();
      other.training.recompute = what;
      DFSIM_ASSIGN_OR_RETURN(
          const bool fits,
          add("recomputation", fmt::format("--recompute {}", what), other, prediction_->batch));
      if (fits) {
        break;
      }
    }
    return ok_status();
  }

  Bytes memory_of(const Machine& machine) const {
    Bytes sum = 0;
    for (const DeviceSpec& device : machine.platform.devices) {
      sum += device.type == prediction_->device_type ? device.memory_bytes : 0;
    }
    return sum;
  }

  // Nodes to split the model over: the machine itself when it has several devices; else those of
  // the same devices, then those of the same type, the least memory that could hold it first.
  std::vector<const Machine*> nodes() const {
    const DeviceType type = prediction_->device_type;
    if (type == DeviceType::kCpu) {
      return {};
    }
    if (accelerators(self_.platform, type) > 1) {
      return {&self_};
    }
    const auto differs = [&](const Machine* machine) {
      return std::ranges::none_of(machine->platform.devices, [&](const DeviceSpec& device) {
        return device.model == prediction_->device_model;
      });
    };
    std::vector<const Machine*> found;
    for (const Machine& machine : builtin_) {
      if (accelerators(machine.platform, type) > 1 &&
          memory_of(machine) >= prediction_->peak_memory_bytes) {
        found.push_back(&machine);
      }
    }
    std::ranges::stable_sort(found, {}, [&](const Machine* machine) {
      return std::pair(differs(machine), memory_of(*machine));
    });
    found.resize(std::min(found.size(), kMostNodes));
    return found;
  }

  // The fastest plan that fits on the first node where one does.
  Status partitioning() {
    for (const Machine* const machine : nodes()) {
      DFSIM_ASSIGN_OR_RETURN(const bool fits, split_over(*machine));
      if (fits) {
        break;
      }
    }
    return ok_status();
  }

  StatusOr<bool> split_over(const Machine& machine) {
    std::optional<PlanOutcome> best;
    std::string best_strategy;
    for (const char* const strategy : {"tp", "pp", "dp"}) {
      PartitionOptions split;
      split.model = options_.model;
      split.hardware = machine.name;
      split.runtime = options_.runtime;
      split.cost_model = options_.cost_model;
      split.training = options_.training;
      split.strategy = strategy;
      DFSIM_RETURN_IF_ERROR(
          progress_.stage(fmt::format("partitioning over {} by {}", machine.name, strategy)));
      const StatusOr<Partitioning> found = partition_model(split);
      if (!found.ok()) {
        continue;  // a fixed batch, an optimizer that plans do not know, a part that is not known
      }
      for (const PlanOutcome& plan : found->plans) {
        if (plan.status.ok() && plan.fits() &&
            (!best.has_value() || plan.makespan_ns < best->makespan_ns)) {
          best = plan;
          best_strategy = strategy;
        }
      }
    }
    if (!best.has_value()) {
      return false;
    }
    prediction_->remedies.push_back(
        {"partitioning",
         fmt::format("dfsim partition --hw {} --strategy {} (plan '{}', {} devices)", machine.name,
                     best_strategy, best->name, best->devices),
         best->makespan_ns, best->bound_only_share, best->memory_bytes, best->capacity_bytes});
    return true;
  }

  // Machines of one device of the same type, the smallest memory first.
  Status bigger_device() {
    std::vector<std::pair<Bytes, std::string>> machines;
    for (const Machine& machine : builtin_) {
      const std::vector<DeviceSpec>& devices = machine.platform.devices;
      if (devices.size() == 1 && devices[0].memory_bytes >= prediction_->peak_memory_bytes) {
        machines.emplace_back(devices[0].memory_bytes, machine.name);
      }
    }
    std::ranges::sort(machines);
    size_t added = 0;
    for (const auto& [memory, name] : machines) {
      PredictOptions other = plain_options();
      other.hardware = name;
      DFSIM_ASSIGN_OR_RETURN(const bool fits,
                             add("device", "--hw " + name, other, prediction_->batch));
      added += fits ? 1 : 0;
      if (added == kMostBiggerDevices) {
        break;
      }
    }
    return ok_status();
  }

  const PredictOptions& options_;
  const PredictFunction& predict_;
  const Progress& progress_;
  Prediction* prediction_;
  Machine self_;
  std::vector<Machine> builtin_;
};

}  // namespace

Status advise_fit(const PredictOptions& options, const PredictFunction& predict,
                  const Progress& progress, Prediction* prediction) {
  return FitAdvisor(options, predict, progress, prediction).run();
}

}  // namespace dfsim::inline study
