// Coordinate descent: each parameter in turn is moved up and down by a step and kept where the mean
// loss over the rows is least; steps halve from round to round. The descent starts from the prior,
// which also enters the loss, so parameters that the rows do not decide stay where it puts them.
#include "serving/validation/fit_serving.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "serving/deployment_checks.h"
#include "serving/validation/benchmark_client.h"

namespace dfsim::inline serving {
namespace {

struct FitRun {
  const std::vector<MeasuredRun>& runs;
  const std::map<std::string, LlmConfig>& models;
  const ServingFitOptions& options;
  const ServerProgress& progress;
  int64_t evaluations = 0;

  StatusOr<std::vector<RunPrediction>> predict(const FrameworkProfile& profile) {
    FrameworkProfiles profiles;
    profiles[profile.framework] = profile;
    ++evaluations;
    DFSIM_ASSIGN_OR_RETURN(std::vector<RunPrediction> rows,
                           predict_runs(runs, models, profiles, options.threads));
    if (progress && !progress(evaluations, 0)) {
      return failed("fit: cancelled");
    }
    return rows;
  }

  StatusOr<double> loss(const FrameworkProfile& profile) {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<RunPrediction> rows, predict(profile));
    double sum = 0;
    for (const RunPrediction& row : rows) {
      if (!row.failure.empty()) {
        sum += options.cap * (1 + options.ttft_weight);
        continue;
      }
      const double tpot = std::abs(std::log(row.tpot_ms.value / row.run.tpot_ms));
      const double ttft = std::abs(std::log(row.ttft_ms.value / row.run.ttft_ms));
      sum += robust(tpot) + options.ttft_weight * robust(ttft);
    }
    return sum / static_cast<double>(rows.size()) + penalty(profile);
  }

  // Grows like x near 0 and stays below the cap.
  double robust(double x) const { return options.cap * (1 - std::exp(-x / options.cap)); }
  double penalty(const FrameworkProfile& profile) const {
    double sum = 0;
    for (const FitParameter& parameter : fit_parameters()) {
      const double off = (parameter.of(profile) - parameter.prior) / parameter.spread;
      sum += off * off;
    }
    return options.ridge * sum;
  }
};

bool is_left_out(const MeasuredRun& run, const ServingFitOptions& options) {
  const std::string names = run.model + " " + run.framework + "-" + run.version + " " + run.system;
  return !options.leave_out.empty() && names.find(options.leave_out) != std::string::npos;
}

// The value that 80 % of the residuals do not exceed.
double eighty_percent(std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  const double rank = 0.8 * static_cast<double>(residuals.size() + 1);
  const size_t index = std::min(residuals.size(), static_cast<size_t>(std::ceil(rank))) - 1;
  return residuals[index];
}

// Moves each parameter up and down as long as that helps, with steps of its spread at first that
// halve from round to round. Slopes would need fewer simulations, but a closed loop is chaotic: a
// request that just misses a step shifts all that follow, and differences show that more than the
// parameter.
Status descend(FitRun& run, FrameworkProfile* profile, double* loss) {
  double scale = 1;
  for (int round = 0; round < run.options.rounds; ++round, scale /= 2) {
    for (const FitParameter& parameter : fit_parameters()) {
      for (const double direction : {1.0, -1.0}) {
        bool better = true;
        bool moved = false;
        while (better) {
          FrameworkProfile trial = *profile;
          double& value = parameter.of(trial);
          value = std::clamp(value + direction * scale * parameter.spread, parameter.low,
                             parameter.high);
          if (value == parameter.of(*profile)) {
            break;
          }
          DFSIM_ASSIGN_OR_RETURN(const double trial_loss, run.loss(trial));
          better = trial_loss < *loss - 1e-5;
          if (better) {
            *loss = trial_loss;
            *profile = trial;
            moved = true;
          }
        }
        if (moved) {
          break;  // what helped one way does not help the other
        }
      }
    }
  }
  return ok_status();
}

// The factors that 80 % of the rows' residuals do not exceed.
StatusOr<ServingErrors> errors_of(const std::vector<RunPrediction>& rows) {
  std::vector<double> ttft;
  std::vector<double> tpot;
  for (const RunPrediction& row : rows) {
    if (row.failure.empty()) {
      ttft.push_back(std::abs(std::log(row.ttft_ms.value / row.run.ttft_ms)));
      tpot.push_back(std::abs(std::log(row.tpot_ms.value / row.run.tpot_ms)));
    }
  }
  if (ttft.empty()) {
    return failed("fit: no row could be predicted; the first one: " + rows.front().failure);
  }
  return ServingErrors{eighty_percent(std::move(ttft)), eighty_percent(std::move(tpot))};
}

// A profile that has learnt nothing.
FrameworkProfile unfitted(FrameworkProfile profile) {
  for (const FitParameter& parameter : fit_parameters()) {
    parameter.of(profile) = parameter.prior;
  }
  return profile;
}

// Splits rows into folds by a name; each fold's rows are predicted by a fit on the other folds,
// which starts from the prior: one that started from a profile that all rows had shaped would stay
// near it, and its residuals would be too small.
StatusOr<std::vector<RunPrediction>> predict_folds(const FitRun& all,
                                                   const FrameworkProfile& profile,
                                                   const std::vector<std::string>& folds,
                                                   int64_t* evaluations) {
  std::vector<RunPrediction> predicted;
  for (const std::string& held_out : std::set<std::string>(folds.begin(), folds.end())) {
    std::vector<MeasuredRun> inside;
    std::vector<MeasuredRun> others;
    for (size_t i = 0; i < all.runs.size(); ++i) {
      (folds[i] == held_out ? inside : others).push_back(all.runs[i]);
    }
    FrameworkProfile fitted = unfitted(profile);
    if (!others.empty()) {
      FitRun rest = {others, all.models, all.options, all.progress};
      DFSIM_ASSIGN_OR_RETURN(double loss, rest.loss(fitted));
      DFSIM_RETURN_IF_ERROR(descend(rest, &fitted, &loss));
      *evaluations += rest.evaluations;
    }
    FitRun own = {inside, all.models, all.options, all.progress};
    DFSIM_ASSIGN_OR_RETURN(const std::vector<RunPrediction> rows, own.predict(fitted));
    predicted.insert(predicted.end(), rows.begin(), rows.end());
  }
  return predicted;
}

// The residuals of rows fitted on are too small for an interval. Those of known models come from
// fits on the other half of the configurations, those of other models from fits without the model.
Status fit_errors(const FitRun& all, ServingFit* fit) {
  std::vector<std::string> halves;
  std::vector<std::string> models;
  std::map<std::string, size_t> number_of;
  for (const MeasuredRun& run : all.runs) {
    MeasuredRun key = run;
    key.users = 0;
    key.version.clear();
    const size_t number = number_of.emplace(key.configuration(), number_of.size()).first->second;
    halves.push_back(number % 2 == 0 ? "even" : "odd");
    models.push_back(base_model_name(run.model));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::vector<RunPrediction> known,
                         predict_folds(all, fit->profile, halves, &fit->evaluations));
  DFSIM_ASSIGN_OR_RETURN(fit->profile.errors, errors_of(known));
  DFSIM_ASSIGN_OR_RETURN(fit->other_models,
                         predict_folds(all, fit->profile, models, &fit->evaluations));
  DFSIM_ASSIGN_OR_RETURN(fit->profile.foreign_errors, errors_of(fit->other_models));
  return ok_status();
}

}  // namespace

