// Tunes ONNX Runtime: predicts every setting, measures in the order that tune_search.h gives,
// and explains the result as a trajectory. Earlier measurements of the same model on as many
// cores are reused.
#include "study/tuning/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "base/io/text_file.h"
#include "base/text.h"
#include "opmodel/model/model_loader.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"
#include "study/chain/precision_choice.h"
#include "study/measuring/child_process.h"
#include "study/measuring/ort_environment.h"
#include "study/roofline/sweep_axis.h"
#include "study/tuning/ort_levels.h"

namespace dfsim::inline study {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Timing = TuneTiming;

constexpr std::string_view kStateSchema = "dfsim.tune-state/1";
constexpr int64_t kMaxState = 1 << 24;
constexpr double kThreadExponent = 0.7;  // of threads no hardware file was measured with: a guess

Timing timing_of(std::vector<double> times_ms) {
  std::sort(times_ms.begin(), times_ms.end());
  const auto at = [&times_ms](double share) {
    return times_ms[static_cast<size_t>(share * static_cast<double>(times_ms.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.1), at(0.9), times_ms.size()};
}

Json setting_json(const TuneSetting& setting) {
  return {{"intra", setting.intra},
          {"inter", setting.inter},
          {"pinned", setting.pinned},
          {"level", setting.level},
          {"batch", setting.batch}};
}

class Tuner {
 public:
  Tuner(const TuneOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {}

  StatusOr<TuneResult> run() {
    DFSIM_RETURN_IF_ERROR(prepare());
    DFSIM_ASSIGN_OR_RETURN(std::vector<TuneCandidate> candidates, predict_all());
    DFSIM_RETURN_IF_ERROR(open_directory());
    TuneSearch search(std::move(candidates), options_.budget);
    for (auto next = search.next(); next.has_value(); next = search.next()) {
      const TuneSetting& setting = search.candidates()[*next].setting;
      progress_.decide("next measurement", {{"setting", tune_setting_text(setting)},
                                            {"measured", std::to_string(search.measured())},
                                            {"budget", std::to_string(options_.budget)}});
      DFSIM_ASSIGN_OR_RETURN(const double relative, measured_or_measure(setting, *next == 0));
      search.add(*next, relative);
      progress_.note(fmt::format("{}: {:.3f} of the default's time per sample",
                                 tune_setting_text(setting), relative));
    }
    TuneResult result;
    result.candidates = search.candidates();
    result.best = search.best();
    result.measured = search.measured();
    DFSIM_RETURN_IF_ERROR(compare(&result));
    explain(&result);
    return result;
  }

 private:
  std::string in(std::string_view name) const {
    return (fs::path(options_.directory) / name).string();
  }

  Status prepare() {
    cores_ = options_.threads > 0
                 ? options_.threads
                 : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    DFSIM_RETURN_IF_ERROR(read_batches());
    hardware_ = options_.hardware;
    if (hardware_.empty()) {
      hardware_ = in("host.yaml");
      if (std::error_code error; !fs::exists(hardware_, error)) {
        return not_found(fmt::format(
            "{}: no hardware file of this machine, which predictions need; make one with dfsim "
            "calibrate -o {}, or name the nearest with --hw",
            hardware_, printable(options_.directory)));
      }
    }
    DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_machine(hardware_, ""));
    return check_precision(platform);
  }

  // Only once the model and the machine are known to be sound: a refused command leaves nothing.
  Status open_directory() {
    std::error_code error;
    fs::create_directories(options_.directory, error);
    if (error) {
      return failed(fmt::format("{}: cannot make the folder: {}", printable(options_.directory),
                                error.message()));
    }
    DFSIM_RETURN_IF_ERROR(read_state());
    DFSIM_ASSIGN_OR_RETURN(helper_, find_data_file("datasets/collect/ort_cpu/tune.py"));
    DFSIM_ASSIGN_OR_RETURN(
        python_,
        ort_environment({options_.directory, options_.python, options_.no_install}, progress_));
    return ok_status();
  }

  // datasets/collect/ort_cpu/precision.py converts models to these.
  Status check_precision(const Platform& platform) const {
    const std::string& precision = options_.model.precision;
    DFSIM_RETURN_IF_ERROR(resolve_precision(precision, platform).status());
    const std::vector<std::string> measurable = {
        "", "fp32", "fp16", "int8", "int8-dynamic", "int8-weights", "int4-weights"};
    if (std::find(measurable.begin(), measurable.end(), precision) == measurable.end()) {
      return invalid_input(fmt::format(
          "--precision {}: ONNX Runtime's CPU provider cannot be measured in it; expected {}",
          printable(precision), join({measurable.begin() + 1, measurable.end()}, ", ")));
    }
    return ok_status();
  }

  Status read_batches() {
    if (options_.batches.empty()) {
      batches_ = {std::max<int64_t>(options_.model.batch, 1)};
      return ok_status();
    }
    if (options_.batches.find(',') == std::string::npos) {
      return invalid_input(
          "--batches: expected at least two, such as 1,8; for one batch use --batch");
    }
    auto sweep = parse_sweep("batch=" + options_.batches);
    if (!sweep.ok()) {
      return invalid_input("--batches: " + sweep.status().message());
    }
    batches_ = sweep->numbers;
    return ok_status();
  }

  // The model at a batch size, as a runtime with these optimisations executes it.
  StatusOr<const LoadedModel*> model_at(int64_t batch, int level, const Platform& platform) {
    const std::pair key(batch, level);
    if (models_.count(key) == 0) {
      ModelOptions options = options_.model;
      options.batch = options_.batches.empty() ? options_.model.batch : batch;
      Platform lowered = platform;
      limit_ort_level(level, &lowered.runtime);
      DFSIM_ASSIGN_OR_RETURN(LoadedModel model, load_model(options, {}, lowered));
      models_.emplace(key, std::make_unique<LoadedModel>(std::move(model)));
    }
    return models_[key].get();
  }

  StatusOr<double> predicted_ns(const TuneSetting& setting, Platform platform) {
    DFSIM_ASSIGN_OR_RETURN(const LoadedModel* model,
                           model_at(setting.batch, setting.level, platform));
    DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> costs,
                           load_cost_model_for(platform, ""));
    platform.runtime.inter_op_workers = setting.inter;
    platform.runtime.streams = setting.inter;
    platform.devices.front().queues = setting.inter;
    DFSIM_ASSIGN_OR_RETURN(const ModelRun run, ModelRun::prepare(*model, platform, *costs));
    DFSIM_ASSIGN_OR_RETURN(const SimulatedModel simulated, run.simulate());
    return static_cast<double>(std::max<TimeNs>(simulated.result.makespan_ns, 1));
  }

  // Per sample. At thread counts without a hardware file: the nearest that has one, scaled.
  StatusOr<double> predict(const TuneSetting& setting) {
    DFSIM_ASSIGN_OR_RETURN(Platform platform, load_machine(hardware_, ""));
    double factor = 1;
    auto exact = machine_with_threads(hardware_, "", setting.intra);
    if (exact.ok()) {
      platform = std::move(exact).value();
    } else {
      const auto measured_with = std::max(1, platform.devices.front().compute_units);
      factor = std::pow(static_cast<double>(measured_with) / setting.intra, kThreadExponent);
    }
    DFSIM_ASSIGN_OR_RETURN(const double time_ns, predicted_ns(setting, std::move(platform)));
    // Operators at once share the cores: the pools of both wait busily for work.
    const double crowd = std::max(1.0, static_cast<double>(setting.intra) * setting.inter / cores_);
    return time_ns * factor * crowd / static_cast<double>(setting.batch);
  }

  StatusOr<std::vector<TuneCandidate>> predict_all() {
    std::vector<TuneCandidate> candidates;
    const std::vector<TuneSetting> space = tune_space(cores_, batches_);
    for (const TuneSetting& setting : space) {
      DFSIM_RETURN_IF_ERROR(progress_.stage("predicting " + tune_setting_text(setting)));
      progress_.advance(static_cast<double>(candidates.size()), static_cast<double>(space.size()),
                        "settings");
      TuneCandidate candidate;
      candidate.setting = setting;
      DFSIM_ASSIGN_OR_RETURN(candidate.predicted, predict(setting));
      candidates.push_back(candidate);
    }
    return candidates;
  }

  // Times of all settings in one interleaved run.
  StatusOr<std::vector<Timing>> measure(const std::vector<TuneSetting>& settings, int rounds,
                                        double seconds) {
    Json request = {{"model", fs::absolute(options_.model.path).string()},
                    {"seconds", seconds},
                    {"rounds", rounds},
                    {"precision", options_.model.precision},
                    {"static", options_.model.static_dims},
                    {"settings", Json::array()}};
    DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_machine(hardware_, ""));
    for (const TuneSetting& setting : settings) {
      DFSIM_ASSIGN_OR_RETURN(const LoadedModel* model,
                             model_at(setting.batch, setting.level, platform));
      Json json = setting_json(setting);
      json["dims"] = Json::object();
      for (const BoundDim& dim : model->report.dims) {
        json["dims"][dim.name] = dim.extent;
      }
      request["settings"].push_back(std::move(json));
    }
    DFSIM_RETURN_IF_ERROR(progress_.stage(fmt::format("measuring {}", options_.model.path)));
    progress_.advance(static_cast<double>(state_["points"].size()),
                      static_cast<double>(options_.budget), "measurements");
    DFSIM_RETURN_IF_ERROR(write_file(in("request.json"), request.dump() + "\n"));
    DFSIM_RETURN_IF_ERROR(run_program({python_, helper_, in("request.json"), in("result.json")},
                                      fmt::format("measuring {}", options_.model.path)));
    DFSIM_ASSIGN_OR_RETURN(const std::string text, read_text_file(in("result.json"), kMaxState));
    const Json result = Json::parse(text, nullptr, false);
    std::vector<Timing> timings;
    if (result.is_object() && result.contains("times_ms") && result["times_ms"].is_array()) {
      for (const Json& times : result["times_ms"]) {
        timings.push_back(timing_of(times.get<std::vector<double>>()));
      }
      version_ = result.value("onnxruntime", "");
    }
    return timings.size() == settings.size()
               ? StatusOr<std::vector<Timing>>(std::move(timings))
               : failed(fmt::format("{}: found no times of {} settings", in("result.json"),
                                    settings.size()));
  }

  static double per_sample(const Timing& timing, const TuneSetting& setting) {
    return timing.median_ms / static_cast<double>(setting.batch);
  }

  StatusOr<double> measured_or_measure(const TuneSetting& setting, bool is_default) {
    const std::string key = setting_json(setting).dump();
    if (state_["points"].contains(key)) {
      return state_["points"][key].get<double>();
    }
    double relative = 1;
    const TuneSetting usual = tune_space(cores_, batches_).front();
    if (!is_default) {
      DFSIM_ASSIGN_OR_RETURN(const std::vector<Timing> times,
                             measure({usual, setting}, 3, options_.seconds));
      relative = per_sample(times[1], setting) / per_sample(times[0], usual);
    }
    state_["points"][key] = relative;
    DFSIM_RETURN_IF_ERROR(write_file(in("tune.json"), state_.dump(2) + "\n"));
    return relative;
  }

  // Reuses earlier measurements of this model on as many cores.
  Status read_state() {
    state_ = {{"schema", kStateSchema},
              {"model", fs::absolute(options_.model.path).string()},
              {"precision", options_.model.precision},
              {"cores", cores_},
              {"points", Json::object()}};
    std::error_code error;
    if (!fs::exists(in("tune.json"), error)) {
      return ok_status();
    }
    DFSIM_ASSIGN_OR_RETURN(const std::string text, read_text_file(in("tune.json"), kMaxState));
    const Json before = Json::parse(text, nullptr, false);
    if (!before.is_object() || before.value("schema", "") != kStateSchema ||
        !before.contains("points") || !before["points"].is_object()) {
      return invalid_input(fmt::format(
          "{}: is not a state of dfsim tune; give another folder with --dir", in("tune.json")));
    }
    for (const auto& [key, value] : before["points"].items()) {
      if (!value.is_number() || value.get<double>() <= 0) {
        return invalid_input(fmt::format("{}: '{}' is not a time; delete the file", in("tune.json"),
                                         printable(key)));
      }
    }
    if (before.value("model", "") == state_["model"] &&
        before.value("precision", "") == state_["precision"] &&
        before.value("cores", 0) == cores_) {
      state_["points"] = before["points"];
    }
    return ok_status();
  }

  // Best and default once more, in one interleaved run of their own.
  Status compare(TuneResult* result) {
    const TuneSetting& usual = result->candidates[0].setting;
    const TuneSetting& best = result->candidates[result->best].setting;
    const bool same = result->best == 0;
    DFSIM_ASSIGN_OR_RETURN(
        const std::vector<Timing> times,
        measure(same ? std::vector{usual} : std::vector{usual, best}, 8, 3 * options_.seconds));
    result->default_time = times.front();
    result->best_time = times.back();
    result->ratio = per_sample(times.front(), usual) / per_sample(times.back(), best);
    result->runtime_version = version_;
    return ok_status();
  }

  // Measured times under the roofs of their settings.
  void explain(TuneResult* result) const {
    RooflineSource source;
    source.model = options_.model;
    const bool sized = !options_.batches.empty() || options_.model.batch > 0;
    source.model.batch = sized ? result->candidates[result->best].setting.batch : 0;
    source.hardware = hardware_;
    result->lines =
        tune_lines(source, result->candidates, result->best, result->default_time.median_ms);
  }

  const TuneOptions& options_;
  const Progress& progress_;
  int cores_ = 1;
  std::vector<int64_t> batches_;
  std::string hardware_;
  std::string helper_;
  std::string python_;
  std::string version_;
  Json state_;
  std::map<std::pair<int64_t, int>, std::unique_ptr<LoadedModel>> models_;
};

}  // namespace

StatusOr<TuneResult> tune_on_host(const TuneOptions& options, const Progress& progress) {
  return Tuner(options, progress).run();
}

}  // namespace dfsim::inline study
