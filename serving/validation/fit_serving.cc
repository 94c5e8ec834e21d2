// Coordinate descent: each parameter in turn is moved up and down by its step and kept where the
// mean loss over the rows is least; steps halve from round to round. Slow and safe: a dozen
// parameters, a few hundred evaluations, no derivative of a simulation.
#include "serving/validation/fit_serving.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "serving/deployment_checks.h"

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
      const double log_scale = parameter.is_scale ? std::log(parameter.of(profile)) : 0;
      sum += log_scale * log_scale;
    }
    return options.ridge * sum;
  }
};

bool is_left_out(const MeasuredRun& run, const ServingFitOptions& options) {
  return !options.leave_out.empty() && run.model.find(options.leave_out) != std::string::npos;
}

// The value that 80 % of the residuals do not exceed.
double eighty_percent(std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  const double rank = 0.8 * static_cast<double>(residuals.size() + 1);
  const size_t index = std::min(residuals.size(), static_cast<size_t>(std::ceil(rank))) - 1;
  return residuals[index];
}

// Moves each parameter up and down as long as that helps, with steps that halve from round to
// round.
Status descend(FitRun& run, FrameworkProfile* profile, double* loss) {
  double scale = 1;
  for (int round = 0; round < run.options.rounds; ++round, scale /= 2) {
    for (const FitParameter& parameter : fit_parameters()) {
      for (const double direction : {1.0, -1.0}) {
        bool better = true;
        while (better) {
          FrameworkProfile trial = *profile;
          double& value = parameter.of(trial);
          value =
              std::clamp(value + direction * scale * parameter.step, parameter.low, parameter.high);
          if (value == parameter.of(*profile)) {
            break;
          }
          DFSIM_ASSIGN_OR_RETURN(const double trial_loss, run.loss(trial));
          better = trial_loss < *loss - 1e-5;
          if (better) {
            *loss = trial_loss;
            *profile = trial;
          }
        }
      }
    }
  }
  return ok_status();
}

struct Residuals {
  std::vector<double> ttft;
  std::vector<double> tpot;
};

Status add_residuals(FitRun& run, const FrameworkProfile& profile, Residuals* residuals) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<RunPrediction> rows, run.predict(profile));
  for (const RunPrediction& row : rows) {
    if (row.failure.empty()) {
      residuals->ttft.push_back(std::abs(std::log(row.ttft_ms.value / row.run.ttft_ms)));
      residuals->tpot.push_back(std::abs(std::log(row.tpot_ms.value / row.run.tpot_ms)));
    }
  }
  return residuals->ttft.empty()
             ? failed("fit: no row could be predicted; the first one: " + rows.front().failure)
             : ok_status();
}

// A profile that has learnt nothing: kernels cost what they cost alone, and the host no time.
FrameworkProfile unfitted(FrameworkProfile profile) {
  for (const FitParameter& parameter : fit_parameters()) {
    if (parameter.profile == nullptr) {
      parameter.of(profile) = parameter.is_scale ? 1 : parameter.low;
    }
  }
  return profile;
}

// The residuals of rows fitted on are too small for an interval. Each configuration's residuals
// come from a fit on the other half of the configurations. That fit must not start from a profile
// that all of them shaped: the descent would stay near it, and the residuals as small as before.
Status fit_errors(const FitRun& all, FrameworkProfile* profile, int64_t* evaluations) {
  std::vector<MeasuredRun> folds[2];
  std::map<std::string, size_t> fold_of;
  for (const MeasuredRun& run : all.runs) {
    MeasuredRun key = run;
    key.users = 0;
    key.version.clear();
    const size_t fold = fold_of.emplace(key.configuration(), fold_of.size() % 2).first->second;
    folds[fold].push_back(run);
  }
  Residuals residuals;
  for (size_t held_out = 0; held_out < 2; ++held_out) {
    FrameworkProfile fitted = *profile;
    if (!folds[1 - held_out].empty()) {
      FitRun others = {folds[1 - held_out], all.models, all.options, all.progress};
      fitted = unfitted(*profile);
      DFSIM_ASSIGN_OR_RETURN(double loss, others.loss(fitted));
      DFSIM_RETURN_IF_ERROR(descend(others, &fitted, &loss));
      *evaluations += others.evaluations;
    }
    if (!folds[held_out].empty()) {
      FitRun own = {folds[held_out], all.models, all.options, all.progress};
      DFSIM_RETURN_IF_ERROR(add_residuals(own, fitted, &residuals));
    }
  }
  profile->errors = {eighty_percent(std::move(residuals.ttft)),
                     eighty_percent(std::move(residuals.tpot))};
  return ok_status();
}

}  // namespace

const std::vector<FitParameter>& fit_parameters() {
  using R = ServingRuntime;
  using F = FrontendModel;
  static const std::vector<FitParameter> kParameters = {
      {"step_us", &R::step_us, nullptr, nullptr, 0, 20000, 800},
      {"per_sequence_us", &R::per_sequence_us, nullptr, nullptr, 0, 300, 15},
      {"per_token_us", &R::per_token_us, nullptr, nullptr, 0, 4, 0.3},
      {"eager_kernel_us", &R::eager_kernel_us, nullptr, nullptr, 0, 30, 3},
      {"kernel_gap_us", &R::kernel_gap_us, nullptr, nullptr, 0, 10, 0.8},
      {"gemm_scale", &R::gemm_scale, nullptr, nullptr, 0.7, 1.6, 0.08, true},
      {"gemm_prefill_scale", &R::gemm_prefill_scale, nullptr, nullptr, 0.7, 1.6, 0.08, true},
      {"gemm_8bit_scale", &R::gemm_8bit_scale, nullptr, nullptr, 0.7, 1.6, 0.08, true},
      {"prefill_attention_scale", &R::prefill_attention_scale, nullptr, nullptr, 0.5, 2, 0.15,
       true},
      {"decode_attention_scale", &R::decode_attention_scale, nullptr, nullptr, 0.5, 2, 0.15, true},
      {"moe_scale", &R::moe_scale, nullptr, nullptr, 0.5, 2, 0.12, true},
      {"moe_prefill_scale", &R::moe_prefill_scale, nullptr, nullptr, 0.5, 4, 0.4, true},
      {"quantize_scale", &R::quantize_scale, nullptr, nullptr, 0, 1.5, 0.25},
      {"comm_scale", &R::comm_scale, nullptr, nullptr, 0.3, 4, 0.3, true},
      {"latency_us", nullptr, &F::latency_us, nullptr, 0, 100000, 6000},
      {"request_us", nullptr, &F::request_us, nullptr, 0, 50000, 1500},
      {"prompt_token_us", nullptr, &F::prompt_token_us, nullptr, 0, 20, 0.8},
      {"output_token_us", nullptr, &F::output_token_us, nullptr, 0, 300, 20},
      {"memory_share", nullptr, nullptr, &FrameworkProfile::memory_share, 0.7, 0.95, 0.02},
  };
  return kParameters;
}

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
  fit.loss_after = fit.loss_before;
  DFSIM_RETURN_IF_ERROR(descend(run, &fit.profile, &fit.loss_after));
  fit.evaluations = run.evaluations;
  DFSIM_RETURN_IF_ERROR(fit_errors(run, &fit.profile, &fit.evaluations));
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
  if (!options.leave_out.empty()) {
    report.errors.push_back(summarize_errors("rows left out", left_out));
  }
  return report;
}

}  // namespace dfsim::inline serving
