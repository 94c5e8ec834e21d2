// Fits the named parameters of a framework's runtime and front end to measured deployments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/validation/fit_parameters.h"
#include "serving/validation/validate_serving.h"

namespace dfsim::inline serving {

struct ServingFitOptions {
  int rounds = 3;  // steps halve after each
  int threads = 0;
  // A row's loss is r(|ln TPOT ratio|) + ttft_weight r(|ln TTFT ratio|) with r(x) = cap (1 -
  // exp(-x / cap)): a row that contradicts the others must not pull the fit.
  double ttft_weight = 0.5;
  double cap = 0.6;
  // Times the sum over all parameters of ((value - prior) / spread)^2, added to the mean loss:
  // where the rows do not decide, the prior does.
  double ridge = 0.001;
  // Rows with this in the name of their model, framework and version, or system are not fitted on;
  // "": none.
  std::string leave_out;
  // Where the descent starts (set_parameters()), besides the framework's profile.
  std::string start;
};

struct ServingFit {
  FrameworkProfile profile;
  FrameworkProfile before;
  double loss_before = 0;
  double loss_after = 0;
  int64_t rows = 0;
  int64_t evaluations = 0;
  // Every row, predicted by a fit on the rows of the other models.
  std::vector<RunPrediction> other_models;
};

// Coordinate descent on the fit half of `runs` (rows of `framework` only; the others are not looked
// at). The intervals' half-widths become the 80 % quantiles of the residuals of rows that a fit on
// the other half of the configurations did not see. Errors: no rows.
StatusOr<ServingFit> fit_framework(LlmFramework framework, const std::vector<MeasuredRun>& runs,
                                   const std::map<std::string, LlmConfig>& models,
                                   const ServingFitOptions& options,
                                   const ServerProgress& progress = {});

// The fits of all frameworks that `runs` has rows of, and the errors of the fit half's rows with
// them: of those fitted on, and of those left out. The other half is not simulated.
struct ServingFitReport {
  std::vector<ServingFit> fits;
  // "rows fitted on", "fits without MODEL" (its rows), "rows left out"
  std::vector<ErrorSummary> errors;
};

// `validation.framework` limits the fit to one framework; its half is ignored. Errors: those of the
// readers and of fit_framework(); kFailed when cancelled.
StatusOr<ServingFitReport> fit_serving(const ServingValidationOptions& validation,
                                       const ServingFitOptions& options,
                                       const ServerProgress& progress = {});

}  // namespace dfsim::inline serving
