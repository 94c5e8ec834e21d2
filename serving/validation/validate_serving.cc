// One simulation per measured deployment, spread over threads; errors are summarised by group.
// Halving by a hash of model, framework, system, widths and lengths (not users) keeps rows that are
// nearly the same measurement on one side.
#include "serving/validation/validate_serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/cancellation.h"
#include "base/text.h"
#include "datasets/profiles/statistics.h"
#include "graphs/llm/llm_config_reader.h"
#include "serving/deployment_checks.h"
#include "serving/llm_memory.h"
#include "serving/validation/benchmark_client.h"
#include "serving/validation/fit_parameters.h"

namespace dfsim::inline serving {
namespace {

constexpr double kContradictionFactor = 1.25;

uint64_t text_hash(const std::string& text) {  // FNV-1a
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3ULL;
  }
  return hash ^ (hash >> 32);
}

StatusOr<ServeResult> simulate_run(const MeasuredRun& run, const LlmConfig& model,
                                   const FrameworkProfiles& profiles) {
  DFSIM_ASSIGN_OR_RETURN(const LlmDeployment deployment, deployment_of(run, model));
  const FrameworkProfile& profile = profiles.at(deployment.framework);
  ServeSetup setup = setup_of(run);
  setup.engine.frontend = profile.frontend;
  setup.engine.frontend.latency_us += client_of(run).latency_us;
  setup.errors = errors_for(profile, model);
  setup.gpus_per_replica = deployment.parallelism.gpus();
  setup.stages = deployment.parallelism.pp;
  setup.ranks = deployment.parallelism.dp;
  LlmMemoryOptions memory;
  memory.utilization = profile.memory_share;
  memory.sequence_tokens = run.isl + run.osl;
  if (setup.engine.limits.max_tokens > 0) {
    memory.max_step_tokens = setup.engine.limits.max_tokens;
  }
  DFSIM_ASSIGN_OR_RETURN(const LlmMemory room, llm_memory(deployment, memory));
  setup.cache_tokens = room.cache_tokens;
  const int64_t sequences =
      setup.engine.limits.max_sequences > 0 ? setup.engine.limits.max_sequences : run.users;
  DFSIM_ASSIGN_OR_RETURN(
      const std::unique_ptr<StepCostModel> costs,
      make_step_cost_model(deployment, runtime_for(profile, std::max(sequences, run.users))));
  setup.costs = costs.get();
  return simulate_serving(setup);
}

// Groups in a fixed order: by kind, then by value.
std::map<std::string, std::vector<RunPrediction>> grouped(const std::vector<RunPrediction>& rows) {
  std::map<std::string, std::vector<RunPrediction>> groups;
  for (const RunPrediction& row : rows) {
    const MeasuredRun& run = row.run;
    groups[row.fit_half ? "half fitted on" : "half held out"].push_back(row);
    groups["model " + run.model].push_back(row);
    groups["framework " + run.framework].push_back(row);
    groups["both " + base_model_name(run.model) + " " + run.framework].push_back(row);
    groups[fmt::format("tp {:4}", run.tp)].push_back(row);
    groups[fmt::format("users {:4}", run.users)].push_back(row);
    if (!row.contradicted) {
      groups["without contradicted rows"].push_back(row);
    }
  }
  return groups;
}

}  // namespace

bool in_fit_half(const MeasuredRun& run) {
  MeasuredRun key = run;
  key.users = 0;
  key.version.clear();
  return text_hash(key.configuration()) % 2 == 0;
}

double RunPrediction::ttft_error() const { return ttft_ms.value / run.ttft_ms - 1; }
double RunPrediction::tpot_error() const { return tpot_ms.value / run.tpot_ms - 1; }
double RunPrediction::e2e_error() const {
  const auto rest = static_cast<double>(run.osl - 1);
  return (ttft_ms.value + rest * tpot_ms.value) / (run.ttft_ms + rest * run.tpot_ms) - 1;
}
bool RunPrediction::ttft_inside() const {
  return run.ttft_ms >= ttft_ms.low && run.ttft_ms <= ttft_ms.high;
}
bool RunPrediction::tpot_inside() const {
  return run.tpot_ms >= tpot_ms.low && run.tpot_ms <= tpot_ms.high;
}

