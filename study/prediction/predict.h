// Predict: how long a model takes on a machine, and why.
#pragma once

#include "base/status.h"
#include "opmodel/cost_model.h"
#include "study/prediction/predict_options.h"
#include "study/prediction/prediction.h"
#include "study/progress.h"

namespace dfsim::inline study {

// Imports the model, costs its operators and simulates it (study/chain/model_run.h). Errors: those
// of the files, unknown names, an operator that no device can run, the recorder's and Progress's.
StatusOr<Prediction> predict(const PredictOptions& options, const Progress& progress = {});

// The same with operator times from `cost_model` instead of the model that the options name.
StatusOr<Prediction> predict_with_costs(const PredictOptions& options, const CostModel& cost_model,
                                        const Progress& progress = {});

}  // namespace dfsim::inline study
