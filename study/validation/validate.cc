// Predicts each row of a runs file by the chain of `dfsim predict`. Models, platforms and cost
// models are loaded once, since runs files name the same ones over and over.
#include "study/validation/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "datasets/profiles/runs.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"
#include "study/chain/model_source.h"
#include "study/chain/precision_choice.h"
#include "study/machines/explain_machine.h"
#include "study/training/profile_inputs.h"

namespace dfsim::inline study {
namespace {

// Operators that ran, by network, batch size and device.
using RunKey = std::tuple<std::string, int64_t, std::string>;
using TypesByRun = std::map<RunKey, OpTypeTimes>;

class Validator {
 public:
  Validator(const ValidateOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {}

  StatusOr<Validation> run() {
    DFSIM_ASSIGN_OR_RETURN(std::vector<NetworkRun> runs, read_runs(options_.runs));
    const size_t all = runs.size();
    DFSIM_RETURN_IF_ERROR(choose(&runs));
    progress_.decide("runs", {{"file", options_.runs},
                              {"rows", std::to_string(all)},
                              {"left_out", std::to_string(all - runs.size())}});
    DFSIM_RETURN_IF_ERROR(read_types());
    Validation validation;
    for (const NetworkRun& run : runs) {
      DFSIM_RETURN_IF_ERROR(
          progress_.stage(fmt::format("predicting {} batch {}", run.network, run.batch)));
      progress_.advance(static_cast<double>(validation.runs.size()),
                        static_cast<double>(runs.size()), "runs");
      auto one = validate(run);
      if (!one.ok()) {
        return one.status().with_place(fmt::format("{}:{}", options_.runs, run.line));
      }
      validation.runs.push_back(std::move(*one));
    }
    validation.cost_model = cost_model_name_;
    return validation;
  }

 private:
  // --only and --leave-out; each name must be there.
  Status choose(std::vector<NetworkRun>* runs) const {
    std::set<std::string> names;
    for (const NetworkRun& run : *runs) {
      names.insert(run.network);
    }
    for (const auto* list : {&options_.only, &options_.leave_out}) {
      for (const std::string& name : *list) {
        if (!names.contains(name)) {
          return not_found(fmt::format(
              "{}: {}", options_.runs,
              unknown_name_message("network", printable(name), {names.begin(), names.end()})));
        }
      }
    }
    std::erase_if(*runs, [this](const NetworkRun& run) {
      const auto in = [&run](const std::vector<std::string>& list) {
        return std::find(list.begin(), list.end(), run.network) != list.end();
      };
      return (!options_.only.empty() && !in(options_.only)) || in(options_.leave_out);
    });
    return runs->empty() ? not_found(fmt::format("{}: --leave-out leaves no run", options_.runs))
                         : ok_status();
  }

  Status read_types() {
    if (options_.profile.empty()) {
      return ok_status();
    }
    ProfileInputs inputs;
    inputs.files = {options_.profile};
    DFSIM_ASSIGN_OR_RETURN(const LoadedProfiles loaded, load_profiles(inputs));
    const Profile& profile = loaded.profile;
    for (const ProfileRow& row : profile.rows()) {
      const RunKey key{profile.text(row.network), row.batch, profile.text(row.device)};
      OpTypeTime& entry = types_[key][profile.text(row.op_type)];
      entry.count += row.count;
      entry.time_ns += row.time_ns * row.count;
    }
    return ok_status();
  }

  // The files that the user names, or all that ship and have a device for the runtime.
  StatusOr<std::vector<std::string>> hardware_names() const {
    std::vector<std::string> names = options_.hardware;
    if (!names.empty()) {
      return names;
    }
    names = builtin_platforms();
    if (!options_.runtime.empty()) {
      DFSIM_ASSIGN_OR_RETURN(const RuntimeSpec runtime, load_runtime(options_.runtime));
      std::erase_if(names, [&runtime](const std::string& name) {
        const auto platform = load_platform(name);
        return platform.ok() && !runtime_fits(runtime, *platform);
      });
    }
    return names;
  }

  // The hardware whose device's model is the run's device.
  StatusOr<const Platform*> find_platform(const std::string& device) {
    if (platforms_.empty()) {
      DFSIM_ASSIGN_OR_RETURN(const std::vector<std::string> names, hardware_names());
      for (const std::string& name : names) {
        DFSIM_ASSIGN_OR_RETURN(Platform platform,
                               load_machine(name, options_.runtime, options_.precision));
        // Applies to machines with one device: the others do not answer "how long on this device".
        if (platform.devices.size() == 1) {
          platforms_.emplace(platform.devices[0].model, std::move(platform));
        }
      }
    }
    const auto it = platforms_.find(device);
    if (it != platforms_.end()) {
      return &it->second;
    }
    std::vector<std::string> known;
    for (const auto& [model, platform] : platforms_) {
      known.push_back(model);
    }
    return not_found(fmt::format("{}; say which hardware file describes it with --hw FILE",
                                 unknown_name_message("device", printable(device), known)));
  }

  StatusOr<const CostModel*> find_cost_model(const Platform& platform) {
    auto& model = cost_models_[platform.devices[0].model];
    if (model == nullptr) {
      DFSIM_ASSIGN_OR_RETURN(model, load_cost_model_for(platform, options_.model));
      explain_machine(platform, model->name(), progress_);
      if (cost_model_name_.find(model->name()) == std::string::npos) {
        cost_model_name_ += cost_model_name_.empty() ? "" : ", ";
        cost_model_name_ += model->name();
      }
    }
    return model.get();
  }

  // The option's, or that of a run in 16 bits or TF32 (a model in its type already stays as it is).
  std::string precision_of_run(const NetworkRun& run) const {
    if (!options_.precision.empty()) {
      return options_.precision;
    }
    const bool reduced = run.dtype == DType::kFloat16 || run.dtype == DType::kBFloat16 ||
                         run.dtype == DType::kTFloat32;
    for (const PrecisionInfo& info : all_precisions()) {
      if (reduced && info.dtype == run.dtype) {
        return std::string(info.name);
      }
    }
    return "";
  }

  // Networks are imported and lowered once for all devices of a runtime that rewrite them alike.
  StatusOr<const LoadedModel*> find_model(const NetworkRun& run, const Platform& platform) {
    const std::string precision = precision_of_run(run);
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", run.network, run.batch, join(run.dims, ";"),
                    run.open_shapes, platform.runtime.name, precision, runs_on_cpu(platform));
    const auto it = models_.find(key);
    if (it != models_.end()) {
      return it->second.get();
    }
    ModelOptions options;
    DFSIM_ASSIGN_OR_RETURN(options.path, find_network(run.network, options_.networks));
    options.batch = run.batch;
    options.static_dims = !run.open_shapes;
    options.dims = run.dims;
    options.precision = precision;
    DFSIM_ASSIGN_OR_RETURN(LoadedModel model, load_model(options, {}, platform));
    models_.clear();  // runs of one network stand together; all at once would be a lot of memory
    return models_.emplace(key, std::make_unique<LoadedModel>(std::move(model)))
        .first->second.get();
  }

