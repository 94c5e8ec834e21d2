// The work of `dfsim predict`: a model file and a machine to a prediction.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/model_source.h"
#include "cli/progress.h"
#include "cli/training_source.h"
#include "report/prediction.h"
#include "sim/repeat.h"
#include "sim/requests.h"

namespace dfsim::cli {

struct PredictOptions {
  ModelOptions model;
  std::string hardware;
  std::string runtime;
  std::string policy = "first-device";
  std::string cost_model;
  bool ops = false;
  bool json = false;
  bool csv = false;
  size_t top = 10;
  std::string trace;
  std::string html;
  TrainingChoice training;
  std::string output = "-";
  size_t requests = 0;
  RequestOptions pipeline;
  std::string arrivals = "poisson";
  size_t repeat = 0;
  uint64_t seed = 0;
  bool advice = false;
};

// Imports, costs and simulates; writes the trace when one is asked for. Fills `interval` with a
// few runs whose times are drawn from the operators' intervals, unless it is null.
StatusOr<Prediction> predict_model(const PredictOptions& options, Progress& progress,
                                   RepeatResult* interval);

// What changed settings would bring: the same model predicted with each of them. Fills
// prediction->advice with those that bring more than 80 % of repeated runs (`interval`) spread over
// and than one percent, greatest gain first. Settings that the model or the machine does not allow
// are passed over. Errors: none of the machine's built-in files can be read.
Status advise_settings(const PredictOptions& options, const RepeatResult& interval,
                       Progress& progress, Prediction* prediction);

}  // namespace dfsim::cli
