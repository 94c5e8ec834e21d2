// Fits the named parameters of a framework's runtime and front end to measured deployments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/validation/validate_serving.h"

namespace dfsim::inline serving {

// One number of a FrameworkProfile, by name: what may be fitted, and how far it may go.
struct FitParameter {
  std::string name;
  double ServingRuntime::*runtime = nullptr;  // exactly one of the two is set
  double FrontendModel::*frontend = nullptr;
  double low = 0;
  double high = 1;
  double step = 0.1;  // of the first round

  double& of(FrameworkProfile& profile) const {
    return runtime != nullptr ? profile.runtime.*runtime : profile.frontend.*frontend;
  }
};
const std::vector<FitParameter>& fit_parameters();

struct ServingFitOptions {
  int rounds = 4;  // steps halve after each
  int threads = 0;
  // A row's loss is |ln TPOT ratio| + ttft_weight |ln TTFT ratio|, each cut at `cap`: a row that
  // contradicts the others must not pull the fit.
  double ttft_weight = 0.5;
  double cap = 0.6;
};

struct ServingFit {
  FrameworkProfile profile;
  double loss_before = 0;
  double loss_after = 0;
  int64_t rows = 0;
  int64_t evaluations = 0;
};

// Coordinate descent on the fit half of `runs` (rows of `framework` only; the others are not looked
// at). The intervals' half-widths become the 80 % quantiles of the residuals. Errors: no rows.
StatusOr<ServingFit> fit_framework(LlmFramework framework, const std::vector<MeasuredRun>& runs,
                                   const std::map<std::string, LlmConfig>& models,
                                   const ServingFitOptions& options,
                                   const ServerProgress& progress = {});

}  // namespace dfsim::inline serving
