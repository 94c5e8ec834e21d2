// predict(): the chain of study/chain/model_run.h once, with the modes next to the single run.
#include "study/prediction/predict.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "opmodel/cached_model.h"
#include "opmodel/model/model_loader.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"
#include "study/chain/precision_choice.h"
#include "study/prediction/copy_log.h"
#include "study/prediction/explain.h"
#include "study/prediction/fit_advice.h"
#include "study/prediction/memory_log.h"
#include "study/prediction/setting_advice.h"

namespace dfsim::inline study {
namespace {

constexpr double kWorthChanging = 0.95;  // of the latency: gains of less are not worth a word

// The pipeline of requests that was asked for, or none.
StatusOr<std::optional<RequestOptions>> pipeline_of(const PredictOptions& options) {
  if (options.requests == 0) {
    return std::optional<RequestOptions>();
  }
  RequestOptions pipeline = options.pipeline;
  pipeline.requests = options.requests;
  pipeline.seed = options.seed;
  if (pipeline.requests_per_s != 0) {
    const std::vector<std::string> names = {"uniform", "poisson"};
    if (std::ranges::find(names, options.arrivals) == names.end()) {
      return invalid_input(unknown_name_message("kind of arrivals", options.arrivals, names));
    }
    pipeline.arrivals =
        options.arrivals == "uniform" ? ArrivalKind::kUniform : ArrivalKind::kPoisson;
  }
  return std::optional<RequestOptions>(pipeline);
}

// The modes next to the single run.
Status add_modes(const PredictOptions& options, const ModelRun& run, const Progress& progress,
                 Prediction* prediction) {
  DFSIM_ASSIGN_OR_RETURN(prediction->request_options, pipeline_of(options));
  if (prediction->request_options.has_value()) {
    DFSIM_RETURN_IF_ERROR(
        progress.stage("simulating " + std::to_string(options.requests) + " requests"));
    DFSIM_ASSIGN_OR_RETURN(prediction->requests,
                           run.simulate_requests(*prediction->request_options, progress));
  }
  if (options.repeat > 0) {
    DFSIM_RETURN_IF_ERROR(progress.stage("simulating " + std::to_string(options.repeat) + " runs"));
    DFSIM_ASSIGN_OR_RETURN(prediction->repetition,
                           run.simulate_repeatedly(options.repeat, progress));
  }
  return ok_status();
}

// One run with everything that the report says about it.
StatusOr<Prediction> simulate_once(const LoadedModel& model, const Platform& platform,
                                   std::string_view cost_model, const ModelRun& run,
                                   RunRecorder* recorder, const Progress& progress) {
  MemoryLog memory(platform, recorder == nullptr ? nullptr : recorder->listener());
  CopyLog copies(platform, &memory);
  DispatchLog dispatches(&copies);
  DFSIM_ASSIGN_OR_RETURN(const SimulatedModel simulated, run.simulate(&dispatches));
  const PredictionInput input = {model,           platform,         cost_model,
                                 run.costs(),     run.tasks(),      simulated,
                                 copies.copies(), memory.devices(), dispatches.dispatches()};
  DFSIM_ASSIGN_OR_RETURN(Prediction prediction, make_prediction(input));
  explain(input, prediction, progress);
  return prediction;
}

// A host that launches operators one by one is worth one more simulation: the same import as one
// graph that the host launches once. `costs` remembers what the operators cost.
Status add_change(const PredictOptions& options, const ImportedModel& imported,
                  const CostModel& costs, Prediction* prediction) {
  if (!options.verdict_change || prediction->verdict.limit != Limit::kHost ||
      prediction->device_type != DeviceType::kGpu || !prediction->unknown.complete() ||
      prediction->runtime.starts_with("cuda-graph")) {
    return ok_status();
  }
  const auto machine = load_machine(options.hardware, "cuda-graph", options.model.precision);
  if (!machine.ok()) {
    return ok_status();  // the machine has no such graphs
  }
  const Platform& platform = *machine;
  const auto model = load_imported(imported, options.model, options.training, platform);
  if (!model.ok()) {
    return ok_status();  // that runtime cannot run it, so there is no such change
  }
  DFSIM_ASSIGN_OR_RETURN(
      const ModelRun run,
      ModelRun::prepare(*model, platform, costs, {options.policy, options.seed, options.policies}));
  DFSIM_ASSIGN_OR_RETURN(const SimulatedModel simulated, run.simulate());
  DFSIM_ASSIGN_OR_RETURN(
      const Prediction changed,
      make_prediction({*model, platform, costs.name(), run.costs(), run.tasks(), simulated}));
  if (static_cast<double>(changed.latency_ns) <
      kWorthChanging * static_cast<double>(prediction->latency_ns)) {
    prediction->verdict.change = Verdict::Change{"CUDA graphs", "--runtime cuda-graph",
                                                 changed.latency_ns, changed.bound_only_share};
  }
  return ok_status();
}

// `given`: a cost model instead of the one that the options name, or null.
StatusOr<Prediction> predict_costed(const PredictOptions& options, const CostModel* given,
                                    const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(progress.stage("importing " + options.model.path));
  DFSIM_ASSIGN_OR_RETURN(
      const Platform platform,
      load_machine(options.hardware, runtime_for(options.model.path, options.runtime),
                   options.model.precision));
  DFSIM_RETURN_IF_ERROR(options.training.options().status());
  DFSIM_RETURN_IF_ERROR(check_trains(options.training, platform));
  DFSIM_RETURN_IF_ERROR(resolve_precision(options.model.precision, platform).status());
  DFSIM_ASSIGN_OR_RETURN(const ImportedModel imported, import_model(options.model));
  DFSIM_ASSIGN_OR_RETURN(const LoadedModel model,
                         load_imported(imported, options.model, options.training, platform));
  DFSIM_RETURN_IF_ERROR(progress.stage("costing " + std::to_string(model.workload.rows.size()) +
                                       " distinct operators"));
  std::unique_ptr<CostModel> loaded;
  if (given == nullptr) {
    DFSIM_ASSIGN_OR_RETURN(loaded, load_cost_model_for(platform, options.cost_model));
  }
  const std::unique_ptr<CostModel> cached = make_cached_model(given == nullptr ? *loaded : *given);
  const CostModel& cost_model = *cached;
  DFSIM_ASSIGN_OR_RETURN(const ModelRun run,
                         ModelRun::prepare(model, platform, cost_model,
                                           {options.policy, options.seed, options.policies}));
  std::unique_ptr<RunRecorder> recorder;
  if (options.record) {
    DFSIM_ASSIGN_OR_RETURN(recorder, options.record(run.subject()));
  }
  DFSIM_RETURN_IF_ERROR(
      progress.stage("simulating " + std::to_string(run.tasks().task_count()) + " tasks"));
  DFSIM_ASSIGN_OR_RETURN(Prediction prediction, simulate_once(model, platform, cost_model.name(),
                                                              run, recorder.get(), progress));
  DFSIM_RETURN_IF_ERROR(add_change(options, imported, cost_model, &prediction));
  DFSIM_RETURN_IF_ERROR(add_modes(options, run, progress, &prediction));
  if (recorder != nullptr) {
    DFSIM_RETURN_IF_ERROR(recorder->close());
  }
  const auto predict_quietly = [given](const PredictOptions& changed) {
    return predict_costed(changed, given, {});
  };
  if (options.fit_advice && !prediction.fits()) {
    DFSIM_RETURN_IF_ERROR(advise_fit(options, predict_quietly, progress, &prediction));
  }
  if (options.advice && !model.unknown.complete()) {
    prediction.notes.emplace_back("no advice: the work of a part of the model is not known");
  } else if (options.advice) {
    DFSIM_ASSIGN_OR_RETURN(const RepeatResult interval, run.simulate_repeatedly(kAdviceRuns));
    DFSIM_RETURN_IF_ERROR(
        advise_settings(options, interval, predict_quietly, progress, &prediction));
  }
  return prediction;
}

}  // namespace

StatusOr<Prediction> predict(const PredictOptions& options, const Progress& progress) {
  return predict_costed(options, nullptr, progress);
}

StatusOr<Prediction> predict_with_costs(const PredictOptions& options, const CostModel& cost_model,
                                        const Progress& progress) {
  return predict_costed(options, &cost_model, progress);
}

}  // namespace dfsim::inline study