ErrorSummary summarize_errors(const std::string& group, const std::vector<RunPrediction>& rows) {
  ErrorSummary summary;
  summary.group = group;
  std::vector<double> ttft;
  std::vector<double> tpot;
  std::vector<double> e2e;
  for (const RunPrediction& row : rows) {
    if (!row.failure.empty()) {
      continue;
    }
    e2e.push_back(std::abs(row.e2e_error()));
    summary.e2e_mean += e2e.back();
    summary.e2e_bias += row.e2e_error();
    ttft.push_back(std::abs(row.ttft_error()));
    tpot.push_back(std::abs(row.tpot_error()));
    summary.ttft_mean += ttft.back();
    summary.tpot_mean += tpot.back();
    summary.ttft_bias += row.ttft_error();
    summary.tpot_bias += row.tpot_error();
    summary.ttft_inside += row.ttft_inside() ? 1 : 0;
    summary.tpot_inside += row.tpot_inside() ? 1 : 0;
  }
  summary.rows = static_cast<int64_t>(ttft.size());
  if (ttft.empty()) {
    return summary;  // no row of the group could be simulated
  }
  const auto count = static_cast<double>(ttft.size());
  for (double* value :
       {&summary.ttft_mean, &summary.tpot_mean, &summary.ttft_bias, &summary.tpot_bias,
        &summary.ttft_inside, &summary.tpot_inside, &summary.e2e_mean, &summary.e2e_bias}) {
    *value /= count;
  }
  summary.ttft_median = median(ttft);
  summary.tpot_median = median(tpot);
  summary.e2e_median = median(e2e);
  return summary;
}

StatusOr<std::map<std::string, LlmConfig>> read_model_folder(const std::string& path,
                                                             const std::vector<MeasuredRun>& runs) {
  std::error_code error;
  std::map<std::string, std::string> files;  // by base name, in order of path: reproducible
  std::set<std::filesystem::path> entries;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    entries.insert(it->path());
  }
  if (error) {
    return not_found(path + ": " + error.message() +
                     ", expected a folder of models' config.json files");
  }
  for (const std::filesystem::path& entry : entries) {
    std::string name = entry.filename().string();
    for (const char* suffix : {".json", "_config"}) {
      if (name.ends_with(suffix)) {
        name.resize(name.size() - std::string(suffix).size());
      }
    }
    if (const size_t organisation = name.find("--"); organisation != std::string::npos) {
      name = name.substr(organisation + 2);
    }
    files.emplace(base_model_name(name), entry.string());
  }
  std::map<std::string, LlmConfig> models;
  for (const MeasuredRun& run : runs) {
    if (models.contains(run.model)) {
      continue;
    }
    const auto file = files.find(base_model_name(run.model));
    if (file == files.end()) {
      std::vector<std::string> names;
      for (const auto& [name, place] : files) {
        names.push_back(name);
      }
      return not_found(path + ": no config.json of " + run.model + ", found " + join(names, ", "));
    }
    DFSIM_ASSIGN_OR_RETURN(models[run.model], read_llm_config(file->second));
  }
  return models;
}