  StatusOr<ValidatedRun> validate(const NetworkRun& run) {
    DFSIM_ASSIGN_OR_RETURN(const Platform* platform, find_platform(run.device));
    DFSIM_ASSIGN_OR_RETURN(const CostModel* cost_model, find_cost_model(*platform));
    DFSIM_ASSIGN_OR_RETURN(const LoadedModel* model, find_model(run, *platform));
    DFSIM_ASSIGN_OR_RETURN(const ModelRun prepared,
                           ModelRun::prepare(*model, *platform, *cost_model));
    DFSIM_ASSIGN_OR_RETURN(const SimulatedModel simulated, prepared.simulate());
    ValidatedRun validated = assemble(run, *model, prepared.costs(), simulated);
    DFSIM_ASSIGN_OR_RETURN(const std::optional<Bytes> arena, arena_bytes(*model, *platform));
    validated.predicted_bytes = arena.value_or(validated.predicted_bytes);
    return validated;
  }

  ValidatedRun assemble(const NetworkRun& run, const LoadedModel& model, const CostTable& costs,
                        const SimulatedModel& simulated) const {
    ValidatedRun validated;
    validated.network = run.network;
    validated.batch = run.batch;
    validated.dims = join(run.dims, ";");
    validated.open_shapes = run.open_shapes;
    validated.device = run.device;
    validated.measured_ns = run.time_ns;
    validated.spread_ns = run.spread_ns;
    validated.measured_ops_ns = run.ops_ns;
    validated.measured_ops = run.ops;
    validated.measured_bytes = run.arena_bytes;
    const auto types = types_.find({run.network, run.batch, run.device});
    if (types != types_.end()) {
      validated.measured_types = types->second;
    }
    const ExecGraph& graph = model.workload.graph;
    const DeviceId device(0);
    for (size_t t = 0; t < graph.task_count(); ++t) {
      const uint32_t row = graph.cost_row(TaskId(t));
      OpTypeTime& entry = validated.predicted_types[model.workload.rows[row].op_type];
      entry.count += 1;
      entry.time_ns += costs.time_ns(row, device);
      validated.predicted_ops_ns += costs.time_ns(row, device);
    }
    validated.predicted_ops = static_cast<int64_t>(graph.task_count());
    validated.unknown = model.unknown;
    validated.predicted_ns = simulated.result.makespan_ns;
    validated.interval = simulated.interval;
    validated.interval_scale = costs.interval_scale(device);
    validated.predicted_bytes = std::max<Bytes>(
        0, simulated.result.devices[0].peak_memory_bytes - model.workload.weight_bytes);
    return validated;
  }

  const ValidateOptions& options_;
  const Progress& progress_;
  TypesByRun types_;
  std::map<std::string, Platform> platforms_;  // by their device's model
  std::map<std::string, std::unique_ptr<CostModel>> cost_models_;
  std::map<std::string, std::unique_ptr<LoadedModel>> models_;
  std::string cost_model_name_;
};

}  // namespace

StatusOr<Validation> validate_runs(const ValidateOptions& options, const Progress& progress) {
  return Validator(options, progress).run();
}

}  // namespace dfsim::inline study
