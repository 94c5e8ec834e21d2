// Checks simulated servers against measured deployments, and fits the runtime's parameters on one
// half of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/serve.h"
#include "serving/serving_defaults.h"
#include "serving/validation/measured_runs.h"

namespace dfsim::inline serving {

// Rows are halved by a hash of their configuration without users and lengths' order: rows of one
// configuration, repeated measurements too, are in one half.
enum class RunHalf : uint8_t { kAll, kFit, kCheck };
bool in_fit_half(const MeasuredRun& run);

struct ServingValidationOptions {
  std::string runs_path;
  std::string models_path;  // folder of config.json files (ORG--NAME_config.json or ORG/NAME)
  RunHalf half = RunHalf::kAll;
  std::string framework;   // "": all
  int threads = 0;         // 0: as many as the machine has
  std::string parameters;  // in place of fitted ones, as for set_parameters()
};

struct RunPrediction {
  MeasuredRun run;
  std::string client;  // campaign
  bool fit_half = false;
  std::string failure;  // why there is no prediction; "" when there is
  Estimate ttft_ms, tpot_ms;
  double cache_share = 0;     // of the simulated cache, the most in use at a time
  bool contradicted = false;  // the measured figures contradict those of another row, or each other
  double ttft_error() const;  // predicted / measured - 1
  double tpot_error() const;
  // The error of TTFT + (osl - 1) TPOT, the whole request: small when the figures of a row are
  // right in their sum but not in their split.
  double e2e_error() const;
  bool ttft_inside() const;  // the measured value is in the interval
  bool tpot_inside() const;
};

struct ErrorSummary {
  std::string group;  // "framework vllm", "users 64"
  int64_t rows = 0;
  double tpot_mean = 0, tpot_median = 0, tpot_bias = 0, tpot_inside = 0;
  double ttft_mean = 0, ttft_median = 0, ttft_bias = 0, ttft_inside = 0;
  double e2e_mean = 0, e2e_median = 0, e2e_bias = 0;
};

struct ServingValidation {
  std::vector<RunPrediction> rows;
  std::vector<ErrorSummary> groups;  // all rows first, then by half, model, framework, tp, users
  std::vector<Contradiction> contradictions;
  int64_t failed = 0;
};

// The configurations of all models that `runs` name. Errors: a model without a file, with the files
// that there are.
StatusOr<std::map<std::string, LlmConfig>> read_model_folder(const std::string& path,
                                                             const std::vector<MeasuredRun>& runs);

using FrameworkProfiles = std::map<LlmFramework, FrameworkProfile>;

// One prediction per run, in order; a run that cannot be predicted says why. `progress` as in
// server.h, with runs done.
StatusOr<std::vector<RunPrediction>> predict_runs(const std::vector<MeasuredRun>& runs,
                                                  const std::map<std::string, LlmConfig>& models,
                                                  const FrameworkProfiles& profiles, int threads,
                                                  const ServerProgress& progress = {});

// Errors: those of the readers; kFailed when cancelled.
StatusOr<ServingValidation> validate_serving(const ServingValidationOptions& options,
                                             const ServerProgress& progress = {});

// Rows whose own figures show a server that held most requests back (a mean wait for the first
// token longer than the whole decoding, and at most half of the users running), although its cache
// has room for all: the row does not record the limit that the server had, so no prediction can
// know it.
std::vector<Contradiction> find_unrecorded_limits(const std::vector<RunPrediction>& rows);

// Errors over a set of rows, failures left out.
ErrorSummary summarize_errors(const std::string& group, const std::vector<RunPrediction>& rows);

}  // namespace dfsim::inline serving