StatusOr<std::vector<RunPrediction>> predict_runs(const std::vector<MeasuredRun>& runs,
                                                  const std::map<std::string, LlmConfig>& models,
                                                  const FrameworkProfiles& profiles, int threads,
                                                  const ServerProgress& progress) {
  std::vector<RunPrediction> rows(runs.size());
  std::atomic<size_t> next = 0;
  std::atomic<bool> cancelled = false;
  std::mutex progress_mutex;
  int64_t done = 0;
  const auto work = [&] {
    for (size_t i = next++; i < runs.size() && !cancelled; i = next++) {
      RunPrediction& row = rows[i];
      row.run = runs[i];
      row.client = client_of(runs[i]).name;
      row.fit_half = in_fit_half(runs[i]);
      const StatusOr<ServeResult> result =
          simulate_run(runs[i], models.at(runs[i].model), profiles);
      if (result.ok()) {
        row.ttft_ms = result->ttft.mean_ms;
        row.tpot_ms = result->tpot.mean_ms;
        row.cache_share = result->peak_cache_share;
      } else {
        row.failure = result.status().message();
      }
      const std::lock_guard lock(progress_mutex);
      cancelled = cancelled || (progress && !progress(++done, static_cast<int64_t>(runs.size())));
    }
  };
  const size_t count = threads > 0 ? static_cast<size_t>(threads)
                                   : std::max(1U, std::thread::hardware_concurrency());
  run_on_threads(std::min(count, runs.size()), work);
  if (cancelled) {
    return failed("validation: cancelled");
  }
  return rows;
}

std::vector<Contradiction> find_unrecorded_limits(const std::vector<RunPrediction>& rows) {
  constexpr double kMostCacheShare = 0.5;  // leaves room for errors of the simulated memory
  std::vector<Contradiction> found;
  for (size_t i = 0; i < rows.size(); ++i) {
    const MeasuredRun& run = rows[i].run;
    const auto users = static_cast<double>(run.users);
    // Half running is a wait as long as the decoding.
    if (rows[i].failure.empty() && run.mean_running() <= users / 2 &&
        rows[i].cache_share <= kMostCacheShare) {
      found.push_back({i, i,
                       fmt::format("{:.0f} of {} users run at a time though the cache is {:.0f} % "
                                   "full; the row does not record what held the others back",
                                   run.mean_running(), run.users, 100 * rows[i].cache_share)});
    }
  }
  return found;
}

StatusOr<ServingValidation> validate_serving(const ServingValidationOptions& options,
                                             const ServerProgress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<MeasuredRun> all, read_measured_runs(options.runs_path));
  std::vector<MeasuredRun> runs;
  for (const MeasuredRun& run : all) {
    const bool half =
        options.half == RunHalf::kAll || (options.half == RunHalf::kFit) == in_fit_half(run);
    if (half && (options.framework.empty() || options.framework == run.framework)) {
      runs.push_back(run);
    }
  }
  if (runs.empty()) {
    return invalid_input(options.runs_path + ": no rows of framework '" + options.framework +
                         "', expected vllm, trtllm or sglang");
  }
  DFSIM_ASSIGN_OR_RETURN(const auto models, read_model_folder(options.models_path, runs));
  FrameworkProfiles profiles;
  for (const LlmFramework framework :
       {LlmFramework::kVllm, LlmFramework::kTrtllm, LlmFramework::kSglang}) {
    profiles[framework] = framework_profile(framework);
    if (!options.parameters.empty()) {
      DFSIM_RETURN_IF_ERROR(set_parameters(options.parameters, &profiles[framework]));
    }
  }
  ServingValidation result;
  DFSIM_ASSIGN_OR_RETURN(result.rows,
                         predict_runs(runs, models, profiles, options.threads, progress));
  result.contradictions = find_contradictions(runs, kContradictionFactor);
  for (Contradiction& limit : find_unrecorded_limits(result.rows)) {
    result.contradictions.push_back(std::move(limit));
  }
  for (const Contradiction& contradiction : result.contradictions) {
    result.rows[contradiction.first].contradicted = true;
    result.rows[contradiction.second].contradicted = true;
  }
  for (const RunPrediction& row : result.rows) {
    result.failed += row.failure.empty() ? 0 : 1;
  }
  result.groups.push_back(summarize_errors("all", result.rows));
  for (const auto& [group, rows] : grouped(result.rows)) {
    result.groups.push_back(summarize_errors(group, rows));
  }
  return result;
}

}  // namespace dfsim::inline serving