StatusOr<ServingFit> fit_framework(LlmFramework framework, const std::vector<MeasuredRun>& runs,
                                   const std::map<std::string, LlmConfig>& models,
                                   const ServingFitOptions& options,
                                   const ServerProgress& progress) {
  std::vector<MeasuredRun> own;
  for (const MeasuredRun& run : runs) {
    if (in_fit_half(run) && run.framework == framework_name(framework) &&
        !is_left_out(run, options)) {
      own.push_back(run);
    }
  }
  if (own.empty()) {
    return invalid_input("fit: no rows of " + framework_name(framework) +
                         " in the fit half, expected measured deployments");
  }
  FitRun run = {own, models, options, progress};
  ServingFit fit;
  fit.rows = static_cast<int64_t>(own.size());
  fit.profile = framework_profile(framework);
  fit.before = fit.profile;
  DFSIM_ASSIGN_OR_RETURN(fit.loss_before, run.loss(fit.profile));
  fit.profile = unfitted(fit.profile);
  if (!options.start.empty()) {
    DFSIM_RETURN_IF_ERROR(set_parameters(options.start, &fit.profile));
  }
  DFSIM_ASSIGN_OR_RETURN(fit.loss_after, run.loss(fit.profile));
  DFSIM_RETURN_IF_ERROR(descend(run, &fit.profile, &fit.loss_after));
  fit.evaluations = run.evaluations;
  DFSIM_RETURN_IF_ERROR(fit_errors(run, &fit));
  return fit;
}

StatusOr<ServingFitReport> fit_serving(const ServingValidationOptions& validation,
                                       const ServingFitOptions& options,
                                       const ServerProgress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<MeasuredRun> all,
                         read_measured_runs(validation.runs_path));
  std::vector<MeasuredRun> runs;
  std::set<LlmFramework> frameworks;
  for (const MeasuredRun& run : all) {
    if (in_fit_half(run) &&
        (validation.framework.empty() || validation.framework == run.framework)) {
      DFSIM_ASSIGN_OR_RETURN(const LlmFramework framework, framework_from_name(run.framework));
      frameworks.insert(framework);
      runs.push_back(run);
    }
  }
  if (runs.empty()) {
    return invalid_input(validation.runs_path + ": the fit half has no rows of framework '" +
                         validation.framework + "', expected vllm, trtllm or sglang");
  }
  DFSIM_ASSIGN_OR_RETURN(const auto models, read_model_folder(validation.models_path, runs));
  ServingFitReport report;
  FrameworkProfiles profiles;
  for (const LlmFramework framework : frameworks) {
    DFSIM_ASSIGN_OR_RETURN(ServingFit fit,
                           fit_framework(framework, runs, models, options, progress));
    profiles[framework] = fit.profile;
    report.fits.push_back(std::move(fit));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::vector<RunPrediction> rows,
                         predict_runs(runs, models, profiles, options.threads));
  std::vector<RunPrediction> fitted;
  std::vector<RunPrediction> left_out;
  for (const RunPrediction& row : rows) {
    (is_left_out(row.run, options) ? left_out : fitted).push_back(row);
  }
  report.errors.push_back(summarize_errors("rows fitted on", fitted));
  std::map<std::string, std::vector<RunPrediction>> without;
  for (const ServingFit& fit : report.fits) {
    for (const RunPrediction& row : fit.other_models) {
      without["fits without " + base_model_name(row.run.model)].push_back(row);
    }
  }
  for (const auto& [name, predicted] : without) {
    report.errors.push_back(summarize_errors(name, predicted));
  }
  if (!options.leave_out.empty()) {
    report.errors.push_back(summarize_errors("rows left out", left_out));
  }
  return report;
}

}  // namespace dfsim::inline serving
