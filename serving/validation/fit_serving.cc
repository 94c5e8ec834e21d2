// Coordinate descent: each parameter in turn is moved up and down by its step and kept where the
// mean loss over the rows is least; steps halve from round to round. Slow and safe: a dozen
// parameters, a few hundred evaluations, no derivative of a simulation.
#include "serving/validation/fit_serving.h"

#include <algorithm>
#include <cmath>

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
    if (progress && !progress(evaluations)) {
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
      sum += std::min(options.cap, tpot) + options.ttft_weight * std::min(options.cap, ttft);
    }
    return sum / static_cast<double>(rows.size());
  }
};

// The value that 80 % of the residuals do not exceed.
double eighty_percent(std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  const double rank = 0.8 * static_cast<double>(residuals.size() + 1);
  const size_t index = std::min(residuals.size(), static_cast<size_t>(std::ceil(rank))) - 1;
  return residuals[index];
}

Status fit_errors(FitRun& run, FrameworkProfile* profile) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<RunPrediction> rows, run.predict(*profile));
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
  profile->errors = {eighty_percent(std::move(ttft)), eighty_percent(std::move(tpot))};
  return ok_status();
}

}  // namespace

const std::vector<FitParameter>& fit_parameters() {
  using R = ServingRuntime;
  using F = FrontendModel;
  static const std::vector<FitParameter> kParameters = {
      {"step_us", &R::step_us, nullptr, 0, 20000, 800},
      {"per_sequence_us", &R::per_sequence_us, nullptr, 0, 300, 15},
      {"per_token_us", &R::per_token_us, nullptr, 0, 2, 0.3},
      {"eager_kernel_us", &R::eager_kernel_us, nullptr, 0, 30, 3},
      {"kernel_gap_us", &R::kernel_gap_us, nullptr, 0, 10, 0.8},
      {"gemm_scale", &R::gemm_scale, nullptr, 0.7, 1.6, 0.08},
      {"gemm_8bit_scale", &R::gemm_8bit_scale, nullptr, 0.7, 1.6, 0.08},
      {"prefill_attention_scale", &R::prefill_attention_scale, nullptr, 0.5, 2, 0.15},
      {"decode_attention_scale", &R::decode_attention_scale, nullptr, 0.5, 2, 0.15},
      {"moe_scale", &R::moe_scale, nullptr, 0.5, 2, 0.12},
      {"moe_prefill_scale", &R::moe_prefill_scale, nullptr, 0.5, 4, 0.4},
      {"comm_scale", &R::comm_scale, nullptr, 0.3, 4, 0.3},
      {"latency_us", nullptr, &F::latency_us, 0, 100000, 6000},
      {"request_us", nullptr, &F::request_us, 0, 50000, 1500},
      {"prompt_token_us", nullptr, &F::prompt_token_us, 0, 20, 0.8},
      {"output_token_us", nullptr, &F::output_token_us, 0, 300, 20},
  };
  return kParameters;
}

StatusOr<ServingFit> fit_framework(LlmFramework framework, const std::vector<MeasuredRun>& runs,
                                   const std::map<std::string, LlmConfig>& models,
                                   const ServingFitOptions& options,
                                   const ServerProgress& progress) {
  std::vector<MeasuredRun> own;
  for (const MeasuredRun& run : runs) {
    if (in_fit_half(run) && run.framework == framework_name(framework)) {
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
  DFSIM_ASSIGN_OR_RETURN(fit.loss_before, run.loss(fit.profile));
  fit.loss_after = fit.loss_before;
  double scale = 1;
  for (int round = 0; round < options.rounds; ++round, scale /= 2) {
    for (const FitParameter& parameter : fit_parameters()) {
      for (const double direction : {1.0, -1.0}) {
        bool better = true;
        while (better) {  // as long as this direction helps
          FrameworkProfile trial = fit.profile;
          double& value = parameter.of(trial);
          value =
              std::clamp(value + direction * scale * parameter.step, parameter.low, parameter.high);
          if (value == parameter.of(fit.profile)) {
            break;
          }
          DFSIM_ASSIGN_OR_RETURN(const double loss, run.loss(trial));
          better = loss < fit.loss_after - 1e-5;
          if (better) {
            fit.loss_after = loss;
            fit.profile = trial;
          }
        }
      }
    }
  }
  DFSIM_RETURN_IF_ERROR(fit_errors(run, &fit.profile));
  fit.evaluations = run.evaluations;
  return fit;
}

}  // namespace dfsim::inline serving
